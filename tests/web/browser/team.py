"""A server with tokens, something that runs on it, and whoever looks at its pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser

from penstock.client import Client
from penstock.server.security.roles import Role
from penstock.server.security.tokens import TokenFile
from tests.server.serving import Serving
from tests.web.browser.conftest import DESKTOP, Tab

#: Tokens by these names; north is an operator of another namespace.
PEOPLE = {
    "viewer": (Role.VIEWER, "default"),
    "operator": (Role.OPERATOR, "default"),
    "admin": (Role.ADMIN, "default"),
    "north": (Role.OPERATOR, "north"),
}
_MADE = """
CREATE STREAM temps (t TIMESTAMP, room STRING, temp DOUBLE, WATERMARK FOR t AS t - INTERVAL 5 SECONDS)
  USING generator OPTIONS (
    rate = '20/s', 'columns.t' = 'arrival(1, 4s)', 'columns.room' = 'choice(hall, bath)',
    'columns.temp' = 'normal(24, 5)');
CREATE STREAM pushed (id INT, name STRING) USING push;
CREATE CONTINUOUS QUERY hot_rooms WITH (latency = '5s', freshness = '50%')
  AS SELECT t, room, temp FROM temps WHERE temp > 0;
"""


class Team:
    """The server and its people."""

    def __init__(self, root: Path, browser: Browser) -> None:
        (root / "state").mkdir(parents=True)
        self.tokens = TokenFile(root / "state" / "tokens.json")
        self.secrets = {name: self.tokens.create(*who)[0] for name, who in PEOPLE.items()}
        self.server, self._browser = Serving(root), browser

    def make(self) -> None:
        """Waits for the server; then streams, a query, and another namespace with a stream of its own."""
        self.server.wait_until(self.server.ready, "ready")
        with (
            self.client("admin") as admin,
            self.client("operator") as operator,
            self.client("north") as north,
        ):
            admin.put_namespace("north")
            operator.execute(_MADE)
            north.execute("CREATE STREAM northern (id INT) USING push;")

    def client(self, name: str) -> Client:
        """A client with somebody's token."""
        return Client(self.server.url, token=self.secrets[name])

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the API answers an operator."""
        headers = {"Authorization": f"Bearer {self.secrets['operator']}"}
        url = f"{self.server.url}/api/v1{path}"
        answered = httpx.request(method, url, json=body, headers=headers, timeout=60.0, trust_env=False)
        return answered.raise_for_status().json()

    @contextmanager
    def visit(self, name: str | None, secret: str = "", **how: Any) -> Iterator[Tab]:
        """A window in which somebody has signed in, or nobody; it must have nothing to complain of."""
        given: Mapping[str, Any] = {"viewport": DESKTOP, "reduced_motion": "reduce", **how}
        context = self._browser.new_context(base_url=self.server.url, **given)
        if secret or name is not None:
            value = secret or self.secrets[str(name)]
            context.add_cookies([{"name": "penstock_token", "value": value, "url": self.server.url}])
        tab = Tab(context.new_page())
        try:
            yield tab
            assert not tab.complaints, "\n".join(tab.complaints)
        finally:
            context.close()
