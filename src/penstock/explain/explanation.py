"""All there is to say about the queries of a SQL text before they run.

The statements are applied one after the other, as a server would. Each created query is planned and merged
into the graph of those before it; EXPLAIN plans one against the graph as it is then and leaves it out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from penstock.errors import PenstockError, SqlError
from penstock.explain.describing import QueryExplained, described, plan_nodes
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.query import Query
from penstock.plan import document
from penstock.plan.admission import admit
from penstock.plan.costing import Costed, Costing
from penstock.plan.shared.templates import Templates
from penstock.plan.shared.together import Running, admitted
from penstock.plan.sharing import remove
from penstock.plan.text import operator_text
from penstock.policies.costs import input_rates, port_rate, unit_cost
from penstock.policies.layout import lay_out
from penstock.policies.parsing import MAKERS, parse
from penstock.policies.policy import Policy
from penstock.policies.registry import DEFAULT
from penstock.sql.binding.catalog import Catalog
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import (
    AlterQuery,
    CreatePlanned,
    CreateQuery,
    Drop,
    Explain,
    SetPolicy,
    Show,
    Statement,
    StopQuery,
)
from penstock.sql.session import Answer, Step, steps

_HERE = Path()


@dataclass(frozen=True, slots=True)
class UnitExplained:
    """A unit of the cut: its operators, rows that enter per second, and what they cost and yield."""

    operators: tuple[str, ...]
    rate_in: float
    row_s: float
    selectivity: float

    @property
    def cpu_s_per_s(self) -> float:
        """Processor seconds it takes per second."""
        return self.rate_in * self.row_s


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the statements said, in their order, and the graph they leave behind with its cut.

    `texts` has each operator of the graph as the first query that brought it would write it. `separate` is
    how many operators the queries would have if nothing were shared. The graph is the one that would run, in
    which queries that differ in constants are one; `members` says which those are.
    """

    said: tuple[Answer | QueryExplained, ...]
    graph: Graph
    texts: Mapping[str, str]
    costs: Mapping[str, Costed]
    policy: str
    units: tuple[UnitExplained, ...]
    separate: int
    members: Mapping[str, tuple[str, ...]]

    @property
    def queries(self) -> tuple[QueryExplained, ...]:
        """Those that were explained, created or not."""
        return tuple(one for one in self.said if isinstance(one, QueryExplained))

    @property
    def cpu_s_per_s(self) -> float:
        """Processor seconds the whole graph takes per second."""
        return sum(self.costs[name].cpu_s_per_s for name in self.graph.operators)

    @property
    def memory_bytes(self) -> float:
        """What all windows hold."""
        return sum(self.costs[name].memory_bytes for name in self.graph.operators)


#: Looks at a statement of a text, with the catalog as it leaves it and where its file is.
Check: TypeAlias = Callable[[Statement, Catalog, str, Path], None]


def _accept(_statement: Statement, _catalog: Catalog, _sql: str, _place: Path) -> None:
    """Whatever means something can be run."""


def explain(sql: str, policy: str | None = None, now_s: float = 0.0) -> Explanation:
    """Applies a text's statements; `policy` goes before what the text sets.

    Raises SqlError with the place, or another PenstockError that begins with the statement's line.
    """
    chosen = parse(policy) if policy is not None else None
    telling = _Telling(now_s)
    telling.tell_all(sql)
    return _explanation(telling, chosen)


def explain_files(
    files: Sequence[str], policy: str | None = None, now_s: float = 0.0, check: Check = _accept
) -> Explanation:
    """Explains files one after the other, `-` being standard input; an error begins with the file's name.

    `check` refuses what means something, but could not be run.
    """
    chosen = parse(policy) if policy is not None else None
    telling = _Telling(now_s, check)
    for file in files:
        name = "standard input" if file == "-" else file
        try:
            telling.tell_all(_text_of(file), Path() if file == "-" else Path(file).parent)
        except SqlError as error:
            raise PenstockError(f"{name}: {error}") from None  # its place is in the text by now
        except PenstockError as error:
            raise type(error)(f"{name}: {error}") from None
    return _explanation(telling, chosen)


def _text_of(file: str) -> str:
    try:
        return (sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode("utf-8-sig")
    except OSError as error:
        raise PenstockError(f"cannot read it: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PenstockError(
            f"cannot read it: byte {error.start + 1} is not UTF-8; save it as UTF-8"
        ) from None


def _explanation(telling: _Telling, chosen: Policy | None) -> Explanation:
    chosen = chosen or parse(telling.catalog.policy or DEFAULT)
    rates = telling.catalog.rates()
    running = [telling.catalog.queries[name] for name in telling.graph.queries]
    nothing = Running(Graph(), {}, {}, frozenset(), frozenset())
    found = admitted(running, nothing, Templates(), rates, since=0)
    graph = found.graph
    members = {name: tuple(query for query, _ in whom) for name, whom in found.members.items()}
    costs = graph_costs(graph, rates)
    estimates = Estimates({name: costs[name].estimate for name in graph.operators}, rates)
    inflow = input_rates(graph, estimates)
    units = []
    for place in lay_out(graph, chosen.cut.cut(graph, estimates)).places if graph.operators else ():
        ports = {edge.port for edge in place.entries}
        cost = unit_cost(graph, estimates, inflow, place)
        rate = sum(port_rate(graph, estimates, inflow, port) for port in ports)
        units.append(UnitExplained(place.unit.operators, rate, cost.row_s, cost.selectivity))
    apart = telling.graph
    scheduled = set(apart.operators)
    separate = sum(name in scheduled for used in apart.members.values() for name in used)
    said = tuple(_as_it_runs(one, members) for one in telling.said)
    new = {name: operator_text(node.operator) for name, node in graph.nodes.items()}
    texts = MappingProxyType({**new, **telling.texts})
    return Explanation(said, graph, texts, costs, chosen.text, tuple(units), separate, members)


def _as_it_runs(
    one: Answer | QueryExplained, members: Mapping[str, tuple[str, ...]]
) -> Answer | QueryExplained:
    """A query with those that it runs as one with."""
    if isinstance(one, QueryExplained) and one.registered:
        for runs_as, together in members.items():
            if one.written.name in together:
                return replace(one, runs_as=runs_as, together=together)
    return one


def graph_costs(graph: Graph, rates: Mapping[str, float]) -> Mapping[str, Costed]:
    """Every node of the graph costed at its place, each once."""
    costing = Costing(rates)
    return {name: costing.of(node) for name, node in plan_nodes(graph, graph.nodes).items()}


class _Telling:
    """The catalog and the graph after each statement, and what has been said so far."""

    def __init__(self, now_s: float, check: Check = _accept) -> None:
        self._check = check
        self.catalog = Catalog()
        self.graph = Graph()
        self.said: list[Answer | QueryExplained] = []
        self.texts: dict[str, str] = {}
        self._now_s = now_s
        self._plans: dict[str, QueryExplained] = {}

    def tell_all(self, sql: str, place: Path = _HERE) -> None:
        """Applies all statements of a text; an error that does not know its place gets its line."""
        for statement in read(sql):
            try:
                self.tell(statement, sql)
                self._check(statement, self.catalog, sql, place)
            except SqlError:
                raise
            except PenstockError as error:
                line = sql.count("\n", 0, statement.span.start) + 1
                raise type(error)(f"line {line}: {error}") from None

    def tell(self, statement: Statement, sql: str) -> None:
        """Applies one statement."""
        for step in steps(self.catalog, statement, sql, self._now_s, document.read):
            self._tell(step)

    def _tell(self, step: Step) -> None:
        before, answer = self.catalog, step.answer
        self.catalog = step.after
        if step.answers:
            self.said.append(answer)
        match step.statement:
            case SetPolicy(policy=policy):
                parse(policy)
            case Show(what="policies"):
                rows = tuple((name, "set" if name == self.catalog.policy else "") for name in MAKERS)
                self.said[-1] = Answer(f"{len(rows)} policies", ("policy", ""), rows)
            case CreateQuery() | CreatePlanned() if answer.query is not None:
                self.said[-1] = self._register(answer.query)
            case Explain() if answer.query is not None:
                self.said[-1] = self._explained(answer.query)
            case AlterQuery(name=name):
                self._alter(_called(name, before))
            case StopQuery(name=name) | Drop(kind="query", name=name):
                self._remove(_called(name, before))

    def _register(self, query: Query) -> QueryExplained:
        admission = admit(self.graph, query, self.catalog.rates())
        explained = described(query, admission, self.graph, self.catalog.rates(), registered=True)
        for one in explained.operators:
            self.texts.setdefault(one.name, one.text)
        self.graph = admission.graph
        self._plans[query.name] = explained
        return explained

    def _explained(self, query: Query) -> QueryExplained:
        """A query that runs has its plan; another is planned as if it came now."""
        known = self._plans.get(query.name)
        if known is not None and query.name in self.graph.queries:
            others = remove(self.graph, query.name)
            operators = (replace(one, shared_with=others.users.get(one.name, ())) for one in known.operators)
            chosen = replace(known.chosen, qos=query.qos)
            return replace(known, written=query, chosen=chosen, operators=tuple(operators))
        admission = admit(self.graph, query, self.catalog.rates())
        return described(query, admission, self.graph, self.catalog.rates())

    def _alter(self, name: str) -> None:
        if name not in self.graph.queries:
            return
        changed = replace(self.graph.queries[name], qos=self.catalog.queries[name].qos)
        queries = MappingProxyType({**self.graph.queries, name: changed})
        self.graph = Graph(self.graph.nodes, queries, self.graph.members)

    def _remove(self, name: str) -> None:
        if name in self.graph.queries:
            self.graph = remove(self.graph, name)


def _called(name: str, catalog: Catalog) -> str:
    """The query's name as it was created; upper and lower case are the same."""
    return next((known for known in catalog.queries if known.lower() == name.lower()), name)
