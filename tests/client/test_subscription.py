"""Subscriptions: whatever breaks, each result comes once and in order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.pauses import Pauses
from penstock.client.server_events import EventReader, ServerEvent
from penstock.client.subscription import Subscription
from penstock.errors import ServerError
from tests.client.protocol import event_text


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows)


class Flaky:
    """A server whose connections break where it is told, in one of the ways in which they can."""

    def __init__(self, commits: int, breaks: list[tuple[int, str]]) -> None:
        self.texts = [event_text(n, [{"n": n}]) for n in range(commits)]
        self.breaks, self.asked = breaks, list[str | None]()

    @contextmanager
    def __call__(self, position: str | None) -> Iterator[Iterator[str]]:
        self.asked.append(position)
        first = 0 if position is None else int(position.split("-")[0]) + 1
        text = "".join(self.texts[first:]) + "event: end\ndata: {}\n\n"
        letters, how = self.breaks.pop(0) if self.breaks else (len(text), "end")
        if how == "503":
            raise ServerError("the engine is starting", 503)
        yield self._lines(text if how == "end" else text[: min(letters, len(text) - 2)], how)

    def _lines(self, text: str, how: str) -> Iterator[str]:
        yield from text.split("\n")[:-1]  # a line that is not complete never came
        if how == "reset":
            raise httpx.ReadError("reset")


@given(
    st.integers(0, 12),
    st.lists(st.tuples(st.integers(0, 600), st.sampled_from(["reset", "close", "503"])), max_size=12),
)
def test_every_result_comes_once_and_in_order_however_often_the_connection_breaks(
    commits: int, breaks: list[tuple[int, str]]
) -> None:
    server = Flaky(commits, [(0, "close"), *breaks])
    found = list(Subscription(server, table, pauses=Pauses(0.0, 0.0)))
    assert [one.table["n"][0].as_py() for one in found] == list(range(commits))
    assert [one.position for one in found] == [f"{n}-0" for n in range(commits)]
    assert not server.breaks


def test_a_result_that_comes_again_is_passed_over() -> None:
    twice = event_text(0, [{"n": 0}]) * 2 + "event: end\ndata: {}\n\n"

    @contextmanager
    def opened(_: str | None) -> Iterator[Iterator[str]]:
        yield iter(twice.split("\n"))

    assert len(list(Subscription(opened, table))) == 1


def test_it_goes_on_behind_a_position_and_says_where_it_is() -> None:
    server = Flaky(3, [])
    with Subscription(server, table, after="1-0") as found:
        assert next(found).position == "2-0"
        assert found.position == "2-0"
    assert server.asked == ["1-0"]
    assert next(found, None) is None


def test_what_is_refused_for_good_is_an_error() -> None:
    @contextmanager
    def refused(_: str | None) -> Iterator[Iterator[str]]:
        raise ServerError("there is no query 'x'", 404)
        yield

    with pytest.raises(ServerError, match="there is no query 'x'"):
        next(Subscription(refused, table))


def test_pauses_grow_up_to_the_longest_and_keep_to_what_the_server_asks() -> None:
    pauses = Pauses(1.0, 5.0, chance=lambda: 1.0)
    assert [pauses.next_s() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert pauses.next_s(30.0) == 30.0
    pauses.reset()
    assert pauses.next_s() == 1.0


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("id: 1-0\nevent: rows\ndata: {}\n\n", [ServerEvent("rows", "{}", "1-0")]),
        (":alive\n\n\n", []),
        ("data: a\ndata:b\n\n", [ServerEvent("message", "a\nb", "")]),
        (
            "id: 1\ndata: a\n\ndata: b\n\n",
            [ServerEvent("message", "a", "1"), ServerEvent("message", "b", "1")],
        ),
        ("data: cut off\n", []),
    ],
)
def test_events_are_read_as_the_standard_says(text: str, events: list[ServerEvent]) -> None:
    reader = EventReader()
    assert [one for line in text.split("\n")[:-1] if (one := reader.line(line))] == events


def test_the_protocol_writes_what_the_reader_reads() -> None:
    reader = EventReader()
    found = [one for line in event_text(4, [{"n": 1}, {"n": 2}]).split("\n") if (one := reader.line(line))]
    assert [(one.id, json.loads(one.data)) for one in found] == [("4-1", {"rows": [{"n": 1}, {"n": 2}]})]
