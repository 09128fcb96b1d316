"""What a client does while an engine is away, and with tokens that are none."""

from __future__ import annotations

import httpx
import pytest

from penstock.client.connection import Connection
from penstock.errors import ServerError


def connected(answers: list[tuple[int, dict[str, str]]], asked: list[str]) -> Connection:
    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        status, problem = answers[min(len(asked), len(answers)) - 1]
        return httpx.Response(status, json=problem)

    transport = httpx.MockTransport(answer)
    return Connection("http://localhost", transport=transport, sleep=lambda _: None)


AWAY = (503, {"type": "urn:penstock:engineaway", "detail": "the engine is starting"})
LEFT = (503, {"type": "urn:penstock:engineleft", "detail": "the engine went away meanwhile"})


def test_a_change_is_repeated_while_the_engine_is_away_since_it_has_not_heard_of_it() -> None:
    asked: list[str] = []
    assert connected([AWAY, AWAY, (200, {"name": "s"})], asked).call("POST", "/streams", body={}) == {
        "name": "s"
    }
    assert asked == ["POST"] * 3


def test_a_change_that_may_have_been_made_is_not_repeated() -> None:
    asked: list[str] = []
    with pytest.raises(ServerError, match="the engine went away meanwhile"):
        connected([LEFT], asked).call("POST", "/streams", body={})
    assert asked == ["POST"]


def test_a_question_is_repeated_in_any_case() -> None:
    asked: list[str] = []
    assert connected([LEFT, (200, {})], asked).call("GET", "/status") == {}


@pytest.mark.parametrize("token", ["pnst_ü", "pnst_e76f7d2f364a_…", "a\nb"])
def test_a_token_that_is_none_is_told_before_anything_is_sent(token: str) -> None:
    with pytest.raises(ServerError, match="that is no token"):
        Connection("http://localhost", token)


def test_an_empty_token_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_TOKEN", raising=False)
    Connection("http://localhost", "")
