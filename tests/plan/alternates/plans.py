"""Small plans that rules apply to: a short way to write them, and for each rule some that it rewrites."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.operators import Aggregate, Column, Join, Project, Select, Sink, Source, Split, Union
from penstock.model.query import PlanNode
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.alternates.rules import AT_ROOT, REORDERING
from penstock.plan.alternates.safety import below_order
from penstock.plan.alternates.space import Rule, Space
from penstock.sql.expressions.windowing import within

WINDOW_TYPE = "struct<start:timestamp,end:timestamp>"


def stream(name: str, value: str, **more: str) -> PlanNode:
    """A stream with a time `t`, an `id`, a double of that name, and a string `s`."""
    schema = Schema.of(t="timestamp", id="int", **{value: "double"}, s="string", **more)
    return PlanNode(Source(name, schema, time="t"))


A, B, C, D = stream("a", "x"), stream("b", "y"), stream("c", "z"), stream("d", "v")
#: A stream that ends.
ENDING = PlanNode(Source("e", Schema.of(id="int", x="double", s="string"), endless=False))
#: Like B, under other names.
OTHER = PlanNode(
    Source("o", Schema.of(time="timestamp", no="int", value="double", text="string"), time="time")
)
NAMES = Schema.of(id="int", name="string", w="double")
PLACES = Schema.of(s="string", place="string")

TEN, FIVE = Window.seconds(10, on="t"), Window.seconds(5, on="t")
TUMBLING = Window.seconds(20, hop=10, on="t")


def select(predicate: str, below: PlanNode, port: int = 0) -> PlanNode:
    return PlanNode(Select(predicate), (below,), (port,) if port else ())


def project(below: PlanNode, **columns: str) -> PlanNode:
    """`project(A, y="x + 1")`: computed columns are doubles unless the name ends in a type, as in `n_int`."""
    made = tuple(Column(name, text, _type(name, text, below)) for name, text in columns.items())
    return PlanNode(Project(made), (below,))


def _type(name: str, text: str, below: PlanNode) -> str | None:
    if Space().schema(below).get(text) is not None:
        return None
    kind = name.rpartition("_")[2]
    return kind if kind in ("int", "bigint", "string", "boolean") else "double"


def union(*below: PlanNode) -> PlanNode:
    return PlanNode(Union(), below)


def join(
    condition: str,
    left: PlanNode,
    right: PlanNode,
    windows: tuple[Window | None, Window | None] = (TEN, FIVE),
    type: str = "inner",
) -> PlanNode:
    return PlanNode(Join(condition, *windows, type=type), (left, right))  # type: ignore[arg-type]


def lookup(
    condition: str, below: PlanNode, relation: str = "names", schema: Schema = NAMES, type: str = "inner"
) -> PlanNode:
    return PlanNode(
        Join(condition, relation=relation, relation_schema=schema, type=type),  # type: ignore[arg-type]
        (below,),
    )


#: Types of aggregates, where they are no doubles.
_TYPES = {"count": "bigint", "count_if": "bigint", "window": WINDOW_TYPE, "bool_or": "boolean"}


def aggregate(below: PlanNode, keys: str = "", window: Window | None = TUMBLING, **columns: str) -> PlanNode:
    """`aggregate(A, "s", m="avg(x)")`."""
    made = tuple(
        Column(name, text, "bigint" if text == "sum(id)" else _TYPES.get(text.partition("(")[0], "double"))
        for name, text in columns.items()
    )
    return PlanNode(Aggregate(tuple(keys.split()), made, window), (below,))


def sink(below: PlanNode, **columns: str) -> PlanNode:
    return PlanNode(Sink("q", tuple(Column(name, text) for name, text in columns.items())), (below,))


def pairs(*streams: tuple[str, float], upper: tuple[str, float]) -> str:
    """What the windows of a stream and of those joined before say, as a condition."""
    texts = []
    for name, width_s in streams:
        texts += [within(upper[0], name, width_s), within(name, upper[0], upper[1])]
    return " AND ".join(texts)


AB = join("id = right_id", A, B)
#: Three streams, joined one after the other.
ABC = join(
    "id = right_right_id AND " + pairs(("t", 10), ("right_t", 5), upper=("right_right_t", 8)),
    AB,
    C,
    (Window.seconds(10), Window.seconds(8, on="t")),
)
#: Four, joined in pairs.
CD = join("right_s = s", C, D, (FIVE, FIVE))
BUSHY = join(
    "id = right_right_id AND "
    + pairs(("t", 10), ("right_t", 5), upper=("right_right_t", 5))
    + " AND "
    + pairs(("t", 10), ("right_t", 5), upper=("right_right_right_t", 5)),
    AB,
    CD,
    (Window.seconds(10), Window.seconds(5)),
)
SPLIT = PlanNode(Split(("x > 0", "x <= 1")), (A,))
SHARED = select("x > 0 AND s <> 'b'", A)

#: By the rule's name.
CASES: dict[str, tuple[PlanNode, ...]] = {
    "split_select": (
        select("x > -1 AND s <> 'a' AND id > -2", A),
        select("x > 0 AND (s = 'a' OR id > 1)", SPLIT, 1),
    ),
    "merge_selects": (
        select("id > 0 OR s = 'a'", select("x > 0", A)),
        select("id > 0", select("s <> 'a' AND x > -1", SPLIT, 1)),
    ),
    "order_selects": (
        select("s = 'a'", select("x > 0", A)),
        select("s = 'a'", select("x > 0 OR id > 1", SPLIT, 1)),
    ),
    "push_select_through_project": (
        select("y > 1 AND k = 'a'", project(A, k="s", y="x * 2")),
        select("w.start > TIMESTAMP '2026-01-01 00:01:00'", project(aggregate(A, w="window()"), w="w")),
        select("k_boolean OR y IS NULL", project(A, k_boolean="s = 'a' OR id = 1", y="x")),
    ),
    "push_select_through_union": (
        select("x > 0 AND s = 'a'", union(A, OTHER, B)),
        select("1 / (x + 100) > 0", union(A, PlanNode(SPLIT.operator, SPLIT.children))),
    ),
    "push_select_through_join": (
        select("x > -1 AND right_s <> 'a' AND x < y AND s <> 'b'", AB),
        select("x > 0 AND y > 0", join("id = right_id", A, B, type="left")),
        select("x > 0 AND y > 0", join("id = right_id", A, B, type="right")),
        join("id = right_id AND x > 0 AND y > 0 AND s = right_s", A, B),
        join("id = right_id AND x > 0 AND y > 0", A, B, type="left"),
        join("id = right_id AND x > 0 AND y > 0", A, B, type="right"),
        select("x > 0 AND right_s = 'a'", join("id = right_id", A, B, (Window.rows(3), TEN))),
        select("x > 0 AND w > 0", lookup("id = right_id AND s = 'a'", A)),
        select("x > 0 AND w > 0", lookup("id = right_id", A, type="left")),
        select("x > 0", join("id = right_id", A, A)),
        select(
            "x > 0 AND y > 0",
            join(
                "id = right_id",
                A,
                B,
                (Window.seconds(20, hop=10, on="t"), Window.seconds(20, hop=10, on="t")),
            ),
        ),
    ),
    "push_select_through_aggregate": (
        select("s = 'a' AND n > 1 AND id IS NULL", aggregate(A, "s id", n="count(*)", w="window()")),
        select("s = 'a'", aggregate(A, "s", Window.session(7, on="t"), n="count(*)", w="window()")),
        select(
            "s <> 'a'",
            aggregate(aggregate(A, "s id", n="count(*)", w="window()"), "s", Window.given("w"), m="max(n)"),
        ),
    ),
    "order_joins": (
        AB,
        join("id = right_id AND x < y", A, B, type="full"),
        ABC,
        BUSHY,
        lookup("s = right_s", lookup("id = right_id AND w > 0", A), "places", PLACES),
    ),
    "merge_aggregate_project": (
        aggregate(project(A, k="s", y="x * 2", t="t"), "k", m="max(y)", n="count(y)", w="window()"),
        aggregate(project(A, k="s", time="t", x="x"), "k", Window.rows(3), m="sum(x)"),
        aggregate(project(A, time="t", x="x"), "", Window.seconds(20, on="time"), n="count(*)"),
    ),
    "merge_projects": (
        project(
            project(A, y="x * 2", k="s", b_boolean="x > 0 OR id = 1"), z="y * 3", b_boolean="NOT b_boolean"
        ),
        project(project(aggregate(A, w="window()"), v="w"), start="v.start"),
    ),
    "push_aggregate_through_union": (
        aggregate(union(A, OTHER), "s", n="count(*)", m="avg(x)", lo="min(x)", w="window()"),
        aggregate(
            union(A, OTHER, B),
            "",
            Window.seconds(20, on="t"),
            n="count_if(x > 0)",
            m="avg(x) FILTER (WHERE s = 'a')",
            total="sum(id)",
            some="bool_or(s = 'a')",
        ),
        aggregate(union(ENDING, ENDING), "s", None, hi="max(x)", n="count(x)"),
        aggregate(
            union(
                aggregate(A, "s", n="count(*)", w="window()"), aggregate(B, "s", n="count(*)", w="window()")
            ),
            "s w",
            Window.given("w"),
            most="max(n)",
            m="avg(n)",
        ),
    ),
    "prune_columns": (
        project(AB, x="x", right_s="right_s"),
        project(ABC, z="z", right_t="right_t"),
        project(select("right_id > 0", AB), y="y"),
        aggregate(union(A, OTHER), "s", n="count(*)"),
        aggregate(A, "", Window.rows(3), n="count(*)"),
        project(union(project(A, x="x", s="s", y="x * 2"), project(B, y="y", s="s", t_double="y")), s="s"),
        aggregate(lookup("id = right_id", A), "name", m="max(x)"),
        aggregate(project(AB, x="right_id", id="id", t="right_t"), "id", x="count(x)"),
        project(
            union(
                PlanNode(Select("s = 'a'"), (SPLIT,), (0,)),
                PlanNode(Select("id > 0"), (SPLIT,), (1,)),
            ),
            x="x",
        ),
        project(join("x = right_x", SHARED, SHARED), x="x", right_s="right_s"),
        sink(project(AB, right_s="right_s")),
    ),
}


#: Queries as people write them.
TYPICAL = {
    "filters": sink(project(select("s = 'a' AND x > -1 AND id IN (1, 2)", select("x < 100", A)), x="x")),
    "aggregate": sink(
        select("s <> 'a' AND n > 1", aggregate(project(A, t="t", s="s", y="x * 2"), "s", n="count(*)"))
    ),
    "join": sink(
        aggregate(
            project(select("x > 0 AND y < 3 AND right_s <> 'b'", AB), s="s", t="right_t", y="y"),
            "s",
            m="avg(y)",
        )
    ),
    "three streams": sink(project(select("x > 0 AND y < 3 AND z > 0", ABC), s="s", y="y")),
    "union": sink(
        select("s = 'a'", aggregate(union(A, select("y > 2 AND s <> 'z'", B)), "s", n="count(*)", m="avg(x)"))
    ),
}


def rewritten(rule: Rule, root: PlanNode, *, any_order: bool = True) -> Iterator[PlanNode]:
    """All plans that one use of a rule makes of a plan."""
    space = Space(any_order=any_order)
    start = space.adopt(root)
    for node in (start,) if rule in AT_ROOT else tuple(start.post_order()):
        if rule in REORDERING and id(node) in below_order(start):
            continue
        for _, new in space.rewrites((rule,), node):
            yield space.replaced(start, node, new)
