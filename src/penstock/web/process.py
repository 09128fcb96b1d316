"""The HTTP process with the page: `python -m penstock.web.process`, started by the supervisor."""

from __future__ import annotations

from penstock.server.http import process
from penstock.web.site import with_page


def main() -> None:
    """Serves until it is told to stop, or the supervisor is gone."""
    process.main(with_page)


if __name__ == "__main__":
    main()
