"""What a user can say, as data: one class per statement, in the words of the language.

Names are as written, `span` is where the name stands that a statement is about. `select` is a syntax tree
that has not been bound: what its names mean is settled when the statement is applied (`session`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sqlglot import exp

from penstock.model.functions import PythonFunction
from penstock.model.qos import QoS
from penstock.model.query import OnError, Query
from penstock.model.scheduling import Scheduling
from penstock.model.schema import Field, Schema
from penstock.sql.text.places import Span


@dataclass(frozen=True, slots=True)
class CreateStream:
    """`CREATE STREAM s (t TIMESTAMP, …, WATERMARK FOR t AS t - INTERVAL 5 SECONDS) USING … OPTIONS (…)`."""

    span: Span
    name: str
    schema: Schema
    time: str | None
    delay_s: float
    format: str
    options: Mapping[str, str]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateTable:
    """`CREATE TABLE r (…) USING … OPTIONS (…)`: a stored relation."""

    span: Span
    name: str
    schema: Schema
    format: str
    options: Mapping[str, str]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """A time: seconds of the calendar, or seconds from now on (before now if negative)."""

    seconds: float
    relative: bool


@dataclass(frozen=True, slots=True)
class CreateQuery:
    """`CREATE [OR REPLACE] CONTINUOUS QUERY q WITH (…) AS SELECT …`, or `CREATE ONE-TIME QUERY …`."""

    span: Span
    name: str
    select: exp.Expr
    qos: QoS = field(default_factory=QoS)
    start: Moment | None = None
    stop: Moment | None = None
    windows: int = 0  # after which it stops
    one_time: bool = False
    if_not_exists: bool = False
    on_error: OnError = "hold"
    or_replace: bool = False
    text: str = ""  # of the SELECT, as it was written


@dataclass(frozen=True, slots=True)
class SubmitPlan:
    """`SUBMIT PLAN '{"penstock_plan": 1, …}'`: a query as plan JSON, with its name, QoS and times."""

    span: Span
    document: str


@dataclass(frozen=True, slots=True)
class CreatePlanned:
    """A query whose plan was read from a document; whoever has a plan's text makes it of `SubmitPlan`."""

    span: Span
    query: Query


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """`CREATE FUNCTION f (x DOUBLE) RETURNS DOUBLE AS 'module:function' LANGUAGE PYTHON DETERMINISTIC`."""

    span: Span
    function: PythonFunction
    if_not_exists: bool = False

    @property
    def name(self) -> str:
        """What it is called."""
        return self.function.name


@dataclass(frozen=True, slots=True)
class CreateView:
    """`CREATE [OR REPLACE] VIEW v AS SELECT …`: a named plan that others build on."""

    span: Span
    name: str
    select: exp.Expr
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class SplitStream:
    """`SPLIT [OR REPLACE] STREAM s INTO hot WHERE temp > 30, rest OTHERWISE`; no condition is OTHERWISE."""

    span: Span
    source: str
    outputs: tuple[tuple[str, exp.Expr | None], ...]
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateSink:
    """`CREATE [OR REPLACE] SINK k FROM q USING parquet OPTIONS (…)`."""

    span: Span
    name: str
    query: str
    query_span: Span
    format: str
    options: Mapping[str, str]
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class AlterStream:
    """`ALTER STREAM s SET (rate = '2000/s', idle = NULL)`, where NULL takes an option back.

    Or `ALTER STREAM s ADD COLUMNS (c INT, d STRING)`. `spans` are the places of options and new columns.
    """

    span: Span
    name: str
    options: Mapping[str, str | None] = field(default_factory=dict)
    spans: Mapping[str, Span] = field(default_factory=dict)
    columns: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class AlterQuery:
    """`ALTER QUERY q SET (weight = 0.5, latency = '2s')`, while it runs; None takes a wish back.

    Or `ALTER QUERY q AS SELECT …`: something else from now on, with the same columns.
    """

    span: Span
    name: str
    changes: Mapping[str, float | None] = field(default_factory=dict)
    select: exp.Expr | None = None
    text: str = ""  # of the SELECT, as it was written


@dataclass(frozen=True, slots=True)
class StopQuery:
    """`STOP QUERY q`, or `STOP QUERY q AND DRAIN` to emit its open windows."""

    span: Span
    name: str
    drain: bool = False


Kind: TypeAlias = Literal["stream", "table", "view", "query", "sink", "partition", "function"]


@dataclass(frozen=True, slots=True)
class Drop:
    """`DROP STREAM s`, and so on for the other kinds."""

    span: Span
    kind: Kind
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Show:
    """`SHOW STREAMS`, and so on for the other kinds and for policies."""

    span: Span
    what: str


@dataclass(frozen=True, slots=True)
class Describe:
    """`DESCRIBE s`: the columns of anything that has a name."""

    span: Span
    name: str


@dataclass(frozen=True, slots=True)
class Explain:
    """`EXPLAIN SELECT …`, `EXPLAIN q`, or `EXPLAIN CREATE CONTINUOUS QUERY …`."""

    span: Span
    target: CreateQuery | str


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """`SET policy = 'fas-mcq(beta=0.25)'`."""

    span: Span
    policy: str


@dataclass(frozen=True, slots=True)
class SetScheduling:
    """`SET scheduling = 'hmts'`: how the graph is divided among threads."""

    span: Span
    scheduling: Scheduling


@dataclass(frozen=True, slots=True)
class SetPartition:
    """`SET PARTITION p (queries = 'a, b', policy = 'chain', priority = 2)`: what one thread runs, and how.

    What is not said stays as it was.
    """

    span: Span
    name: str
    queries: tuple[str, ...] | None = None
    operators: tuple[str, ...] | None = None
    policy: str | None = None
    priority: float | None = None


Statement: TypeAlias = (
    CreateStream
    | CreateTable
    | CreateQuery
    | SubmitPlan
    | CreatePlanned
    | CreateFunction
    | CreateView
    | SplitStream
    | CreateSink
    | AlterStream
    | AlterQuery
    | StopQuery
    | Drop
    | Show
    | Describe
    | Explain
    | SetPolicy
    | SetScheduling
    | SetPartition
)
