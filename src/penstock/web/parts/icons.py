"""Signs of the places one can go to, drawn with one line width."""

from __future__ import annotations

_PATHS = {
    "overview": "M3 12h4l2-6 4 12 2-6h4",
    "graph": "M5 5h4v4H5zM5 15h4v4H5zM15 10h4v4h-4zM9 7h3v5h3M9 17h3v-5",
    "new": "M12 5v14M5 12h14",
    "streams": "M3 7c3 0 3 2 6 2s3-2 6-2 3 2 6 2M3 13c3 0 3 2 6 2s3-2 6-2 3 2 6 2",
    "scheduler": "M12 4a8 8 0 1 0 .01 0M12 8v4l3 2",
    "access": "M15 8a3.5 3.5 0 1 1-.01 0M12.5 14 5 21M7.5 18.5l2 2",
    "experiments": "M9 4h6M10 4v5l-5 9a1.5 1.5 0 0 0 1.4 2h11.2a1.5 1.5 0 0 0 1.4-2l-5-9V4",
}


def svg(name: str) -> str:
    """One sign; decoration beside a word."""
    return (
        '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" '
        f'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="{_PATHS[name]}"/></svg>'
    )
