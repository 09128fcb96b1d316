"""Parts of a SELECT that mean nothing on a stream or are not supported, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.sql.text.places import Problem

_REFUSED: Mapping[str, str] = {
    "order": "the order of rows in here means nothing to what is made of them; "
    "put ORDER BY at the end of the query",
    "sort": "SORT BY needs the end of the stream; sort where the results are read",
    "cluster": "CLUSTER BY is not supported; how rows are spread is up to Penstock",
    "distribute": "DISTRIBUTE BY is not supported; how rows are spread is up to Penstock",
    "limit": "LIMIT would stop an endless query; give it a stop time: WITH (stop = '1 hour')",
    "offset": "OFFSET is not supported on a stream; start a query later with WITH (start = …)",
    "fetch": "FETCH would stop an endless query; give it a stop time: WITH (stop = '1 hour')",
    "qualify": "QUALIFY is not supported; use an aggregate over a window",
    "laterals": "LATERAL VIEW is not supported; a query cannot make several rows of one",
    "windows": "named windows are not supported; use GROUP BY window(…) or [RANGE …]",
    "pivots": "PIVOT is not supported; use aggregates with FILTER (WHERE …)",
    "sample": "TABLESAMPLE depends on chance; filter by a hash, such as WHERE hash(id) % 10 = 0",
    "into": "SELECT INTO is not supported; use CREATE SINK",
    "hint": "hints are not supported; Penstock chooses the plan (see EXPLAIN)",
    "connect": "CONNECT BY is not supported",
    "prewhere": "PREWHERE is not supported; use WHERE",
}


def refuse_parts(tree: exp.Expr) -> None:
    """An error if a piece of syntax has a part that is not supported."""
    for part, why in _REFUSED.items():
        value = tree.args.get(part)
        if part == "hint" and value:
            raise Problem(
                (*tree.expressions, tree.args.get("from_"))[0], why
            )  # sqlglot reads hints apart, without their place
        if value:
            raise Problem(value[0] if isinstance(value, list) else value, why)
