"""An explanation for programs: one JSON document.

Names end in their units: `_s` seconds, `_per_s` per second, `_bytes`. Processor time is in seconds per
second: 0.5 keeps half a processor busy.

    penstock_explanation  1: goes up when a field changes its meaning; new fields may come without that
    said                  what each statement said, in order: `{text, columns, rows}`, columns and rows empty
                          unless it shows a table; or `{query: 3}`, the place in `queries`
    queries               those that were created or explained:
        name, registered  registered unless it was only to be explained
        qos               what was asked for; `wishes` says it in words
        result            columns: `{name, type}`
        cost              `processor_s_per_s` and `memory_bytes` by itself, `new_processor_s_per_s` what it
                          adds to what runs
        plan              `written` and `chosen`: each with `text` and, as `document`, plan JSON
        operators         inputs first: `name` in the graph, `kind`, `text`, `inputs` (`{operator, port}`),
                          `schema`, `rate_in_per_s`, `rate_out_per_s`, `cost_s` per row, `selectivity`,
                          `memory_bytes`, `shared_with` (queries that ran it before this one came)
        runs_as, together the query of the graph that runs it and others that differ in constants, and their
                          names; empty if it runs by itself
        shared, added     names of the operators that others ran already, and of those that are new
        considered        plans, the chosen one first: `processor_s_per_s`, `new_processor_s_per_s`,
                          `memory_bytes`, `operators`, `shared` (both counts), `rules`
    graph                 of the registered queries: `queries`, `members` (of those that run several as one),
                          `streams`, `operators` (`name`, `text`,
                          `users`), `processor_s_per_s`, `memory_bytes`, and as `sharing` how many operators
                          there would be `separate`, are `merged`, and were `saved`
    policy                what the graph is cut by
    units                 `operators`, `rate_in_per_s`, `cost_s` per row, `selectivity`, `processor_s_per_s`
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from penstock.explain.describing import OperatorExplained, QueryExplained
from penstock.explain.explanation import Explanation
from penstock.explain.wishes import wishes
from penstock.model.query import Query
from penstock.model.schema import Schema
from penstock.plan.document import write
from penstock.plan.text import plan_text
from penstock.sql.session import Answer


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """The document, of nothing but what `json.dumps` takes."""
    graph = explanation.graph
    places = {id(query): place for place, query in enumerate(explanation.queries)}
    merged = len(graph.operators)
    return {
        "penstock_explanation": 1,
        "said": [
            _said(one) if isinstance(one, Answer) else {"query": places[id(one)]} for one in explanation.said
        ],
        "queries": [query_json(one) for one in explanation.queries],
        "graph": {
            "queries": list(graph.queries),
            "members": {name: list(whom) for name, whom in explanation.members.items()},
            "streams": list(graph.sources),
            "operators": [
                {"name": name, "text": explanation.texts[name], "users": list(graph.users[name])}
                for name in graph.operators
            ],
            "processor_s_per_s": explanation.cpu_s_per_s,
            "memory_bytes": explanation.memory_bytes,
            "sharing": {
                "separate": explanation.separate,
                "merged": merged,
                "saved": explanation.separate - merged,
            },
        },
        "policy": explanation.policy,
        "units": [
            {
                "operators": list(unit.operators),
                "rate_in_per_s": unit.rate_in,
                "cost_s": unit.row_s,
                "selectivity": unit.selectivity,
                "processor_s_per_s": unit.cpu_s_per_s,
            }
            for unit in explanation.units
        ],
    }


def _said(answer: Answer) -> dict[str, Any]:
    return {"text": answer.text, "columns": list(answer.columns), "rows": [list(row) for row in answer.rows]}


def query_json(one: QueryExplained) -> dict[str, Any]:
    """One query, of nothing but what `json.dumps` takes."""
    return {
        "name": one.written.name,
        "registered": one.registered,
        "qos": asdict(one.written.qos),
        "wishes": wishes(one.written.qos),
        "result": _schema(one.schema),
        "cost": {
            "processor_s_per_s": one.cpu_s_per_s,
            "new_processor_s_per_s": one.new_cpu_s_per_s,
            "memory_bytes": one.memory_bytes,
        },
        "plan": {"written": _plan(one.written), "chosen": _plan(one.chosen)},
        "operators": [_operator(operator) for operator in one.operators],
        "runs_as": one.runs_as,
        "together": list(one.together),
        "shared": [operator.name for operator in one.work if operator.shared_with],
        "added": [operator.name for operator in one.added],
        "considered": [
            {
                "processor_s_per_s": way.cpu_s_per_s,
                "new_processor_s_per_s": way.new_cpu_s_per_s,
                "memory_bytes": way.memory_bytes,
                "operators": way.operators,
                "shared": way.shared,
                "rules": list(way.rules),
            }
            for way in one.considered
        ],
    }


def _plan(query: Query) -> dict[str, Any]:
    return {"text": plan_text(query.root), "document": json.loads(write(query))}


def _operator(one: OperatorExplained) -> dict[str, Any]:
    return {
        "name": one.name,
        "kind": one.kind,
        "text": one.text,
        "inputs": [
            {"operator": name, "port": port} for name, port in zip(one.inputs, one.ports, strict=True)
        ],
        "schema": _schema(one.schema),
        "rate_in_per_s": one.costed.rate_in,
        "rate_out_per_s": one.rate_out,
        "cost_s": one.costed.estimate.cost_s,
        "selectivity": one.costed.estimate.selectivity,
        "memory_bytes": one.costed.memory_bytes,
        "shared_with": list(one.shared_with),
    }


def _schema(schema: Schema) -> list[dict[str, str]]:
    return [{"name": field.name, "type": field.type} for field in schema.fields]
