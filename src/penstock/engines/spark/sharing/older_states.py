"""States of versions before sharing had records: what they say about queries becomes records, once.

Those versions kept what was under way by key: "suspended" hosts, queries "to hold" and "stopping", members
that were to run "apart", hosts on their way "back", alterations that had not begun ("altering").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.control.sharing.records import (
    Alter,
    Hold,
    HostRecord,
    Phase,
    QueryRecord,
    Request,
    ShapeFacts,
    Stop,
)
from penstock.engines.spark.sharing.host_plans import HostPlans, facts
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.plan import document
from penstock.plan.shared.remembering import remembered_s

_KEYS = ("suspended", "to hold", "stopping", "apart", "back", "ripe at", "altering", "asked apart")


def take_over(log: CommitLog, plans: HostPlans) -> None:
    """Writes records for a state that has none."""
    if log.sharing_hosts() or not log.queries():
        return
    _forget_alterations(log)
    older = _Older(log)
    hosts = {name: older.host(name, plan) for name, plan, _ in log.queries()}
    queries = {one.name: one for one in older.queries(hosts)}
    for name, query in queries.items():
        query.asked = (*_alterations(plans, older, name), *query.asked)
    log.put_sharing_hosts(hosts)
    log.put_sharing_queries(queries)
    for key in _KEYS:
        log.forget(key)


def _forget_alterations(log: CommitLog) -> None:
    """What had not begun is undone, to be asked for again; a host that somebody else has joined stays."""
    joined = {name for name, _, _ in log.members()}
    for new in log.get("altering", {}).values():
        if new is not None and new not in joined:
            log.drop_query(new)
            log.drop_shared(new)


def _alterations(plans: HostPlans, older: _Older, name: str) -> list[Request]:
    """What a query was asked to become and has not."""
    been = 1 + len(older.lives.get(name, {}).get("before", ()))
    found: list[Request] = []
    for number, query in enumerate(plans.definitions(name)):
        if number >= been:
            shape = plans.shaped(query).shape
            found.append(Alter(number, facts(shape, shape.query(name))))
    return found


class _Older:
    """What the log says."""

    def __init__(self, log: CommitLog) -> None:
        self._log = log
        self.lives = log.results()
        self._shared = dict(log.shared())
        self._suspended = {*log.get("suspended", [])}
        self._back: dict[str, str] = log.get("back", {})
        self._apart: dict[str, Sequence[str]] = log.get("apart", {})
        self._ripe_at: dict[str, int] = log.get("ripe at", {})

    def host(self, name: str, plan: str) -> HostRecord:
        """A host's record."""
        begun, held = "from" in self.lives.get(name, {}), name in self._suspended
        values = self._shared.get(name)
        if values is None:
            return HostRecord(name, name, begun=begun, held=held)
        absorbs = remembered_s(document.read(plan).root) is not None
        shape = ShapeFacts(values["digest"], values["stateful"], values["instant"], absorbs)
        return HostRecord(
            name,
            values["base"],
            shape,
            begun=begun,
            held=held,
            returns=self._back.get(name) in self._shared,
            ripe_at=self._ripe_at.get(name),
            beside=self._apart[name][0] if name in self._apart else None,
        )

    def queries(self, hosts: Mapping[str, HostRecord]) -> list[QueryRecord]:
        """The queries' records."""
        members = {values["query"]: shared for shared, _, values in self._log.members()}
        alone = {name: name for name, host in hosts.items() if not host.shared}
        found = [self._query(name, hosts[host]) for name, host in {**alone, **members}.items()]
        splitting = {query: own for own, (_, query) in self._apart.items()}
        for one in found:
            if one.name in splitting:
                one.phase, one.to = Phase.splitting, splitting[one.name]
        return found

    def _query(self, name: str, host: HostRecord) -> QueryRecord:
        held = (host.held and host.shared) or name in self._log.get("to hold", [])
        stopping: Mapping[str, bool] = self._log.get("stopping", {})
        preferred: Mapping[str, Any] = self._log.get("asked apart", {})
        asked: list[Request] = []
        if held and not host.held:
            asked.append(Hold())
        if name in stopping:
            held = False
            asked.append(Stop(stopping[name]))
        return QueryRecord(
            name,
            host.name,
            Phase.running if host.begun else Phase.waiting,
            held=held,
            prefers_apart=preferred.get(name),
            asked=tuple(asked),
        )
