"""Units as Spark SQL: for each part of a unit that one job can do, its inputs, its text and its outputs.

A job begins with rows: of the queues a unit reads, or of what a stateful operator releases. It takes them
through the operators above, until they leave the unit (into a queue or a sink) or come to a stateful
operator, which says what to keep of them. Several outputs of a job are one frame of rows with a tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.operators import stateless
from penstock.engines.spark.operators.base import (
    ARRIVED,
    LATE,
    ROW,
    TIME,
    Released,
    RowLayout,
    StatefulOperator,
)
from penstock.engines.spark.operators.layouts import Layouts, takes_late_rows
from penstock.engines.spark.steps import copied
from penstock.engines.spark.steps.copied import Kept, Output, Rows
from penstock.engines.spark.steps.rosters import BUCKET, FROM, STREAM, TO, Index, index_of
from penstock.engines.spark.steps.stages import REMEMBERED, Stage
from penstock.model.graph import Edge, Graph, Port
from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Operator,
    Project,
    Select,
    Sink,
    Source,
    Split,
    Union,
)
from penstock.model.schema import Field, Schema
from penstock.model.unit import Unit
from penstock.policies.layout import UnitPlace


@dataclass(frozen=True, slots=True)
class ToQueue:
    """Rows for the queue at a port."""

    port: Port


@dataclass(frozen=True, slots=True)
class ToSink:
    """Rows for a query's sink."""

    node: str
    query: str


@dataclass(frozen=True, slots=True)
class ToState:
    """Rows for a stateful operator to remember, of one of its inputs."""

    node: str
    slot: int


Target: TypeAlias = ToQueue | ToSink | ToState


@dataclass(frozen=True, slots=True)
class RosterUse:
    """An input that holds a roster; with an index, the input whose rows get the number of their bucket.

    `exact` says that rows know their offsets, so that each member gets them from where it began.
    """

    input: str
    roster: str
    exact: bool
    index: Index | None = None
    rows: str = ""

    @property
    def bucket(self) -> str:
        """The column with the bucket of a row."""
        return f"{BUCKET}_{self.input}"


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What one job of a unit does: SQL over inputs, and where what comes out goes."""

    released: Released
    targets: Mapping[Target, Output]
    relations: Mapping[str, str]  # inputs that hold stored relations, by the relation's name
    rosters: tuple[RosterUse, ...]
    together: bool  # whether rows must meet in one partition
    numbered: tuple[str, ...] = ()  # inputs whose rows are numbered, for copies
    stages: tuple[Stage, ...] = ()
    named: tuple[str, ...] = ()  # the named SELECTs of its text, in the order of stages
    ends: Mapping[Target, str] = field(default_factory=dict)  # the stage that each target gets
    selects: Mapping[Target, str] = field(default_factory=dict)  # the text for each target by itself

    @property
    def needs_job(self) -> bool:
        """Whether there is anything to compute."""
        return any(output.needs_job for output in self.targets.values())

    def inputs(self, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """What goes in, with the numbers of rows."""
        given = dict(tables)
        for name in self.numbered:
            numbers = pa.array(np.arange(given[name].num_rows, dtype=np.int32))
            given[name] = given[name].append_column(ROW, numbers)
        return given

    def without_job(self, given: Mapping[str, pa.Table]) -> dict[Target, pa.Table]:
        """What would come out of a job that has nothing to compute, by where it goes."""
        return {target: output.without_job(given) for target, output in self.targets.items()}

    def outputs(self, table: pa.Table, given: Mapping[str, pa.Table]) -> dict[Target, pa.Table]:
        """What came out of what was given, by where it goes."""
        return {
            target: self.targets[target].whole(rows, given) for target, rows in self._apart(table).items()
        }

    def _apart(self, table: pa.Table) -> dict[Target, pa.Table]:
        if len(self.targets) == 1:
            return dict.fromkeys(self.targets, table)
        found = {}
        for tag, target in enumerate(self.targets):
            rows = table.filter(pc.equal(table["tag"], tag))
            column = rows[f"o{tag}"].combine_chunks()
            if isinstance(column, pa.ChunkedArray):
                column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
            names = [one.name for one in column.type]
            found[target] = pa.Table.from_arrays(column.flatten(), names=names)
        return found


@dataclass(frozen=True, slots=True)
class Compiler:
    """Makes the parts of one unit."""

    graph: Graph
    place: UnitPlace
    layouts: Layouts
    stateful: Mapping[str, StatefulOperator]
    one_task: bool = True  # whether a job is one task, which Spark has to be told

    def entry(self, edges: tuple[Edge, ...]) -> JobPlan:
        """The job over rows of queues, those that these edges read."""
        if not self.one_task:
            return self._entry(edges, numbered=False)
        part = self._entry(edges, numbered=True)
        if any(output.copies for output in part.targets.values()):
            return part
        return self._entry(edges, numbered=False)

    def _entry(self, edges: tuple[Edge, ...], *, numbered: bool) -> JobPlan:
        text = _Text(self, numbered=numbered, one_task=self.one_task)
        for port, name in entry_inputs(edges).items():
            text.entering[port] = self.layouts.read_by(port, [edge for edge in edges if edge.port == port])
            columns = text.layout(port).columns
            text.inputs[name] = columns
            origins = {column: column for column in columns if column != ROW} if numbered else {}
            for edge in edges:
                if edge.port == port:
                    text.arriving[edge.reader, edge.slot] = Rows(name, name, origins, "all")
        return text.part()

    def release(self, node: str, variant: str) -> JobPlan:
        """The job over what a stateful operator releases."""
        text = _Text(self, numbered=False, one_task=self.one_task)
        released = self.stateful[node].released(variant)
        text.inputs.update(released.inputs)
        text.together = True
        names = text.layout(Port(node)).schema.names
        text._made(Port(node), text.add(released.sql), (), names, tuple(released.inputs))
        return text.part()


def alone(graph: Graph, query: str) -> UnitPlace:
    """All operators of a query as one unit that feeds its sink and nothing else."""
    members = set(graph.members[query])
    operators = tuple(name for name in graph.operators if name in members)

    def edges(names: Iterable[str]) -> list[Edge]:
        return [edge for name in names for edge in graph.edges[name] if edge.reader in members]

    sinks = [edge for name in operators for edge in graph.sinks[name] if edge.reader in members]
    streams = [name for name in graph.sources if name in members]
    return UnitPlace(Unit(operators), tuple(edges(streams)), (), frozenset(edges(operators)), tuple(sinks))


def entry_inputs(edges: tuple[Edge, ...]) -> dict[Port, str]:
    """The names that `Compiler.entry` gives to the queues of these edges."""
    return {port: f"q{n}" for n, port in enumerate(dict.fromkeys(edge.port for edge in edges))}


#: More than a step can have.
_ALL_ROWS = 2**31 - 1


@dataclass(slots=True)
class _Text:
    """SQL that grows from its inputs upwards."""

    of: Compiler
    numbered: bool  # whether rows have the numbers with which they went in
    one_task: bool = True
    inputs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    entering: dict[Port, RowLayout] = field(default_factory=dict)  # the ports whose rows begin the job
    arriving: dict[tuple[str, int], Rows] = field(default_factory=dict)
    outputs: dict[Target, tuple[str, Output]] = field(default_factory=dict)
    relations: dict[str, str] = field(default_factory=dict)
    rosters: list[RosterUse] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    together: bool = False
    stages: list[Stage] = field(default_factory=list)
    ends: dict[Target, str] = field(default_factory=dict)
    computed: dict[str, frozenset[str]] = field(default_factory=dict)  # columns by rows, which are no copies

    def layout(self, port: Port) -> RowLayout:
        """The columns at a port, within this job."""
        layout = self.entering[port] if port in self.entering else self.of.layouts.ports[port]
        return replace(layout, row=self.numbered)

    def add(
        self,
        select: str,
        of: Rows | None = None,
        origins: Mapping[str, str] | None = None,
        kept: Kept = "some",
    ) -> Rows:
        """One more named SELECT; `of` the rows it is made of, if those are of one input."""
        name = f"r{len(self.steps)}"
        self.steps.append(f"{name} AS ({select})")
        if not self.numbered or of is None:
            return Rows(name)
        return Rows(name, of.input, of.origins if origins is None else origins, kept)

    def put_out(self, target: Target, rows: Rows, columns: Sequence[Column]) -> None:
        """Columns of rows leave the job."""
        self.outputs[target] = copied.select(columns, rows)
        self.ends[target] = rows.name

    def emit(self, port: Port, rows: Rows) -> None:
        """Rows come out of a port: to operators of the unit, queues and sinks."""
        graph, place = self.of.graph, self.of.place
        for edge in graph.edges[port.node]:
            if edge.port == port and edge in place.direct:
                self.arriving[edge.reader, edge.slot] = rows
        if port in place.exits:
            self.put_out(ToQueue(port), rows, stateless.as_they_are(self.of.layouts.ports[port].columns))
        for edge in place.sinks:
            if edge.port == port:
                sink = graph.nodes[edge.reader].operator
                assert isinstance(sink, Sink)
                columns = stateless.delivered(sink.columns, self.of.layouts.ports[port])
                self.put_out(ToSink(edge.reader, sink.query), rows, columns)

    def part(self) -> JobPlan:
        """Takes the rows through all operators they reach, in order."""
        for name in self.of.place.unit.operators:
            node = self.of.graph.nodes[name]
            slots = [slot for slot in range(len(node.inputs)) if (name, slot) in self.arriving]
            if slots:
                self._operator(name, node.operator, slots)
        selects = [select for select, _ in self.outputs.values()]
        sql = selects[0] if len(selects) == 1 else _tagged(selects)
        begin = f"WITH {', '.join(self.steps)} " if self.steps else ""
        sql = begin + sql
        return JobPlan(
            Released(sql, self.inputs),
            {target: output for target, (_, output) in self.outputs.items()},
            self.relations,
            tuple(self.rosters),
            self.together,
            tuple(name for name, columns in self.inputs.items() if ROW in columns),
            tuple(self.stages),
            tuple(self.steps),
            self.ends,
            {target: begin + select for target, (select, _) in self.outputs.items()},
        )

    def _made(
        self,
        port: Port,
        rows: Rows,
        inputs: Sequence[str],
        computed: Iterable[str],
        beside: Sequence[str] = (),
        *,
        same_rows: bool = False,
    ) -> None:
        """Rows that an operator puts out: they go on, and how they were made is noted."""
        layout = self.layout(port)
        fields = (*layout.schema.fields, *(Field(name, "bigint") for name in layout.hidden if name != ROW))
        self.computed[rows.name] = frozenset(computed)
        self.stages.append(
            Stage(
                rows.name,
                port.node,
                port.output,
                tuple(inputs),
                tuple(beside),
                same_rows,
                tuple(name for name in layout.schema.names if name in self.computed[rows.name]),
                fields,
            )
        )
        self.emit(port, rows)

    def _computed(self, rows: Rows, names: Iterable[tuple[str, str]]) -> list[str]:
        """Which columns are no copies, under other names: pairs of old and new ones."""
        known = self.computed.get(rows.name, frozenset())
        return [new for old, new in names if old in known]

    def _operator(self, name: str, operator: Operator, slots: list[int]) -> None:
        below = [self.layout(port) for port in self.of.graph.nodes[name].inputs]
        rows = self.arriving[name, slots[0]]
        output = self.layout(Port(name))
        hidden = [(column, column) for column in output.hidden]
        match operator:
            case Select(predicate=predicate):
                made = self.add(stateless.select(predicate, rows.name, output), rows)
                self._made(Port(name), made, [rows.name], self.computed.get(rows.name, ()))
            case Project(columns=columns):
                origins = {**rows.through(columns), **rows.renamed(hidden)}
                select = stateless.project(columns, rows.name, output)
                known = self.computed.get(rows.name, frozenset())
                plain = {column.name: copied.plain_column(column.expression) for column in columns}
                computed = [new for new, old in plain.items() if old is None or old in known]
                made = self.add(select, rows, origins, rows.kept)
                self._made(Port(name), made, [rows.name], computed, same_rows=True)
            case Split(conditions=conditions):
                for number, condition in enumerate(conditions):
                    made = self.add(stateless.select(condition, rows.name, output), rows)
                    self._made(Port(name, number), made, [rows.name], self.computed.get(rows.name, ()))
            case Union(ordered=False):
                inputs = [(slot, self.arriving[name, slot].name, below[slot]) for slot in slots]
                names = zip(below[slots[0]].schema.names, output.schema.names, strict=True)
                kept = [(TIME, TIME), (ARRIVED, ARRIVED)]  # others may be this operator's
                origins = rows.renamed([*names, *kept])
                of = rows if len(slots) == 1 else None
                made = self.add(
                    stateless.union(inputs, output, one_task=self.one_task), of, origins, rows.kept
                )
                computed = [
                    new
                    for slot in slots
                    for new in self._computed(
                        self.arriving[name, slot],
                        zip(below[slot].schema.names, output.schema.names, strict=True),
                    )
                ]
                self._made(Port(name), made, [one for _, one, _ in inputs], computed, same_rows=True)
            case Join(relation=str(roster), roster=True):
                self.together = True
                exact = self.of.graph.nodes[name].inputs[0].node in self.of.layouts.logged
                use = self._roster(roster, operator, rows.name, below[0], exact=exact)
                tagged = self._tagged(use, operator, self._single(rows.name), below[0], output)
                pairs = [*zip(below[0].schema.names, output.schema.names, strict=False)]
                made = self.add(tagged, rows, rows.renamed([*pairs, *hidden]))
                self._made(Port(name), made, [rows.name], self._computed(rows, pairs), [use.input])
            case Join(relation=str(relation)):
                self.together = True
                stored = self._relation(relation, operator)
                select = stateless.join_relation(operator, self._single(rows.name), stored, below[0], output)
                pairs = [*zip(below[0].schema.names, output.schema.names, strict=False)]
                made = self.add(select, rows, rows.renamed([*pairs, *hidden]))
                self._made(Port(name), made, [rows.name], self._computed(rows, pairs), [stored])
            case Aggregate() | Join() | Union():
                for slot in slots:
                    self._remember(name, slot, below[slot])
            case Source() | Sink():
                raise AssertionError("streams and sinks are not scheduled")
            case _:
                assert_never(operator)

    def _single(self, rows: str) -> str:
        """Rows for a join, in one partition and of a size that Spark believes.

        It takes what comes out of a join to be as large as its inputs multiplied, too large for one partition
        however much that may hold. A limit that no step reaches puts an end to that.
        """
        if rows in self.inputs or not self.one_task:
            return rows
        return f"(SELECT /*+ COALESCE(1) */ * FROM (SELECT * FROM {rows} LIMIT {_ALL_ROWS}))"

    def _relation(self, relation: str, join: Join) -> str:
        if relation not in self.relations:
            name = self.relations[relation] = f"t{len(self.relations)}"
            self.inputs[name] = (*join.relation_schema.names, stateless.FROM, stateless.TO)
        return self.relations[relation]

    def _roster(self, roster: str, join: Join, rows: str, below: RowLayout, *, exact: bool) -> RosterUse:
        """A roster as an input, with an index if the rows are one, too."""
        constants = Schema(join.relation_schema.fields[1:])
        index = index_of(join.condition, constants, below.schema) if rows in self.inputs else None
        use = RosterUse(f"m{len(self.rosters)}", roster, exact, index, rows if index is not None else "")
        self.rosters.append(use)
        columns = (*join.relation_schema.names, *((STREAM, FROM, TO) if exact else ()))
        if index is not None:
            columns = (*columns, BUCKET)
            self.inputs[rows] = (*self.inputs[rows], use.bucket)
        self.inputs[use.input] = columns
        return use

    def _tagged(self, use: RosterUse, join: Join, rows: str, below: RowLayout, output: RowLayout) -> str:
        """A join with a roster."""
        tests, mine, theirs = [], [], []
        if use.index is not None:
            tests.append(f"{use.bucket} = {BUCKET}")
            mine.append(use.bucket)
            theirs.append(BUCKET)
        if use.exact:
            tests += [f"__o0 = {STREAM}", f"{FROM} <= __o1", f"__o1 < {TO}"]
            theirs += [STREAM, FROM, TO]
        return stateless.join_roster(join, (rows, mine), (use.input, theirs), below, output, tests)

    def _remember(self, name: str, slot: int, below: RowLayout) -> None:
        columns = self.of.layouts.inputs[name, slot].columns
        decides = takes_late_rows(self.of.graph.nodes[name].operator)
        on_time = f" WHERE {LATE} IS NULL" if below.late and not decides else ""
        arriving = self.arriving[name, slot]
        listed = stateless.listed((*columns, *((ROW,) if self.numbered else ())))
        kept: Kept = "on time" if on_time and arriving.kept != "some" else arriving.kept
        rows = self.add(f"SELECT {listed} FROM {arriving.name}{on_time}", arriving, kept=kept)
        select = self.of.stateful[name].remember(slot, rows.name)
        taken = Stage(rows.name, name, REMEMBERED, (arriving.name,), same_rows=True)
        if select is None:
            self.put_out(ToState(name, slot), rows, stateless.as_they_are(columns))
            known = self.computed.get(arriving.name, frozenset())
            self.stages.append(replace(taken, computed=tuple(one for one in columns if one in known)))
        else:
            self.together = True
            self.outputs[ToState(name, slot)] = select, Output(())
            self.stages.append(taken)
            folded = f"k{len(self.stages)}"
            self.stages.append(Stage(folded, name, REMEMBERED, (rows.name,), select=select))
            self.ends[ToState(name, slot)] = folded


def _tagged(selects: list[str]) -> str:
    """Several outputs as one frame: each row has one struct that is not NULL, and its number."""
    branches = []
    for tag, select in enumerate(selects):
        others = ", ".join(f"struct(*) AS o{n}" if n == tag else f"NULL AS o{n}" for n in range(len(selects)))
        branches.append(f"SELECT {tag} AS tag, {others} FROM ({select})")
    return " UNION ALL ".join(branches)
