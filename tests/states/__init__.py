"""States that were written by earlier versions, each a few KB; `make.py` writes one of today's."""
