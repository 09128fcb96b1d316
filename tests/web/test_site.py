"""The page beside the API in a real HTTP process, with no engine: who gets in, and what browsers are told."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from penstock.server.security.roles import Role
from penstock.server.security.tokens import TokenFile
from penstock.server.settings import ServerSection, Settings

PATIENCE_S = 60.0
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


@contextmanager
def serving(state: Path) -> Iterator[str]:
    """The HTTP process by itself on a state; its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.set_inheritable(True)
        settings = Settings(server=ServerSection(state=state, port=listening.getsockname()[1]))
        process = subprocess.Popen(
            [sys.executable, "-m", "penstock.web.process"],
            stdin=subprocess.PIPE,
            text=True,
            cwd=state,
            pass_fds=[listening.fileno()],
            env={**os.environ, "PENSTOCK_LISTENING_SOCKET": str(listening.fileno())},
        )
        assert process.stdin is not None
        process.stdin.write(f"{settings.model_dump_json()}\n")
        process.stdin.flush()
        url = f"http://127.0.0.1:{settings.server.port}"
        try:
            until_s = time.monotonic() + PATIENCE_S
            while True:
                with suppress(httpx.TransportError):
                    httpx.get(f"{url}/health", timeout=PATIENCE_S)
                    break
                assert time.monotonic() < until_s
                time.sleep(0.05)
            yield url
        finally:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """A server that wants tokens: its address, a viewer's token, and its state."""
    state = tmp_path_factory.mktemp("state")
    text, _ = TokenFile(state / "tokens.json").create(Role.VIEWER)
    with serving(state) as url:
        yield url, text, state


def test_without_a_token_one_is_sent_to_sign_in(token: tuple[str, str, Path]) -> None:
    url, text, _ = token
    answered = httpx.get(f"{url}/")
    assert (answered.status_code, answered.headers["location"]) == (307, "/sign-in")
    assert "Sign in" in httpx.get(f"{url}/sign-in").text
    with httpx.Client(base_url=url) as browser:
        assert browser.post("/session", json={"token": text}).status_code == 204
        shown = browser.get("/")
        assert shown.status_code == 200
        assert "Overview" in shown.text
        assert browser.delete("/session").status_code == 204
        assert browser.get("/").status_code == 307


def test_the_cookie_cannot_be_read_by_scripts_or_sent_by_other_sites(token: tuple[str, str, Path]) -> None:
    url, text, _ = token
    cookie = httpx.post(f"{url}/session", json={"token": text}).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_the_cookie_is_nothing_to_the_api(token: tuple[str, str, Path]) -> None:
    url, text, _ = token
    with httpx.Client(base_url=url) as browser:
        browser.post("/session", json={"token": text})
        assert browser.get("/api/v1/status").status_code == 401


def test_guesses_are_refused_slowed_and_logged(token: tuple[str, str, Path]) -> None:
    url, text, state = token
    wrong = f"{text[:-1]}{'a' if text[-1] != 'a' else 'b'}"
    found = [httpx.post(f"{url}/session", json={"token": wrong}).status_code for _ in range(30)]
    assert found[0] == 401
    assert found[-1] == 429
    lines = [json.loads(line) for line in (state / "audit.jsonl").read_text().splitlines()]
    assert any(one["what"] == "/session" and one["outcome"] == 401 for one in lines)
    assert text not in str(lines)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on loopback for which no token was ever made."""
    with serving(tmp_path_factory.mktemp("open")) as found:
        yield found


def test_the_page_is_there_before_the_engine_is(url: str) -> None:
    answered = httpx.get(f"{url}/")
    assert answered.status_code == 200
    assert "The engine does not answer" in answered.text


def test_an_unknown_address_has_a_page_of_ours(url: str) -> None:
    answered = httpx.get(f"{url}/nowhere")
    assert answered.status_code == 404
    assert "There is nothing at this address" in answered.text
    assert httpx.get(f"{url}/streams/", follow_redirects=True).status_code == 200
    part = httpx.get(f"{url}/static/nothing.css")
    assert (part.status_code, "Penstock" in part.text) == (404, False)


def test_an_unknown_address_says_nothing_to_who_has_not_signed_in(token: tuple[str, str, Path]) -> None:
    url, _, _ = token
    assert httpx.get(f"{url}/nowhere").headers["location"] == "/sign-in"


def test_pages_and_api_have_headers_of_their_own(url: str) -> None:
    page, api = httpx.get(f"{url}/").headers, httpx.get(f"{url}/api/v1/status").headers
    assert "default-src 'none'; script-src 'self'" in page["content-security-policy"]
    assert api["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    for headers in (page, api):
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"


def test_what_the_api_does_not_have_is_told_in_its_own_words(url: str) -> None:
    answered = httpx.get(f"{url}/api/v1/nothing")
    assert answered.status_code == 404
    assert answered.headers["content-type"] == "application/problem+json"
    assert httpx.post(f"{url}/api/v1/status").status_code == 405


def test_nothing_comes_from_another_host(url: str) -> None:
    text = httpx.get(f"{url}/").text
    assert "https://" not in text.replace("https://quasar.dev", "")
    assert "//cdn" not in text


def test_a_socket_is_not_opened_for_other_sites(url: str) -> None:
    own = httpx.get(f"{url}{SOCKET}", headers={**UPGRADE, "Origin": url})
    assert own.status_code == 101
    foreign = httpx.get(f"{url}{SOCKET}", headers={**UPGRADE, "Origin": "https://elsewhere.example"})
    assert foreign.status_code == 403


def test_a_page_asked_for_by_a_strange_name_is_refused(url: str) -> None:
    assert httpx.get(f"{url}/", headers={"Host": "rebound.example"}).status_code == 421


def test_looking_leaves_nothing_in_the_working_directory(
    url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    httpx.get(f"{url}/")
    assert not list(tmp_path_factory.getbasetemp().rglob(".nicegui"))


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/graph",
        "/new",
        "/streams",
        "/streams/s",
        "/register",
        "/scheduler",
        "/queries/q",
        "/experiments",
    ],
)
def test_while_the_engine_is_away_every_page_says_so(token: tuple[str, str, Path], path: str) -> None:
    url, text, _ = token
    answered = httpx.get(f"{url}{path}", cookies={"penstock_token": text}, timeout=PATIENCE_S)
    assert answered.status_code == 200
    assert "the engine is starting" in answered.text.lower()
