"""What browsers are told, and which requests of theirs are not taken.

A page of another site can make a browser send requests here, with whatever the browser knows of us, or make a
name of its own mean 127.0.0.1 (DNS rebinding) and then read the answers. So: the Host must be one of ours,
and what changes something must not come from another origin. No header ever allows another origin (no CORS).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from penstock.errors import AccessError

_ALL = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
#: Of the API: nothing in an answer is to be run, framed or kept.
API_HEADERS: Mapping[str, str] = {
    **_ALL,
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
#: Of the page in the browser: what is ours only. Its components are compiled from templates in the browser,
#: and it begins with a script inside the page, hence the two words that one would rather not have there.
PAGE_HEADERS: Mapping[str, str] = {
    **_ALL,
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
}
#: Where TLS is on: browsers do not come without it again.
TLS_HEADERS: Mapping[str, str] = {"Strict-Transport-Security": "max-age=31536000"}

#: What the API's paths begin with.
API = "/api/"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class OriginCheck:
    """Refuses requests for other hosts, and changes asked for by pages of other sites.

    `names` are the host names that the server is known by; on loopback those of loopback are, too.
    """

    def __init__(self, names: Iterable[str] = (), *, loopback: bool = True) -> None:
        own = {name.lower().rstrip(".") for name in names}
        self._names = frozenset(own | _LOOPBACK if loopback else own)
        self._loopback = loopback

    def check(self, method: str, headers: Mapping[str, str], path: str = "") -> None:
        """`headers` by their names in lower case.

        A page of another site may lead to a page of ours; but it has nothing to ask of the API, where reading
        leaves something behind, too: how far a subscriber is, a connection that is kept.
        """
        host = self._host(headers.get("host", ""))
        if not self._is_own(host):
            raise AccessError(
                "this server does not go by the name in the Host header; use its own name, or add the name "
                "to `names` in its configuration",
                status=421,
            )
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        foreign = site not in (None, "same-origin", "none") or (
            origin is not None and not self._same_origin(origin, headers.get("host", ""))
        )
        if not foreign:
            return
        if method.upper() not in _READING:
            raise AccessError("changes asked for by a page of another site are refused")
        if path.startswith(API):
            raise AccessError("what a page of another site asks of the API is refused")

    def _is_own(self, host: str) -> bool:
        if host in self._names:
            return True
        # A name can be made to mean our address by its owner; an address means itself. On loopback nothing
        # but loopback is meant, and elsewhere clients may know the server by an address that it cannot know.
        return (not self._loopback and not self._names and bool(host)) or self._is_address(host)

    def _is_address(self, host: str) -> bool:
        try:
            found = ip_address(host)
        except ValueError:
            return False
        return found.is_loopback if self._loopback else True

    def _same_origin(self, origin: str, host: str) -> bool:
        """The same host and port; the scheme is that of the proxy before us, if there is one."""
        try:
            parts = urlsplit(origin)
            asked = urlsplit(f"//{host}")
            default = {"http": 80, "https": 443}.get(parts.scheme)
            return (
                default is not None
                and (parts.hostname or "") == (asked.hostname or "")
                and (parts.port or default) == (asked.port or default)
            )
        except ValueError:
            return False

    def _host(self, host: str) -> str:
        try:
            return (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return ""
