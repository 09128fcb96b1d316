"""Requests that a page of another site makes a browser send are refused."""

from __future__ import annotations

import pytest

from penstock.errors import AccessError
from penstock.server.security.headers import API_HEADERS, PAGE_HEADERS, OriginCheck

LOCAL = OriginCheck()
PUBLIC = OriginCheck(["streams.example.org"], loopback=False)


@pytest.mark.parametrize(
    ("check", "method", "headers"),
    [
        (LOCAL, "GET", {"host": "localhost:8080"}),
        (LOCAL, "POST", {"host": "127.0.0.1:8080"}),
        (LOCAL, "POST", {"host": "[::1]:8080"}),
        (LOCAL, "POST", {"host": "127.0.0.1:8080", "origin": "http://127.0.0.1:8080"}),
        (LOCAL, "POST", {"host": "LOCALHOST:80", "origin": "http://localhost"}),
        (
            LOCAL,
            "GET",
            {"host": "localhost", "origin": "https://evil.example", "sec-fetch-site": "cross-site"},
        ),
        (PUBLIC, "DELETE", {"host": "streams.example.org", "sec-fetch-site": "same-origin"}),
        (PUBLIC, "POST", {"host": "Streams.Example.org.:443", "origin": "https://streams.example.org."}),
        (PUBLIC, "POST", {"host": "192.0.2.7:8443"}),
        (OriginCheck(["box"], loopback=True), "POST", {"host": "box:8080"}),
    ],
)
def test_what_passes(check: OriginCheck, method: str, headers: dict[str, str]) -> None:
    check.check(method, headers)


@pytest.mark.parametrize(
    ("check", "method", "headers", "status"),
    [
        (LOCAL, "GET", {"host": "evil.example:8080"}, 421),
        (LOCAL, "GET", {}, 421),
        (LOCAL, "GET", {"host": "192.0.2.7"}, 421),
        (LOCAL, "GET", {"host": "[::1"}, 421),
        (LOCAL, "GET", {"host": "localhost.evil.example"}, 421),
        (LOCAL, "GET", {"host": "evil.example@localhost.example"}, 421),
        (PUBLIC, "GET", {"host": "other.example.org"}, 421),
        (LOCAL, "POST", {"host": "localhost:8080", "origin": "https://evil.example"}, 403),
        (LOCAL, "POST", {"host": "localhost:8080", "origin": "http://localhost:9090"}, 403),
        (LOCAL, "POST", {"host": "localhost:8080", "origin": "null"}, 403),
        (LOCAL, "POST", {"host": "localhost:8080", "origin": "http://localhost:bad"}, 403),
        (LOCAL, "PUT", {"host": "localhost:8080", "sec-fetch-site": "cross-site"}, 403),
        (LOCAL, "DELETE", {"host": "localhost:8080", "sec-fetch-site": "same-site"}, 403),
    ],
)
def test_what_is_refused(check: OriginCheck, method: str, headers: dict[str, str], status: int) -> None:
    with pytest.raises(AccessError) as refused:
        check.check(method, headers)
    assert refused.value.status == status


def test_the_words() -> None:
    with pytest.raises(AccessError, match="changes asked for by a page of another site are refused"):
        LOCAL.check("POST", {"host": "localhost", "origin": "https://evil.example"})
    with pytest.raises(
        AccessError, match="this server does not go by the name in the Host header; use its own"
    ):
        LOCAL.check("POST", {"host": "evil.example"})


def test_no_page_can_frame_or_run_what_the_api_says() -> None:
    assert API_HEADERS["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert API_HEADERS["Cache-Control"] == "no-store"
    for headers in (API_HEADERS, PAGE_HEADERS):
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert not any(name.lower().startswith("access-control") for name in headers)


def test_a_page_of_another_site_may_lead_here_but_asks_nothing_of_the_api() -> None:
    for foreign in ({"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "null"}):
        headers = {"host": "localhost", **foreign}
        LOCAL.check("GET", headers, "/")
        with pytest.raises(AccessError, match="what a page of another site asks of the API is refused"):
            LOCAL.check("GET", headers, "/api/v1/queries/q/events")
    LOCAL.check("GET", {"host": "localhost", "sec-fetch-site": "same-origin"}, "/api/v1/queries")
