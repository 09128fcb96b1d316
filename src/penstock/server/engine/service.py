"""What the HTTP process can ask of an engine, by name.

Each method takes and returns plain data. Pushes are begun and answered when their batch is committed, so that
no thread waits for them; everything else is called by a thread of the channel's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.ingest.sources.push import PushOutcome
from penstock.errors import EngineError
from penstock.model.quotas import Quotas
from penstock.server.channel.host import Answer
from penstock.server.engine import plain
from penstock.sql.scoping import Scope


class EngineService:
    """An engine as the other process sees it. `changed` hears that the catalog is another one."""

    waiting_methods = frozenset({"settle", "heartbeat"})

    def __init__(self, engine: Engine, changed: Callable[[], None] = lambda: None) -> None:
        self._engine, self._changed = engine, changed
        self._methods: Mapping[str, Callable[..., Any]] = {
            "execute": self._execute,
            "apply": self._apply,
            "submit": self._submit,
            "draft": lambda sql, scope=None: engine.draft(sql, scope=_scope(scope)),
            "catalog": lambda: plain.catalog(engine.catalog),
            "status": lambda: plain.texts_changed(engine.status().as_json(), engine.without_places),
            "places": lambda query: engine.result_places(query).values(),
            "heartbeat": engine.heartbeat,
            "end": engine.end,
            "suspend": engine.suspend,
            "resume": engine.resume,
            "settle": engine.settle,
            "problems": engine.problems,
            "plan": lambda query, scope: plain.plan(engine.catalog.queries[query], _scope(scope)),
            "skipped": lambda query: plain.texts_changed(
                [asdict(one) for one in engine.skipped(query)], engine.without_places
            ),
            "operators": lambda: [asdict(one) for one in engine.operators()],
            "graph": engine.graph_view,
            "bad_rows": self._bad_rows,
            "control_log": lambda minutes: list(engine.control_log(minutes)),
        }

    # --- as the channel calls it ---

    def begin(self, method: str, arguments: dict[str, Any], payload: memoryview, answer: Answer) -> bool:
        """Begins a push, and answers at once what nobody has to wait for; else it is to be called."""
        match method:
            case "push":
                self._push(answer, payload, **arguments)
            case "places_version":
                answer(self._engine.places_version, None)
            case _:
                return False
        return True

    def call(self, method: str, arguments: dict[str, Any]) -> Any:
        """Does something and returns what came of it."""
        found = self._methods.get(method)
        if found is None:
            raise EngineError(f"the engine has no '{method}'; both processes should be of one version")
        return found(**arguments)

    # --- what can be asked ---

    def _push(self, answer: Answer, payload: memoryview, stream: str, key: str | None) -> None:
        table = pa.ipc.open_stream(pa.py_buffer(payload)).read_all()

        def committed(outcome: PushOutcome) -> None:
            if outcome.problem is not None:
                answer(None, outcome.problem)
            else:
                answer({"rows": outcome.rows, "repeated": outcome.repeated}, None)

        self._engine.push_then(stream, table, committed, key=key)

    def _execute(self, sql: str, scope: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        answers = self._engine.execute(sql, scope=_scope(scope))
        self._changed()
        return [plain.answer(one) for one in answers]

    def _submit(self, plan: str, scope: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        answers = self._engine.submit(plan, scope=_scope(scope))
        self._changed()
        return [plain.answer(one) for one in answers]

    def _bad_rows(self, stream: str, most: int) -> list[dict[str, str]]:
        hidden = self._engine.without_places
        return [
            {**one, "place": hidden(one["place"]), "reason": hidden(one["reason"])}
            for one in self._engine.bad_rows(stream, most)
        ]

    def _apply(
        self, sql: str, prune: bool, dry_run: bool, scope: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        found = self._engine.apply(sql, prune=prune, dry_run=dry_run, scope=_scope(scope))
        self._changed()
        return {"changes": [asdict(one) for one in found.changes], "applied": found.applied}


def _scope(values: Mapping[str, Any] | None) -> Scope | None:
    """Whose statements they are; None: the library's names, and all of them."""
    if values is None:
        return None
    return Scope(values["namespace"], frozenset(values["granted"]), Quotas(**values["quotas"]))
