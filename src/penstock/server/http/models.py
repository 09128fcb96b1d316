"""What comes in and goes out, as OpenAPI documents it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

#: A value of a wish or an option: a number, or a text with its unit.
Value = float | str
Name = Annotated[str, Field(min_length=1, max_length=128, description="A name without a dot.")]
Text = Annotated[str, Field(min_length=1, max_length=4_000_000)]


class Body(BaseModel):
    """A body that has what is declared and nothing else."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What was wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    line: int | None = Field(None, description="In the SQL that was sent, from 1.")
    column: int | None = None


# --- statements ---


class Statements(Body):
    """SQL, one statement or several: all of them are applied, or none."""

    sql: Text


class Answer(BaseModel):
    """What a statement says back, and a table where it shows something."""

    text: str
    columns: list[str]
    rows: list[list[str]]
    about: str


class Answers(BaseModel):
    """One for each statement."""

    answers: list[Answer]


class Definitions(Body):
    """A file of statements that says what there should be."""

    sql: Text
    prune: bool = Field(False, description="Stop and drop what the statements have no more.")
    dry_run: bool = Field(False, description="Only say what would change.")


class Change(BaseModel):
    """One difference between what there is and what there should be."""

    model_config = ConfigDict(extra="allow")
    action: str
    kind: str
    name: str
    detail: str = ""


class Changes(BaseModel):
    """All differences, and whether they were made."""

    changes: list[Change]
    applied: bool


# --- streams ---


class Column(BaseModel):
    """A column and its Spark SQL type."""

    name: str
    type: str


class NewStream(Body):
    """A stream to be created."""

    name: Name
    columns: dict[str, str] = Field(min_length=1, description="Names and Spark SQL types.")
    time: str | None = Field(None, description="The column that the watermark follows.")
    delay: str = Field("0 seconds", description="How much older than the newest a row may be.")
    format: str = Field("push", pattern=r"^[A-Za-z_][\w.]*$", max_length=100)
    options: dict[str, str] = {}


class Stream(BaseModel):
    """A stream, and how it fares."""

    model_config = ConfigDict(extra="allow")
    name: str
    columns: list[Column]
    time: str | None
    delay_s: float
    format: str
    options: dict[str, str]
    state: str = "waiting"
    rows: int = 0
    rate_per_s: float | None = None
    late_rows: int = 0
    bad_rows: int = 0


class StreamChange(Body):
    """Options that are others from now on, such as `{"rate": "2000/s"}`; null takes one back."""

    options: dict[str, str | None] = Field(min_length=1)


class Heartbeat(Body):
    """No row before that time will be pushed."""

    time: float | str


class Pushed(BaseModel):
    """Rows that are committed; `repeated`: they had been already, by an earlier push with this key."""

    stream: str
    rows: int
    repeated: bool


class RejectedRow(BaseModel):
    """A row that does not fit its stream: when it came, where it stood, what is wrong with it."""

    at: str
    place: str
    reason: str
    text: str = Field(description="As it came, up to 10 000 characters of it.")


class Grant(BaseModel):
    """A namespace that may read a stream."""

    namespace: str


# --- queries ---


class Wishes(Body):
    """What a query's owner asks for: `"2s"`, `"64MB"`, `"95%"`, or numbers in seconds, bytes, shares."""

    latency: Value | None = None
    tolerance: Value | None = None
    memory: Value | None = None
    freshness: Value | None = None
    throughput: Value | None = None
    weight: Value | None = None


class NewQuery(Wishes):
    """A query: a SELECT with its wishes, or plan JSON that has them inside."""

    name: Name | None = Field(None, description="Needed with `select`; plan JSON has a name.")
    select: Text | None = None
    plan: dict[str, Any] | None = None
    start: str | None = None
    stop: str | None = None
    one_time: bool = False
    on_error: Literal["hold", "skip"] = "hold"


class QueryDraft(Wishes):
    """A query that is not to be created, as `NewQuery` without a name."""

    select: Text
    start: str | None = None
    stop: str | None = None
    one_time: bool = False
    on_error: Literal["hold", "skip"] = "hold"


class Drafted(BaseModel):
    """What a query would be, and what of it runs already for others of the namespace.

    `operators` come inputs first, with estimates (`cost_s` per row, `rate_in_per_s`, `memory_bytes`) and the
    queries that each is `shared_with`; `edges` go from one to another. The query would run as one with those
    `together`, `at_once` or first beside them.
    """

    columns: list[Column]
    cost: dict[str, float]
    operators: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    shared: list[str] = Field(description="The operators that others run already.")
    added: list[str]
    together: list[str]
    at_once: bool
    considered: list[dict[str, Any]] = Field(description="Plans, the chosen one first.")


class QueryChange(Wishes):
    """What is to be another; what is not given stays as it is, and a wish that is null is taken back."""

    select: Text | None = None


class Query(BaseModel):
    """A query, what it asked for and what it gets."""

    model_config = ConfigDict(extra="allow")
    name: str
    select: str | None = Field(None, description="As it was written; null of one that was given as a plan.")
    columns: list[Column]
    reads: list[str]
    qos: dict[str, float | None]
    state: str = "scheduled"
    rows: int = 0


class Stop(Body):
    """Whether open windows are put out first."""

    drain: bool = False


class Explanation(BaseModel):
    """How a query runs, as `EXPLAIN` says it."""

    text: str
    columns: list[str]
    rows: list[list[str]]


class Results(BaseModel):
    """Rows behind a position, or before one: go on behind `next`, and back before `first`."""

    columns: list[Column]
    rows: list[dict[str, Any]]
    first: str | None
    next: str | None
    more: bool


class Subscription(BaseModel):
    """A name under which the server keeps how far results were taken."""

    name: str
    position: str


class Acknowledged(Body):
    """Up to where results were taken."""

    position: Annotated[str, Field(max_length=40)]


# --- scheduling ---


class Scheduling(BaseModel):
    """How everything is scheduled."""

    policy: str
    scheduling: str


class SchedulingChange(Body):
    """Another policy, another way to divide the graph among threads, or both."""

    policy: str | None = Field(None, max_length=1000)
    scheduling: str | None = Field(None, max_length=100)


class PartitionChange(Body):
    """What one thread runs under `hmts`, and how; what is not said stays as it was."""

    queries: list[str] | None = None
    operators: list[str] | None = None
    policy: str | None = Field(None, max_length=1000)
    priority: float | None = None


# --- administration ---


class Limits(Body):
    """The most that a namespace may use; null is no limit of its own."""

    queries: Annotated[int, Field(ge=0, le=10**9)] | None = None
    rows_per_s: Annotated[float, Field(ge=0, le=1e12)] | None = None
    memory: Value | None = None
    weight: Annotated[float, Field(ge=0, le=1e12)] | None = None


class Namespace(BaseModel):
    """A team's own names, and the most that it may use."""

    name: str
    queries: int | None = None
    rows_per_s: float | None = None
    memory_bytes: int | None = None
    weight: float | None = None


class Usage(BaseModel):
    """What a namespace uses now."""

    namespace: str
    queries: int
    rows_per_s: float
    memory_bytes: float
    weight: float
    processor_s: float = Field(0.0, description="Spark's time that its queries were charged, by rows.")


class NewToken(Body):
    """A token to be made."""

    role: Literal["viewer", "operator", "admin"]
    namespace: str | None = Field(None, max_length=32)
    name: str = Field("", max_length=200, description="What it is for.")
    expires: str | None = Field(None, max_length=100, description="After so long, as '30 days'.")


class Token(BaseModel):
    """What is known of a token; `token` is its secret, told once."""

    id: str
    role: str
    namespace: str
    name: str
    created_s: float
    expires_s: float | None = None
    token: str | None = None


class Patience(Body):
    """How long to wait, in seconds."""

    timeout: Annotated[float, Field(ge=0, le=60)] = 10.0


class Settled(BaseModel):
    """Whether all rows that came in are processed."""

    settled: bool
