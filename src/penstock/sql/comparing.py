"""How two definitions of one name differ, and what of it can be changed while rows flow.

A difference reads `what old -> new`. `fixed` are those that nothing but another stream, query or sink can
have: rows and results that are there already were made by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.model.functions import PythonFunction
from penstock.model.operators import output_schema
from penstock.model.qos import QoS
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Field, Schema
from penstock.sql.binding.catalog import Catalog, Delivery, Partition, Stream, Table, View
from penstock.sql.reading.statements import Moment
from penstock.sql.text.quantities import shown_bytes, shown_seconds

#: Options of a stream that say when its rows come.
PACE = ("rate", "poisson", "schedule", "repeat", "trace", "trace_column", "times", "speedup")
#: Options of a stream that can be set while rows flow.
CHANGEABLE = (*PACE, "idle", "retention")


@dataclass(frozen=True, slots=True)
class Differences:
    """How a definition differs from the one before.

    `options` are those of a stream that can be set, `columns` those it has more; `wishes` are a query's.
    """

    options: Mapping[str, str | None] = field(default_factory=dict)
    columns: tuple[Field, ...] = ()
    wishes: Mapping[str, Any] = field(default_factory=dict)
    select: bool = False
    texts: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.texts or self.fixed)

    def __str__(self) -> str:
        return ", ".join((*self.texts, *self.fixed))


def of_streams(old: Stream, new: Stream) -> Differences:
    """Between two streams."""
    texts: list[str] = []
    fixed: list[str] = []
    if old.format != new.format:
        fixed.append(f"format {old.format} -> {new.format}")
    options: dict[str, str | None] = {}
    for name in dict.fromkeys((*old.options, *new.options)):
        before, after = old.options.get(name), new.options.get(name)
        if before != after:
            text = f"{name} {_shown(before)} -> {_shown(after)}"
            if name in CHANGEABLE:
                options[name] = after
                texts.append(text)
            else:
                fixed.append(text)
    added = new.schema.fields[len(old.schema.fields) :]
    if (*old.schema.fields, *added) != new.schema.fields:
        fixed.append(f"columns ({old.schema}) -> ({new.schema})")
    elif added:
        texts.append(f"added {Schema(added)}")
    if (old.time, old.delay_s) != (new.time, new.delay_s):
        fixed.append(f"watermark {_watermark(old)} -> {_watermark(new)}")
    return Differences(options, added, texts=tuple(texts), fixed=tuple(fixed))


def of_tables(old: Table, new: Table) -> Differences:
    """Between two stored tables; none of them can be made."""
    fixed = []
    if old.schema != new.schema:
        fixed.append(f"columns ({old.schema}) -> ({new.schema})")
    return Differences(fixed=(*fixed, *_ways(old, new)))


def of_views(old: View, new: View) -> Differences:
    """Between two views."""
    same = old.relation == new.relation and old.of == new.of
    return Differences() if same else Differences(select=True, texts=("another SELECT",))


def of_sinks(old: Delivery, new: Delivery) -> Differences:
    """Between two sinks: one of them is made anew."""
    texts = [f"query {old.query} -> {new.query}"] if old.query != new.query else []
    return Differences(texts=(*texts, *_ways(old, new)))


def of_functions(old: PythonFunction, new: PythonFunction) -> Differences:
    """Between two functions; none of them can be made while something calls it, so it is never done."""
    pairs = (
        ("", str(old), str(new)),
        ("at ", old.target or "registered from Python", new.target or "registered from Python"),
        ("timeout ", shown_seconds(old.timeout_s), shown_seconds(new.timeout_s)),
        ("memory ", shown_bytes(old.memory_bytes), shown_bytes(new.memory_bytes)),
        ("", *("aggregate" if one.aggregate else "of one row" for one in (old, new))),
    )
    return Differences(fixed=tuple(f"{what}{was} -> {now}" for what, was, now in pairs if was != now))


def of_partitions(old: Partition, new: Partition) -> Differences:
    """Between what one thread runs."""
    texts = []
    if (old.queries, old.operators) != (new.queries, new.operators):
        texts.append(f"runs {_listed(old)} -> {_listed(new)}")
    if old.policy != new.policy:
        texts.append(f"policy {_shown(old.policy)} -> {_shown(new.policy)}")
    if old.priority != new.priority:
        texts.append(f"priority {old.priority:g} -> {new.priority:g}")
    return Differences(texts=tuple(texts))


def of_queries(before: Catalog, after: Catalog, name: str) -> Differences:
    """Between what a query is in two catalogs."""
    old, new = before.queries[name], after.queries[name]
    wishes = {
        one: getattr(new.qos, one)
        for one in QoS.__dataclass_fields__
        if getattr(old.qos, one) != getattr(new.qos, one)
    }
    texts = [f"{_WISHES[one][0]} {_wish(old, one)} -> {_wish(new, one)}" for one in wishes]
    fixed = []
    if old.one_time != new.one_time:
        kinds = [("one-time" if one.one_time else "continuous") for one in (old, new)]
        fixed.append(" -> ".join(kinds))
    if old.windows != new.windows:
        counts = [str(one.windows or "any number of") for one in (old, new)]
        fixed.append(f"windows {' -> '.join(counts)}")
    if old.on_error != new.on_error:
        fixed.append(f"on_error {old.on_error} -> {new.on_error}")
    for what, was, now in zip(("start", "stop"), before.times(name), after.times(name), strict=True):
        if was != now:
            fixed.append(f"{what} {_moment(was)} -> {_moment(now)}")
    select = old.root != new.root
    if select and columns_of(old.root) != columns_of(new.root):
        fixed.append(f"columns ({columns_of(old.root)}) -> ({columns_of(new.root)})")
    elif select:
        texts.append("another SELECT")
    return Differences(wishes=wishes, select=select, texts=tuple(texts), fixed=tuple(fixed))


#: How something differs that makes no sense as things are.
UNREADABLE = Differences(fixed=("another definition",))


def stays(what: str, differences: Differences) -> str:
    """What IF NOT EXISTS says of something that exists."""
    if not differences:
        return f"{what} exists already"
    return f"{what} exists already and stays as it is, though this differs: {differences}"


def unchangeable_query(name: str, differences: Differences) -> str:
    """Why a query cannot become another while it runs, and what to do."""
    what = ", ".join(differences.fixed)
    return (
        f"query '{name}' cannot become that while it is there: {what}; drop it first, or choose another name"
    )


def keeps_plan(catalog: Catalog, views: Iterable[str]) -> str:
    """Which queries and views were made from these, and go on with the plan that they have."""
    named = frozenset(views)
    others = [f"view '{view.name}'" for view in catalog.views.values() if view.of & named]
    users = [f"query '{query}'" for query, reads in catalog.reads.items() if reads & named] + others
    if not users:
        return ""
    keep = "keeps its plan" if len(users) == 1 else "keep their plans"
    return f"; {', '.join(users)} {keep}"


def schema_of(root: PlanNode) -> Schema:
    """The columns of a plan's result."""
    schemas: dict[int, Schema] = {}
    for node in root.post_order():
        schemas[id(node)] = output_schema(node.operator, tuple(schemas[id(child)] for child in node.children))
    return schemas[id(root)]


def columns_of(root: PlanNode) -> str:
    """The columns of a plan's result, as text."""
    return ", ".join(f"{one.name} {one.type}" for one in schema_of(root).fields)


def _ways(old: Table | Delivery, new: Table | Delivery) -> list[str]:
    """Differences between formats and options."""
    found = [f"format {old.format} -> {new.format}"] if old.format != new.format else []
    return found + [
        f"{name} {_shown(old.options.get(name))} -> {_shown(new.options.get(name))}"
        for name in dict.fromkeys((*old.options, *new.options))
        if old.options.get(name) != new.options.get(name)
    ]


def _shown(value: str | None) -> str:
    return "none" if value is None else value


def _watermark(stream: Stream) -> str:
    return "none" if stream.time is None else f"{stream.time} - {shown_seconds(stream.delay_s)}"


def _listed(partition: Partition) -> str:
    return ", ".join((*partition.queries, *partition.operators)) or "the rest"


def _moment(moment: Moment | None) -> str:
    if moment is None:
        return "none"
    return f"{moment.seconds:g} s" if moment.relative else f"at {moment.seconds:.0f} s of the calendar"


def _wish(query: Query, name: str) -> str:
    value = getattr(query.qos, name)
    return "none" if value is None else _WISHES[name][1](value)


#: The wishes by the fields of QoS, and how each is shown.
_WISHES: Mapping[str, tuple[str, Any]] = {
    "latency_s": ("latency", shown_seconds),
    "memory_bytes": ("memory", shown_bytes),
    "throughput_per_s": ("throughput", lambda value: f"{value:g}/s"),
    "freshness": ("freshness", lambda value: f"{value:.0%}"),
    "weight": ("weight", lambda value: f"{value:g}"),
    "tolerance": ("tolerance", lambda value: f"{value:.0%}"),
}
