"""The papers' experiments through the API, with a laboratory in which they wait until they are cancelled."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.experiments.known import KNOWN
from penstock.model.quotas import Quotas
from penstock.server.experiments.laboratory import MISSING, Laboratory
from penstock.server.experiments.outcome import Outcome
from penstock.server.http.app import create_app
from penstock.server.http.backend import Backend
from penstock.server.security.roles import Role
from penstock.server.settings import ServerSection, Settings
from tests.server.experiments.test_laboratory import WAITS, until


class NoLink:
    """An engine that does not answer: experiments need none."""

    connected = False


class Asker:
    """Clients with every role, of two teams."""

    def __init__(self, root: Path) -> None:
        self.backend = Backend(Settings(server=ServerSection(state=root)), lambda _: NoLink())  # type: ignore[arg-type, return-value]
        self.app = create_app(self.backend)
        self.laboratory = Laboratory(
            root / "experiments", (sys.executable, "-c", WAITS), can_draw=lambda: True
        )
        self.app.state.laboratory = self.laboratory
        for team in ("ants", "bees"):
            self.backend.registry.put_namespace(team, Quotas())
        self.tokens = {
            (role, team): self.backend.tokens.create(Role.named(role), team, "")[0]
            for role in ("viewer", "operator", "admin")
            for team in ("ants", "bees")
        }

    def ask(self, method: str, path: str, role: str = "operator", team: str = "bees") -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            headers = {"Authorization": f"Bearer {self.tokens[role, team]}"}
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api/v1") as client:
                return await client.request(method, path, headers=headers)

        return asyncio.run(send())

    def close(self) -> None:
        self.laboratory.close()
        until(lambda: self.laboratory.running is None)
        self.backend.close()


@pytest.fixture
def asker(tmp_path: Path) -> Iterator[Asker]:
    made = Asker(tmp_path)
    yield made
    made.close()


def detail(answered: httpx.Response, status: int) -> str:
    assert answered.status_code == status, answered.text
    return str(answered.json()["detail"])


def test_all_are_listed_with_how_many_of_their_claims_hold(asker: Asker) -> None:
    found = asker.ask("GET", "/experiments", "viewer").json()
    assert (found["running"], found["missing"]) == (None, None)
    assert [one["id"] for one in found["experiments"]] == list(KNOWN)
    one = next(one for one in found["experiments"] if one["id"] == "mss-latency")
    assert one["tally"] == {"held": 6, "not_held": 0, "fitted": 0, "within_noise": 1}
    assert (one["last"], one["trouble"]) == (None, None)
    shown = asker.ask("GET", "/experiments/mss-latency", "viewer").json()
    assert len(shown["measured"]) == 6
    assert set(shown["measured"][0]) == {"claim", "published", "measured", "state", "within_noise"}
    assert (shown["rows"], shown["picture"]) == ([], False)


def test_operators_run_one_and_cancel_what_their_team_has_begun(asker: Asker) -> None:
    path = "/experiments/mss-latency/run"
    assert "needs the role operator" in detail(asker.ask("POST", path, "viewer"), 403)
    begun = asker.ask("POST", path)
    assert (begun.status_code, begun.json()["id"], begun.json()["mine"]) == (202, "mss-latency", True)
    until(lambda: asker.laboratory.running is not None and asker.laboratory.running.total == 9)
    assert asker.ask("GET", "/experiments").json()["running"]["total"] == 9
    assert "one runs at a time" in detail(asker.ask("POST", "/experiments/mss-memory/run"), 409)
    others = asker.ask("GET", "/experiments/mss-memory", team="ants").json()["running"]
    assert (others["id"], others["mine"]) == ("mss-latency", False)
    assert "another team runs it" in detail(asker.ask("DELETE", path, team="ants"), 403)
    assert "does not run" in detail(asker.ask("DELETE", "/experiments/mss-memory/run"), 404)
    assert asker.ask("DELETE", path, "admin", "ants").status_code == 204
    until(lambda: asker.laboratory.running is None)
    shown = asker.ask("GET", "/experiments/mss-latency").json()
    assert shown["trouble"] == "cancelled before it had come to its end"


def test_what_came_of_the_last_run_is_shown_with_its_picture(asker: Asker, tmp_path: Path) -> None:
    assert "has no picture yet; run it" in detail(asker.ask("GET", "/experiments/hmts-vo/picture"), 404)
    claim = {"claim": "a", "published": "b", "measured": "c", "state": "fitted", "within_noise": True}
    drawn = tmp_path / "drawn.png"
    drawn.write_bytes(b"\x89PNG")
    outcome = Outcome(time.time(), 2.5, "9", True, 1, [{"nodes": 10, "load": 0.5}], [claim], ["a note"])
    asker.laboratory.outcomes.keep("hmts-vo", outcome, drawn)
    shown: dict[str, Any] = asker.ask("GET", "/experiments/hmts-vo", "viewer").json()
    assert (shown["measured"], shown["notes"], shown["picture"]) == ([claim], ["a note"], True)
    assert shown["rows"] == [{"nodes": 10, "load": 0.5}]
    assert {key: shown["last"][key] for key in ("seconds", "version", "tally")} == {
        "seconds": 2.5,
        "version": "9",
        "tally": {"held": 0, "not_held": 0, "fitted": 1, "within_noise": 1},
    }
    picture = asker.ask("GET", "/experiments/hmts-vo/picture", "viewer")
    assert (picture.content, picture.headers["content-type"]) == (b"\x89PNG", "image/png")
    assert str(tmp_path) not in json.dumps(shown)


def test_what_there_is_not(asker: Asker) -> None:
    for method, path in (("GET", ""), ("GET", "/picture"), ("POST", "/run"), ("DELETE", "/run")):
        said = detail(asker.ask(method, f"/experiments/mss-latence{path}"), 404)
        assert said == "there is no experiment 'mss-latence'. Did you mean 'mss-latency'?"


def test_without_what_draws_it_is_said_what_to_install(asker: Asker, tmp_path: Path) -> None:
    asker.app.state.laboratory = Laboratory(tmp_path, can_draw=lambda: False)
    assert asker.ask("GET", "/experiments").json()["missing"] == MISSING
    assert detail(asker.ask("POST", "/experiments/mss-latency/run"), 409) == MISSING
