"""What somebody sees of results: each row once as it comes, the last of many, and pages back and forth."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock.web.queries.results_feed import PAGE, SENT, ResultsFeed


class Api:
    """Results that are numbers; the position of each is the number."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.most = 0

    async def get(self, path: str, **parameters: Any) -> Any:
        assert path == "/queries/two%20words/results"
        limit = parameters["limit"]
        if "before" in parameters:
            end = self.rows if parameters["before"] == "end" else int(parameters["before"])
            found, more = range(max(0, end - limit), end), end > limit
        else:
            start = int(parameters.get("after", -1)) + 1
            found, more = range(start, min(self.rows, start + limit)), self.rows > start + limit
        self.most = max(self.most, len(found))
        return {
            "columns": [{"name": "room", "type": "string"}, {"name": "n", "type": "int64"}],
            "rows": [{"room": "hall", "n": n} for n in found],
            "first": str(found[0]) if found else None,
            "next": str(found[-1]) if found else parameters.get("after"),
            "more": more,
        }


@pytest.fixture
def api() -> Api:
    return Api(0)


def feed(api: Api) -> ResultsFeed:
    return ResultsFeed(api, "two words")


def numbers(news: dict[str, Any] | None) -> list[int]:
    assert news is not None
    return [n for _, n in news.get("page", news)["rows"]]


def test_each_row_is_told_once(api: Api) -> None:
    async def look() -> None:
        seen = feed(api)
        assert numbers(await seen.newest()) == []
        assert await seen.news() is None
        api.rows = 3
        assert numbers(await seen.news()) == [0, 1, 2]
        api.rows = 5
        news = await seen.news()
        assert numbers(news) == [3, 4]
        assert news is not None
        assert news["fit"] == {"kind": "bars", "along": "room", "group": None, "choices": (("n",),)}
        assert await seen.news() is None

    asyncio.run(look())


def test_of_too_many_at_once_the_last_are_told(api: Api) -> None:
    async def look() -> None:
        seen = feed(api)
        await seen.newest()
        api.rows = 10 * SENT
        news = await seen.news()
        assert numbers(news) == list(range(9 * SENT, 10 * SENT))
        assert news is not None
        assert news["reset"]
        assert await seen.news() is None
        assert api.most == SENT

    asyncio.run(look())


def test_pages_go_back_to_the_first_row_and_forth_to_the_last(api: Api) -> None:
    async def look() -> None:
        api.rows = 3 * PAGE + 5
        seen = feed(api)
        await seen.newest()
        one = await seen.older()
        assert numbers(one) == list(range(api.rows - 2 * PAGE, api.rows - PAGE))
        await seen.older()
        last = await seen.older()
        assert numbers(last) == [0, 1, 2, 3, 4]
        assert (last["page"]["older"], last["page"]["newer"]) == (False, True)
        assert numbers(await seen.older()) == [0, 1, 2, 3, 4]
        api.rows += 1  # something comes meanwhile
        assert numbers(await seen.newer()) == list(range(5, 5 + PAGE))
        await seen.newer()
        await seen.newer()
        assert numbers(await seen.newer())[-1] == api.rows - 1
        assert await seen.news() is None

    asyncio.run(look())


def test_where_there_is_nothing_there_is_no_page_before_it(api: Api) -> None:
    async def look() -> None:
        seen = feed(api)
        await seen.newest()
        found = await seen.older()
        assert found["page"] == {"rows": [], "older": False, "newer": False}

    asyncio.run(look())
