"""What a server has beside the methods of `Engine`: streams, queries, tokens and so on, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.client.answers import Listing
from penstock.client.connection import Connection, part
from penstock.client.documents import columns_of, listed


class Administration:
    """Lists, and changes of single things; `Client` has these methods too."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _list(self, path: str, what: str) -> Listing:
        return Listing(listed(self._connection.call("GET", path), what))

    # --- streams ---

    def streams(self) -> Listing:
        """The streams, with their columns."""
        return self._list("/streams", "streams")

    def stream(self, stream: str) -> dict[str, Any]:
        """One stream: columns, format, how many rows came."""
        found: dict[str, Any] = self._connection.call("GET", f"/streams/{part(stream)}")
        return found

    def create_stream(
        self,
        name: str,
        columns: Mapping[str, str],
        *,
        time: str | None = None,
        delay: str = "0 seconds",
        format: str = "push",
        **options: str,
    ) -> None:
        """A stream; without a format, one that rows are pushed to."""
        body: dict[str, Any] = {"name": name, "columns": dict(columns), "format": format, "options": options}
        if time is not None:
            body |= {"time": time, "delay": delay}
        self._connection.call("POST", "/streams", body=body)

    def set_options(self, stream: str, **options: str) -> None:
        """Changes options of a stream while it runs, such as `rate="2000/s"`."""
        self._connection.call("PATCH", f"/streams/{part(stream)}", body={"options": options})

    def drop_stream(self, stream: str) -> None:
        """Forgets a stream that nobody reads."""
        self._connection.call("DELETE", f"/streams/{part(stream)}")

    def grants(self, stream: str) -> Listing:
        """The namespaces that may read a stream."""
        return self._list(f"/streams/{part(stream)}/grants", "grants")

    def grant(self, stream: str, namespace: str) -> None:
        """Lets another namespace read a stream."""
        self._connection.call("PUT", f"/streams/{part(stream)}/grants/{part(namespace)}")

    def revoke(self, stream: str, namespace: str) -> None:
        """Takes that back."""
        self._connection.call("DELETE", f"/streams/{part(stream)}/grants/{part(namespace)}")

    # --- queries ---

    def queries(self) -> Listing:
        """The queries, with their states."""
        return self._list("/queries", "queries")

    def create_query(
        self, name: str, select: str | None = None, *, plan: Mapping[str, Any] | None = None, **wishes: Any
    ) -> None:
        """A query from a SELECT or from plan JSON; wishes are `latency="2s"`, `start="…"` and so on."""
        given = {"select": select, "plan": plan, **wishes}
        body = {"name": name, **{word: value for word, value in given.items() if value is not None}}
        self._connection.call("POST", "/queries", body=body, sql=select or "")

    def alter_query(self, query: str, select: str | None = None, **wishes: Any) -> None:
        """Another SELECT, other wishes, or both; what is not given stays as it is."""
        given = {"select": select, **wishes}
        body = {word: value for word, value in given.items() if value is not None}
        self._connection.call("PATCH", f"/queries/{part(query)}", body=body, sql=select or "")

    def stop(self, query: str, *, drain: bool = False) -> None:
        """Ends a query; with `drain`, after the rows that came in before."""
        self._connection.call("POST", f"/queries/{part(query)}/stop", body={"drain": drain})

    def suspend(self, query: str) -> None:
        """Holds a query; its rows wait."""
        self._connection.call("POST", f"/queries/{part(query)}/suspend", body={})

    def resume(self, query: str) -> None:
        """Lets a query go on, one that failed too."""
        self._connection.call("POST", f"/queries/{part(query)}/resume", body={})

    def drop_query(self, query: str) -> None:
        """Forgets a query."""
        self._connection.call("DELETE", f"/queries/{part(query)}")

    def subscriptions(self, query: str) -> Listing:
        """The named positions of a query that the server keeps."""
        return self._list(f"/queries/{part(query)}/subscriptions", "subscriptions")

    # --- the whole engine ---

    def tables(self) -> Listing:
        """The stored tables."""
        return self._list("/tables", "tables")

    def views(self) -> Listing:
        """The views."""
        return self._list("/views", "views")

    def functions(self) -> Listing:
        """The functions in Python."""
        return self._list("/functions", "functions")

    def sinks(self) -> Listing:
        """Where results go."""
        return self._list("/sinks", "sinks")

    def policies(self) -> Listing:
        """The policies that there are."""
        return self._list("/policies", "policies")

    def scheduling(self) -> dict[str, Any]:
        """The policy that runs, and how the graph is divided among threads."""
        found: dict[str, Any] = self._connection.call("GET", "/scheduling")
        return found

    def partitions(self) -> Listing:
        """What runs in threads of its own under `hmts`."""
        return self._list("/partitions", "partitions")

    def operators(self) -> Listing:
        """Each operator that runs: its state, what waits for it, what it remembers, what it costs."""
        return self._list("/operators", "operators")

    def drop_partition(self, name: str) -> None:
        """Gives what a partition runs back to the rest."""
        self._connection.call("DELETE", f"/partitions/{part(name)}")

    def namespaces(self) -> Listing:
        """The namespaces, and the most that each may use; null is no limit."""
        return self._list("/namespaces", "namespaces")

    def namespace_limits(self, name: str) -> dict[str, Any]:
        """The most that a namespace may use; null is no limit."""
        found: dict[str, Any] = self._connection.call("GET", f"/namespaces/{part(name)}")
        return found

    def namespace_usage(self, name: str) -> dict[str, Any]:
        """What a namespace uses now."""
        found: dict[str, Any] = self._connection.call("GET", f"/namespaces/{part(name)}/usage")
        return found

    def put_namespace(
        self,
        name: str,
        *,
        queries: int | None = None,
        rows_per_s: float | None = None,
        memory: str | int | None = None,
        weight: float | None = None,
    ) -> dict[str, Any]:
        """A namespace with these limits, new or as it is from now on; what is not given has none."""
        given = {"queries": queries, "rows_per_s": rows_per_s, "memory": memory, "weight": weight}
        body = {word: value for word, value in given.items() if value is not None}
        found: dict[str, Any] = self._connection.call("PUT", f"/namespaces/{part(name)}", body=body)
        return found

    def drop_namespace(self, name: str) -> None:
        """Forgets a namespace that has nothing left."""
        self._connection.call("DELETE", f"/namespaces/{part(name)}")

    def tokens(self) -> Listing:
        """The tokens, without their secrets."""
        return self._list("/tokens", "tokens")

    def create_token(
        self, role: str, namespace: str | None = None, name: str = "", expires: str | None = None
    ) -> dict[str, Any]:
        """A token; its secret, `token`, is told this once. It ends after a time such as `30 days`."""
        given = {"role": role, "namespace": namespace, "name": name or None, "expires": expires}
        body = {word: value for word, value in given.items() if value is not None}
        found: dict[str, Any] = self._connection.call("POST", "/tokens", body=body)
        return found

    def revoke_token(self, token_id: str) -> None:
        """Refuses a token from now on."""
        self._connection.call("DELETE", f"/tokens/{part(token_id)}")

    def audit(self, most: int = 100) -> Listing:
        """The latest changes and refusals, newest first: who, when, from where, what became of it."""
        return Listing(listed(self._connection.call("GET", "/audit", params={"most": most}), "audit"))

    def settings(self) -> dict[str, str]:
        """The settings that hold for the server, but for paths of its host."""
        found: dict[str, str] = self._connection.call("GET", "/config")
        return found

    def columns(self) -> dict[str, dict[str, str]]:
        """What can be read from, with its columns: streams, tables and views."""
        found: dict[str, dict[str, str]] = {}
        for kind in ("streams", "tables", "views"):
            for one in self._list(f"/{kind}", kind):
                found[str(one["name"])] = columns_of(one)
        return found
