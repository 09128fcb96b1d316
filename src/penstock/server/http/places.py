"""Where results are, as the engine says; asked as seldom as is right.

A reader looks at files and then makes sure that they are where it thought. The engine has one number that
changes whenever some query's places may have: that is asked for each time, the places only when it changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from penstock.engines.spark.results.places import ResultPlaces
from penstock.errors import PenstockError
from penstock.server.channel.link import Link
from penstock.server.http.asked_once import AskedOnce


class Places:
    """The places of queries' results, by full name. Used in the loop of the HTTP process."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._known: dict[str, ResultPlaces] = {}
        self._version: AskedOnce[int] = AskedOnce(lambda: link.call("places_version"))

    def forget(self) -> None:
        """Another engine answers now: its numbers mean nothing here."""
        self._known.clear()

    async def find(self, query: str) -> ResultPlaces:
        """Where a query's results are at a moment after this was called."""
        return await self._find(query, await self._version.get())

    async def find_all(self, queries: Sequence[str]) -> dict[str, ResultPlaces | PenstockError]:
        """The same of many queries, or why it cannot be said of one."""
        wanted = list(dict.fromkeys(queries))
        try:
            version = await self._version.get()
        except PenstockError as error:
            return dict.fromkeys(wanted, error)
        found: dict[str, ResultPlaces | PenstockError] = {}
        unknown = []
        for query in wanted:
            known = self._known.get(query)
            if known is None or known.version != version:
                unknown.append(query)
            else:
                found[query] = known
        answers = await asyncio.gather(
            *(self._find(query, version) for query in unknown), return_exceptions=True
        )
        for query, answer in zip(unknown, answers, strict=True):
            if isinstance(answer, BaseException) and not isinstance(answer, PenstockError):
                raise answer
            found[query] = answer
        return found

    async def _find(self, query: str, version: int) -> ResultPlaces:
        known = self._known.get(query)
        if known is None or known.version != version:
            known = ResultPlaces.from_values(await self._link.call("places", query=query))
            self._known[query] = known
        return known
