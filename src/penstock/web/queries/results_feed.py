"""The results of a query for somebody who looks at them: the newest first, those that come, and pages back.

Of rows that come faster than anybody reads, only the last are sent: at most so many a look.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from penstock.web.access.visitor import named
from penstock.web.queries.result_charts import fit

#: Rows that are sent at a look, that a chart is made of, and that a page back has.
SENT, KEPT, PAGE = 200, 500, 50


class Asks(Protocol):
    """Whoever can ask the API."""

    async def get(self, path: str, **parameters: Any) -> Any:
        """What the API has at a path."""


class ResultsFeed:
    """What one page has been told of a query's results."""

    def __init__(self, visitor: Asks, name: str) -> None:
        self._visitor, self._path = visitor, f"/queries/{named(name)}/results"
        self._kept: deque[Mapping[str, Any]] = deque(maxlen=KEPT)
        self._next: str | None = None  # behind which to follow
        self._page: Mapping[str, Any] | None = None  # the page that is shown, if one is
        self._fit: Mapping[str, Any] | None = None

    async def newest(self) -> dict[str, Any]:
        """The last rows, in place of whatever was told before."""
        self._page = None
        self._kept.clear()
        found = await self._visitor.get(self._path, before="end", limit=SENT)
        return self._told(found, {"reset": True, "earlier": found["more"]})

    async def news(self) -> dict[str, Any] | None:
        """What has come since then; None if that is nothing."""
        given = {} if self._next is None else {"after": self._next}
        found = await self._visitor.get(self._path, limit=SENT, **given)
        if found["more"]:
            return await self.newest()
        return self._told(found, {"reset": False}) if found["rows"] else None

    async def older(self) -> dict[str, Any]:
        """The page before the one that is shown."""
        shown = self._page or await self._visitor.get(self._path, before="end", limit=PAGE)
        if shown["first"] is None:
            return self._turned(shown, older=False, newer=False)
        found = await self._visitor.get(self._path, before=shown["first"], limit=PAGE)
        if not found["rows"]:
            return self._turned(shown, older=False, newer=self._page is not None)
        return self._turned(found, older=found["more"], newer=True)

    async def newer(self) -> dict[str, Any]:
        """The page behind it; with the last one, one can follow again."""
        if self._page is None or self._page["next"] is None:
            return await self.newest()
        found = await self._visitor.get(self._path, after=self._page["next"], limit=PAGE)
        return self._turned(found, older=True, newer=True) if found["more"] else await self.newest()

    def _told(self, found: Mapping[str, Any], news: dict[str, Any]) -> dict[str, Any]:
        if found["next"] is not None:
            self._next = found["next"]
        self._kept.extend(found["rows"])
        fitting = fit(found["columns"], self._kept)
        self._fit = None if fitting is None else asdict(fitting)
        return {**news, "columns": found["columns"], "rows": _values(found), "fit": self._fit}

    def _turned(self, found: Mapping[str, Any], *, older: bool, newer: bool) -> dict[str, Any]:
        self._page = found
        page = {"rows": _values(found), "older": older, "newer": newer}
        return {"columns": found["columns"], "page": page}


def _values(found: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    """Rows without the names of their columns."""
    names = [one["name"] for one in found["columns"]]
    return [[row[name] for name in names] for row in found["rows"]]
