"""What a statement says back."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.query import Query


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement says back: a line, and a table where it shows something.

    `query` is one that was created or is to be explained. `about` says what was asked for, if something
    was: `queries`, `streams` and so on, or `plan`; whoever runs queries knows more about some of these.
    """

    text: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    query: Query | None = None
    about: str = ""
