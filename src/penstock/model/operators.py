"""The operators: what one node of the query graph does, without where it stands.

Expressions are SQL text in Spark's dialect; `sql` parses and types them. `kind` is the tag by which plan
JSON and `match` tell operators apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.model.schema import EMPTY, UNTYPED, Field, Schema
from penstock.model.window import Window


@dataclass(frozen=True, slots=True)
class Source:
    """A registered stream; `endless` unless its log is known to end.

    `time` is the column with the time of each row; the watermark follows it `delay_s` behind.
    """

    stream: str
    schema: Schema = EMPTY
    endless: bool = True
    time: str | None = None
    delay_s: float = 0.0
    kind: Literal["source"] = "source"


@dataclass(frozen=True, slots=True)
class Select:
    """Rows that satisfy a predicate."""

    predicate: str
    kind: Literal["select"] = "select"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a projection. The type of a plain column name is taken from the input."""

    name: str
    expression: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """Columns computed from each row."""

    columns: tuple[Column, ...]
    kind: Literal["project"] = "project"


@dataclass(frozen=True, slots=True)
class Split:
    """One stream into several: output port `i` carries the rows that satisfy condition `i`."""

    conditions: tuple[str, ...]
    kind: Literal["split"] = "split"


@dataclass(frozen=True, slots=True)
class Union:
    """All rows of all inputs; an `ordered` one puts them out in the order of their time, without late ones.

    Rows of one time go by stream and place there. It may have one input. With `every_s`, those of so
    many seconds go out together, when the watermark has passed them all. `since` as with aggregates.
    """

    ordered: bool = False
    since: int = 0
    every_s: float | None = None
    kind: Literal["union"] = "union"

    def __repr__(self) -> str:
        """As always, but for what only some have: operators in a state are named by a digest of this text."""
        since = f", since={self.since!r}" if self.since else ""
        every = f", every_s={self.every_s!r}" if self.every_s is not None else ""
        return f"Union(ordered={self.ordered!r}{since}{every}, kind={self.kind!r})"


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows from two windows that satisfy a condition.

    The condition is about the columns that come out: those of the left input, then those of the right one,
    which get `right_` before their name where the left has the same (`widened`).

    With `relation` set, rows of the one input stream are joined with a stored relation and no window is
    needed. With `roster` it is that of a shared query's members (`plan.shared.shapes`), each of which gets
    rows from where it began. `ordered` takes the inputs in timestamp order. `since` as with aggregates.
    """

    condition: str
    left: Window | None = None
    right: Window | None = None
    relation: str | None = None
    relation_schema: Schema = EMPTY
    type: Literal["inner", "left", "right", "full"] = "inner"
    ordered: bool = False
    since: int = 0
    roster: bool = False
    kind: Literal["join"] = "join"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Groups of a window's rows, by `keys`, each reduced to its `aggregates`.

    Keys are columns of the input. The aggregate `window()` is the window itself, a struct of its `start` and
    its `end`: two timestamps, or two row numbers.

    Operators that remember rows from different positions of the log on are not the same, however equal they
    look: `since` tells them apart. It is 0 for what was there when the streams began.

    One that `carries_late` makes panes that other aggregates put together to windows. A late row whose pane
    is closed, but not all windows that hold the pane, goes on to them in a row of its own.
    """

    keys: tuple[str, ...]
    aggregates: tuple[Column, ...]
    window: Window | None = None
    since: int = 0
    carries_late: bool = False
    kind: Literal["aggregate"] = "aggregate"

    def __repr__(self) -> str:
        """As always, but for what only some have: operators in a state are named by a digest of this text."""
        late = ", carries_late=True" if self.carries_late else ""
        return (
            f"Aggregate(keys={self.keys!r}, aggregates={self.aggregates!r}, window={self.window!r}, "
            f"since={self.since!r}{late}, kind={self.kind!r})"
        )


@dataclass(frozen=True, slots=True)
class Sink:
    """Where a query's results leave the system; with `columns`, named and ordered as the query asks."""

    query: str
    columns: tuple[Column, ...] = ()
    kind: Literal["sink"] = "sink"


Operator: TypeAlias = Source | Select | Project | Split | Union | Join | Aggregate | Sink


def is_ordered(operator: Operator) -> bool:
    """Whether the operator wants its inputs in timestamp order, and so keeps a queue at each."""
    return isinstance(operator, Union | Join) and operator.ordered


def is_stateful(operator: Operator) -> bool:
    """Whether two steps through the operator at once would corrupt what it remembers."""
    return (
        isinstance(operator, Aggregate)
        or (isinstance(operator, Join) and operator.relation is None)
        or is_ordered(operator)
    )


def is_blocking(operator: Operator) -> bool:
    """Whether the operator could put out nothing before its input ends, for want of a window."""
    match operator:
        case Aggregate(window=window):
            return window is None
        case Join(left=left, right=right, relation=relation):
            return relation is None and (left is None or right is None)
        case _:
            return False


def input_count(operator: Operator) -> tuple[int, int | None]:
    """The least and the greatest number of inputs; no greatest for a union, which puts one in order, too."""
    match operator:
        case Source():
            return 0, 0
        case Union(ordered=ordered):
            return 1 if ordered else 2, None
        case Join(relation=relation):
            return (2, 2) if relation is None else (1, 1)
        case _:
            return 1, 1


def output_count(operator: Operator) -> int:
    """How many output ports the operator has."""
    match operator:
        case Split(conditions=conditions):
            return len(conditions)
        case Sink():
            return 0
        case _:
            return 1


def output_schema(operator: Operator, inputs: tuple[Schema, ...]) -> Schema:
    """The schema of what comes out: a project shrinks, a join widens; EMPTY where it is not known."""
    match operator:
        case Source(schema=schema):
            return schema
        case Project(columns=columns):
            return Schema(tuple(_typed(column, inputs[0]) for column in columns))
        case Aggregate(keys=keys, aggregates=columns):
            kept = tuple(_typed(Column(key, key), inputs[0]) for key in keys)
            return Schema(kept + tuple(_typed(column, inputs[0]) for column in columns))
        case Join(relation=relation, relation_schema=relation_schema):
            left, right = inputs[0], relation_schema if relation is not None else inputs[1]
            return widened(left, right) if left.fields and right.fields else EMPTY
        case Sink(columns=columns) if columns:
            return Schema(tuple(_typed(column, inputs[0]) for column in columns))
        case _:
            return inputs[0]


def _typed(column: Column, source: Schema) -> Field:
    plain = source.get(column.expression)
    return Field(column.name, column.type or (plain.type if plain else UNTYPED))


def widened(left: Schema, right: Schema) -> Schema:
    """What a join puts out: the left columns, then the right ones, renamed where the left has the name."""
    fields, taken = list(left.fields), {name.lower() for name in left.names}
    for field in right.fields:
        name = field.name
        while name.lower() in taken:
            name = f"right_{name}"
        taken.add(name.lower())
        fields.append(Field(name, field.type))
    return Schema(tuple(fields))
