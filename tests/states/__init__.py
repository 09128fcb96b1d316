"""States that this version and earlier ones wrote, each a few KB; `make.py` writes one of today's."""
