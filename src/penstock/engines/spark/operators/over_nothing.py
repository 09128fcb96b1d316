"""A global aggregate of which no row qualifies: one row all the same, as in any database.

`count` is 0 there and most other functions are NULL. Of the members of a shared query, each without a row has
one. It comes when the stream has ended, and only then is it certain that there will be no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.engines.spark.operators.base import EPOCH, Release, Released, Tools
from penstock.engines.spark.operators.grouping import Grouping
from penstock.engines.spark.rows.expressions import Among, Not, quote
from penstock.engines.spark.storage.records import Piece
from penstock.model.graph import Graph
from penstock.model.operators import Aggregate, Join
from penstock.model.schema import UNTYPED
from penstock.plan.shared.shapes import MEMBER

NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class OverNothing:
    """Which rows are due where there was none; with `roster`, a row for each member of that shared query."""

    grouping: Grouping
    roster: str | None

    def release(self, pieces: Sequence[Piece], tools: Tools) -> tuple[Release, ...]:
        """The rows for those of whom nothing is remembered at the end."""
        if self.roster is None and pieces:
            return ()
        members = tools.members(self.roster)
        if self.roster is not None:
            for piece in pieces:
                members = members.where(Not(Among(MEMBER, tools.get(piece.ref).values(MEMBER))))
        return () if members.is_empty else (Release(NOTHING, {"members": members}),)

    def released(self) -> Released:
        """The aggregates over no rows, whose columns still have their types, beside each member's keys."""
        grouping = self.grouping
        types = {field.name: field.type for field in grouping.below.schema.fields}
        columns = [
            f"CAST(NULL AS {_sql_type(types.get(name, 'bigint'))}) AS {quote(name)}"
            for name in dict.fromkeys((*grouping.partials.columns, *grouping.raw_columns))
        ]
        no_rows = f"SELECT {', '.join(columns)} FROM members WHERE FALSE"
        titles = [quote(column.name) for column in grouping.aggregate.aggregates]
        finished = [
            f"{text} AS {title}"
            for title, (_, text) in zip(titles, grouping.partials.finish_raw, strict=True)
        ]
        values = f"SELECT {', '.join(finished) or '0 AS __none'} FROM ({no_rows})"
        hidden = [
            f"{'0L' if name == EPOCH else 'CAST(NULL AS BIGINT)'} AS {name}"
            for name in grouping.output.hidden
        ]
        shown = ", ".join([*grouping.keys, *titles, *hidden])
        keys = ", ".join(grouping.keys) or "0 AS __all"
        sql = f"SELECT {shown} FROM (SELECT {keys} FROM members) CROSS JOIN ({values})"
        return Released(sql, {"members": tuple(grouping.aggregate.keys) or (MEMBER,)})


def over_nothing(graph: Graph, name: str, grouping: Grouping) -> OverNothing | None:
    """What an aggregate puts out of no rows; None if it has groups, of which there are none then.

    In a shared query, a global aggregate has the members' numbers and constants for its keys.
    """
    rosters = _rosters_below(graph, name)
    if not _is_global(graph, name, rosters):
        return None
    aggregate = graph.nodes[name].operator
    assert isinstance(aggregate, Aggregate)
    return OverNothing(grouping, rosters[0].relation if aggregate.keys else None)


def has_row_of_nothing(graph: Graph, query: str) -> bool:
    """Whether a query may put something out although no row ever comes."""
    return any(_is_global(graph, name, _rosters_below(graph, name)) for name in graph.members[query])


def _is_global(graph: Graph, name: str, rosters: Sequence[Join]) -> bool:
    """Whether an operator is an aggregate without groups, but for the members of a shared query."""
    aggregate = graph.nodes[name].operator
    if not isinstance(aggregate, Aggregate) or aggregate.window is not None:
        return False
    known = {field for join in rosters for field in join.relation_schema.names}
    return not aggregate.keys or (MEMBER in aggregate.keys and known.issuperset(aggregate.keys))


def _rosters_below(graph: Graph, name: str) -> list[Join]:
    found, waiting, seen = [], [name], set[str]()
    while waiting:
        node = graph.nodes[waiting.pop()]
        for port in node.inputs:
            if port.node not in seen:
                seen.add(port.node)
                waiting.append(port.node)
                operator = graph.nodes[port.node].operator
                if isinstance(operator, Join) and operator.roster:
                    found.append(operator)
    return found


def _sql_type(type_: str) -> str:
    return "VOID" if type_ == UNTYPED else type_
