"""Requests to one server, and its answers; whatever goes wrong is a PenstockError in the server's words."""

from __future__ import annotations

import ipaddress
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx

from penstock import __version__
from penstock.client.failures import problem_error
from penstock.client.pauses import Pauses, retry_after_s
from penstock.errors import PenstockError, ServerError

#: Where a server listens unless told otherwise.
DEFAULT_URL = "http://127.0.0.1:8642"
PREFIX = "/api/v1"
ARROW = "application/vnd.apache.arrow.stream"
#: For how long a server that is starting again is waited for, and any one answer.
PATIENCE_S, TIMEOUT_S = 60.0, 60.0
#: HTTP's words for "not now": too many requests, and a server that is starting.
_LATER = (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE)
#: The same, and what a proxy says of it: always a ServerError, whatever kind of error is behind it.
LATER = (*_LATER, httpx.codes.BAD_GATEWAY, httpx.codes.GATEWAY_TIMEOUT)


class Connection:
    """A server's address, the token, and the connections that are kept open."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        namespace: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        patience_s: float = PATIENCE_S,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = _checked(url or os.environ.get("PENSTOCK_SERVER") or DEFAULT_URL)
        token = (token or os.environ.get("PENSTOCK_TOKEN") or "").strip() or None
        self.namespace = namespace or os.environ.get("PENSTOCK_NAMESPACE") or None
        self.sleep, self._clock_s, self._patience_s = sleep, clock_s, patience_s
        self._token_given = token is not None
        headers = {"User-Agent": f"penstock/{__version__}"}
        if token is not None:
            if not (token.isascii() and token.isprintable()):
                raise ServerError("that is no token: tokens are `pnst_`, letters and digits; copy it whole")
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=self.url,
            headers=headers,
            params={"namespace": self.namespace} if self.namespace else {},
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 5.0)),
            transport=transport,
            trust_env=not _is_loopback(self.url),  # a proxy does not know this machine's own addresses
            # Certificates of $SSL_CERT_FILE count everywhere.
            verify=httpx.create_ssl_context() if self.url.startswith("https:") else True,
        )

    def close(self) -> None:
        """Gives the connections up."""
        self._http.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        sql: str = "",
        patience_s: float | None = None,
    ) -> Any:
        """What a request for JSON is answered with; None if with nothing.

        One that only asks is repeated while the server is starting again (503), or has too much to do (429);
        one that changes something while the engine is away, which has not heard of it then. That goes on for
        `patience_s`, or as long as the connection was told.
        """
        given = {} if body is None else {"json": body}
        response = self._patient(
            method, path, params=params, changes=method != "GET", patience_s=patience_s, **given
        )
        self._check(response, method, path, sql)
        return response.json() if response.content else None

    def fetch(
        self, path: str, accept: str, params: Mapping[str, Any] | None = None
    ) -> tuple[bytes, httpx.Headers]:
        """A body that is not JSON, and the headers with it."""
        response = self._patient("GET", path, params=params, headers={"Accept": accept})
        self._check(response, "GET", path)
        return response.content, response.headers

    def send(
        self, path: str, content: bytes, content_type: str, key: str, patience_s: float | None = None
    ) -> Any:
        """A body under an idempotency key: repeated with the same key until the server has it for sure.

        That is on connections that break, answers that do not come, 429 and 503, while patience lasts.
        """
        headers = {"Content-Type": content_type, "Idempotency-Key": key}
        response = self._patient(
            "POST", path, content=content, headers=headers, whatever_breaks=True, patience_s=patience_s
        )
        self._check(response, "POST", path)
        return response.json() if response.content else None

    @contextmanager
    def lines(
        self, path: str, params: Mapping[str, Any], headers: Mapping[str, str]
    ) -> Iterator[Iterator[str]]:
        """The lines of an answer without end, as they come; `httpx.TransportError` if it breaks off."""
        timeout = httpx.Timeout(TIMEOUT_S, connect=5.0)  # servers send a comment more often than that
        request = self._http.build_request(
            "GET", PREFIX + path, params=_given(params), headers=dict(headers), timeout=timeout
        )
        response = self._http.send(request, stream=True)
        try:
            if response.is_error:
                response.read()
                self._check(response, "GET", path)
            yield response.iter_lines()
        finally:
            response.close()

    def answers(self, timeout_s: float = 2.0) -> bool:
        """Whether a server is there."""
        try:
            return self._http.get("/health", timeout=timeout_s).is_success
        except httpx.HTTPError:
            return False

    def _patient(
        self,
        method: str,
        path: str,
        *,
        whatever_breaks: bool = False,
        changes: bool = False,
        patience_s: float | None = None,
        **arguments: Any,
    ) -> httpx.Response:
        patience_s = self._patience_s if patience_s is None else patience_s
        pauses, until_s = Pauses(), self._clock_s() + patience_s
        while True:
            response: httpx.Response | None = None
            failed: PenstockError | None = None
            try:
                response = self._sent(method, path, **arguments)
            except ServerError as error:
                if not whatever_breaks:
                    raise
                failed = error
            if response is not None and response.status_code not in _LATER:
                return response
            if response is not None and changes and not _was_not_asked(response):
                return response
            asked_s = retry_after_s(response.headers.get("Retry-After")) if response is not None else None
            pause_s = pauses.next_s(asked_s)
            if self._clock_s() + pause_s > until_s:
                if response is not None:
                    return response
                raise failed or ServerError(f"{self.url} does not answer")
            self.sleep(pause_s)

    def _sent(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        if arguments.get("params") is not None:
            arguments["params"] = _given(arguments["params"])
        else:
            arguments.pop("params", None)
        try:
            return self._http.request(method, PREFIX + path, **arguments)
        except httpx.TransportError as error:
            raise self.unreachable(error) from None

    def unreachable(self, error: httpx.TransportError) -> ServerError:
        """The error for a connection that was not made, or broke."""
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return ServerError(
                f"the certificate of {self.url} is not trusted here; name the file with its issuer's in "
                "SSL_CERT_FILE"
            )
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return ServerError(
                f"no server answers at {self.url}; start one with `penstock serve`, or say where it is with "
                "--server or PENSTOCK_SERVER"
            )
        if isinstance(error, httpx.TimeoutException):
            return ServerError(f"the server at {self.url} did not answer in time; try again")
        reason = str(error) or type(error).__name__
        return ServerError(f"the connection to {self.url} broke: {reason}; try again")

    def _check(self, response: httpx.Response, method: str, path: str, sql: str = "") -> None:
        if response.is_success:
            return
        try:
            problem = response.json()
        except ValueError:
            problem = None
        if not isinstance(problem, dict) or not (problem.get("detail") or problem.get("title")):
            raise ServerError(
                f"{self.url} answered {response.status_code} to {method} {PREFIX}{path} and did not say why: "
                "is it a Penstock server?",
                response.status_code,
            )
        if response.status_code == httpx.codes.UNAUTHORIZED and not self._token_given:
            said = problem.get("detail") or problem.get("title")
            problem = {"detail": f"{said}; give a token with --token or PENSTOCK_TOKEN"}
        if response.status_code in LATER:
            raise ServerError(str(problem.get("detail") or problem.get("title")), response.status_code)
        raise problem_error(problem, response.status_code, sql)


def _was_not_asked(response: httpx.Response) -> bool:
    """Whether the engine was away, so that nothing can have come of a request."""
    try:
        return bool(response.json().get("type") == "urn:penstock:engineaway")
    except (ValueError, AttributeError):
        return False


def part(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _checked(url: str) -> str:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ServerError(f"'{url}' is no server's address; write one like {DEFAULT_URL}")
    return url.rstrip("/")


def _is_loopback(url: str) -> bool:
    host = httpx.URL(url).host
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
