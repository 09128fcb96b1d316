"""What plans mean, computed by hand: each operator and each kind of window, at their edges above all."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import pytest

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
from penstock.model.query import PlanNode
from penstock.model.schema import Field, Schema
from penstock.model.window import Window
from tests.batch import START, random_tables, run
from tests.batch_sql import batch_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

A = PlanNode(Source("a", Schema.of(t="timestamp", k="string", x="int"), time="t"))
B = PlanNode(Source("b", Schema.of(t="timestamp", k="string", y="int"), time="t"))
WINDOW = Column("w", "window()")
COUNT = Column("n", "count(*)")


def at(seconds: float) -> datetime:
    """A time so many seconds after midnight, which is the edge of all windows here that begin at 0."""
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def over(operator: Operator, *children: PlanNode, ports: tuple[int, ...] = ()) -> PlanNode:
    return PlanNode(operator, children, ports)


def rows_at(*times: float) -> list[tuple[Any, ...]]:
    """Rows of `a` or `b`, numbered from 1 in the order of the log, all with key "p"."""
    return [(at(time), "p", number) for number, time in enumerate(times, 1)]


def aggregated(window: Window | None, *aggregates: Column, keys: tuple[str, ...] = ()) -> PlanNode:
    return over(Aggregate(keys, aggregates, window), A)


def pairs(join: Join, left: PlanNode = A, right: PlanNode = B) -> PlanNode:
    """Only the numbers of the rows that a join brings together."""
    return over(Project((Column("x", "x"), Column("y", "y"))), over(join, left, right))


# One row at a time


def test_select_keeps_rows_whose_predicate_is_true_and_not_null(spark: SparkSession) -> None:
    rows = [(at(0), "p", 1), (at(0), "p", 2), (at(0), "p", None)]
    assert run(spark, over(Select("x > 1"), A), {"a": rows}) == Counter([(at(0), "p", 2)])


def test_project_computes_from_the_input_and_not_from_columns_beside(spark: SparkSession) -> None:
    plan = over(Project((Column("x", "x + 1"), Column("odd name`s", "x * 10"))), A)
    assert run(spark, plan, {"a": rows_at(0, 1)}) == Counter([(2, 10), (3, 20)])
    beside = over(Project((Column("z", "x + 1"), Column("v", "z"))), A)
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        run(spark, beside, {"a": rows_at(0)})


def test_a_split_puts_a_row_out_at_each_port_whose_condition_holds(spark: SparkSession) -> None:
    split = over(Split(("x >= 2", "x <= 2")), A)
    numbers = [over(Project((Column("x", "x"),)), split, ports=(port,)) for port in (0, 1)]
    tables = {"a": rows_at(0, 0, 0)}
    assert run(spark, numbers[0], tables) == Counter([(2,), (3,)])
    assert run(spark, numbers[1], tables) == Counter([(1,), (2,)])
    assert run(spark, over(Union(), *numbers), tables) == Counter({(1,): 1, (2,): 2, (3,): 1})
    assert run(spark, split, tables, port=1) == Counter([(at(0), "p", 1), (at(0), "p", 2)])


def test_a_union_goes_by_position_and_has_the_names_of_its_first_input(spark: SparkSession) -> None:
    swapped = over(Project((Column("y", "y"), Column("k", "k"))), B)
    first = over(Project((Column("x", "x"), Column("j", "k"))), A)
    plan = over(Select("x = 1 AND j = 'p'"), over(Union(), first, swapped))
    assert run(spark, plan, {"a": rows_at(0), "b": rows_at(5)}) == Counter({(1, "p"): 2})


def test_a_sink_picks_and_renames(spark: SparkSession) -> None:
    plan = over(Sink("q", (Column("twice", "x * 2"), Column("x", "x"), Column("x", "x"))), A)
    assert run(spark, plan, {"a": rows_at(0)}) == Counter([(2, 1, 1)])
    assert run(spark, over(Sink("q"), A), {"a": rows_at(0)}) == Counter([(at(0), "p", 1)])


# Windows of aggregates


def test_a_row_at_the_end_of_a_tumbling_window_is_in_the_next(spark: SparkSession) -> None:
    plan = aggregated(Window.seconds(10), WINDOW, COUNT, Column("s", "sum(x)"))
    assert run(spark, plan, {"a": rows_at(0, 9.999999, 10, 10)}) == Counter(
        [((at(0), at(10)), 2, 3), ((at(10), at(20)), 2, 7)]
    )


def test_a_row_is_in_all_hopping_windows_that_hold_it_those_before_the_first_row_too(
    spark: SparkSession,
) -> None:
    plan = aggregated(Window.seconds(10, hop=5), WINDOW, Column("xs", "collect_list(x)"))
    assert run(spark, plan, {"a": rows_at(10, 4.5, 5)}) == Counter(
        [
            ((at(-5), at(5)), (2,)),
            ((at(0), at(10)), (2, 3)),
            ((at(5), at(15)), (3, 1)),
            ((at(10), at(20)), (1,)),
        ]
    )


def test_windows_begin_where_begin_says_in_fractions_of_a_second_too(spark: SparkSession) -> None:
    window = Window("time", begin=62.25, end=62.75, hop=0.5)
    assert run(spark, aggregated(window, WINDOW), {"a": rows_at(0.25, 0.749999, 0.75)}) == Counter(
        [((at(0.25), at(0.75)),), ((at(0.75), at(1.25)),)]
    )


def test_a_window_on_a_column_leaves_out_rows_without_a_time(spark: SparkSession) -> None:
    stream = PlanNode(Source("c", Schema.of(t="timestamp", u="timestamp"), time="t"))
    plan = over(Aggregate((), (WINDOW, COUNT), Window.seconds(10, on="u")), stream)
    rows = [(at(0), at(12)), (at(30), at(13)), (at(0), None)]
    assert run(spark, plan, {"c": rows}) == Counter([((at(10), at(20)), 2)])


def test_groups_are_by_key_with_null_as_a_key(spark: SparkSession) -> None:
    plan = aggregated(Window.seconds(10), Column("s", "sum(x)"), keys=("k",))
    rows = [(at(0), "p", 1), (at(1), "q", 2), (at(2), None, 3), (at(3), None, 4), (at(12), "p", 5)]
    assert run(spark, plan, {"a": rows}) == Counter([("p", 1), ("q", 2), (None, 7), ("p", 5)])


def test_a_session_ends_when_its_gap_has_passed(spark: SparkSession) -> None:
    plan = aggregated(Window.session(5), WINDOW, COUNT, Column("last", "last(x)"), keys=("k",))
    rows = [*rows_at(0, 4.999999, 9.999998, 14.999999), (at(3), "q", 9)]
    assert run(spark, plan, {"a": rows}) == Counter(
        [
            ("p", (at(0), at(14.999998)), 3, 3),
            ("p", (at(14.999999), at(19.999999)), 1, 4),
            ("q", (at(3), at(8)), 1, 9),
        ]
    )


def test_a_session_takes_in_a_row_exactly_at_its_end_as_spark_has_it(spark: SparkSession) -> None:
    plan = aggregated(Window.session(5), WINDOW, COUNT)
    assert run(spark, plan, {"a": rows_at(0, 5)}) == Counter([((at(0), at(10)), 2)])


def test_count_windows_number_rows_by_time_then_offset_and_the_last_may_be_incomplete(
    spark: SparkSession,
) -> None:
    plan = aggregated(Window.rows(2), WINDOW, Column("xs", "collect_list(x)"))
    assert run(spark, plan, {"a": rows_at(7, 3, 3, 1, 9)}) == Counter(
        [((0, 2), (4, 2)), ((2, 4), (3, 1)), ((4, 6), (5,))]
    )


def test_count_windows_hop_from_where_they_begin(spark: SparkSession) -> None:
    plan = aggregated(Window("count", begin=1, end=4, hop=2), WINDOW, Column("xs", "collect_list(x)"))
    assert run(spark, plan, {"a": rows_at(0, 1, 2, 3, 4)}) == Counter([((1, 4), (2, 3, 4)), ((3, 6), (4, 5))])


def test_the_total_order_is_by_time_then_stream_then_offset(spark: SparkSession) -> None:
    of_b = over(Project((Column("t", "t"), Column("k", "k"), Column("x", "y + 10"))), B)
    plan = over(Aggregate((), (Column("xs", "collect_list(x)"),), Window.rows(9)), over(Union(), of_b, A))
    tables = {"a": rows_at(1, 2, 1), "b": rows_at(2, 0, 1)}
    assert run(spark, plan, tables) == Counter([((12, 1, 3, 13, 2, 11),)])


def test_a_stream_without_a_time_is_ordered_by_offset(spark: SparkSession) -> None:
    stream = PlanNode(Source("c", Schema.of(x="int")))
    plan = over(Aggregate((), (Column("x", "first(x)"), Column("y", "last(x)")), Window.rows(2)), stream)
    assert run(spark, plan, {"c": [(5,), (4,), (3,)]}) == Counter([(5, 4), (3, 3)])


def test_first_last_and_lists_follow_the_order_and_treat_null_as_spark_does(spark: SparkSession) -> None:
    plan = aggregated(
        None,
        Column("a", "first(x)"),
        Column("b", "first(x, true)"),
        Column("c", "last_value(x) IGNORE NULLS"),
        Column("d", "last(x) FILTER (WHERE x < 3)"),
        Column("e", "collect_list(x)"),
        Column("f", "size(array_agg(x) FILTER (WHERE x > 1))"),
    )
    rows = [(at(5), "p", 1), (at(0), "p", None), (at(1), "p", 2), (at(3), "p", 3), (at(6), "p", None)]
    assert run(spark, plan, {"a": rows}) == Counter([(None, 2, 1, 1, (2, 3, 1), 2)])


def test_without_window_and_keys_there_is_one_group_even_of_no_rows(spark: SparkSession) -> None:
    plan = aggregated(None, COUNT, Column("s", "sum(x)"))
    assert run(spark, plan, {"a": []}) == Counter([(0, None)])
    assert run(spark, aggregated(Window.seconds(5), COUNT), {"a": []}) == Counter()


def test_a_given_window_groups_what_came_out_of_the_same_window(spark: SparkSession) -> None:
    below = aggregated(Window.seconds(10), WINDOW, Column("s", "sum(x)"), keys=("k",))
    above = Aggregate((), (Column("most", "max(s)"), Column("w", "window()")), Window.given("w"))
    rows = [(at(0), "p", 1), (at(0), "q", 2), (at(10), "p", 3)]
    assert run(spark, over(above, below), {"a": rows}) == Counter(
        [(2, (at(0), at(10))), (3, (at(10), at(20)))]
    )


def test_what_an_aggregate_puts_out_has_the_last_instant_of_its_window(spark: SparkSession) -> None:
    below = aggregated(Window.seconds(10), Column("v", "window()"), COUNT, Column("end", "window().end"))
    by_window = over(Aggregate((), (Column("n", "sum(n)"),), Window.given("v")), below)
    by_time = over(Aggregate((), (Column("n", "sum(n)"),), Window.given("end")), below)
    tables = {"a": rows_at(0, 1, 19)}
    for below_again, starts in ((below, (0, 10)), (by_window, (0, 10)), (by_time, (10, 20))):
        again = over(Aggregate((), (WINDOW, Column("n", "sum(n)")), Window.seconds(10)), below_again)
        expected = [((at(start), at(start + 10)), n) for start, n in zip(starts, (2, 1), strict=True)]
        assert run(spark, again, tables) == Counter(expected)


# Joins


def test_a_sliding_window_holds_what_is_less_than_its_width_old(spark: SparkSession) -> None:
    """Left rows live 5 s, right ones 2 s: the one at t − w is out, equal times are in."""
    plan = pairs(Join("k = right_k", Window.seconds(5), Window.seconds(2)))
    tables = {"a": rows_at(10, 20), "b": rows_at(14.999999, 15, 10, 8, 8.000001)}
    assert run(spark, plan, tables) == Counter([(1, 1), (1, 3), (1, 5)])
    # (2, 1) and (2, 2): the right rows are older than 2 s when the left one comes.


def test_a_joined_row_has_the_later_time_and_columns_renamed_where_they_collide(spark: SparkSession) -> None:
    join = over(Join("k = right_k AND right_t >= t", Window.seconds(9), Window.seconds(9)), A, B)
    tables = {"a": rows_at(8), "b": rows_at(12)}
    assert run(spark, join, tables) == Counter([(at(8), "p", 1, at(12), "p", 1)])
    windowed = over(Aggregate((), (WINDOW,), Window.seconds(10)), join)
    assert run(spark, windowed, tables) == Counter([((at(10), at(20)),)])


def test_outer_joins_put_out_unmatched_rows_with_nulls(spark: SparkSession) -> None:
    tables = {"a": rows_at(0, 10), "b": rows_at(3, 20)}
    expected: dict[Literal["inner", "left", "right", "full"], list[tuple[int | None, int | None]]] = {
        "inner": [(1, 1)],
        "left": [(1, 1), (2, None)],
        "right": [(1, 1), (None, 2)],
        "full": [(1, 1), (2, None), (None, 2)],
    }
    for kind, rows in expected.items():
        join = Join("k = right_k", Window.seconds(5), Window.seconds(5), type=kind)
        assert run(spark, pairs(join), tables) == Counter(rows)


def test_a_window_of_rows_holds_the_last_ones_up_to_the_other_row(spark: SparkSession) -> None:
    """At equal times stream `a` comes before `b`, whichever side it is: b's row at 3 sees a's rows at 3."""
    tables = {"a": rows_at(1, 3, 3, 3, 5), "b": rows_at(0, 3)}
    expected = Counter([(1, 1), (2, 1), (3, 1), (4, 1), (3, 2), (4, 2), (5, 2)])
    assert run(spark, pairs(Join("TRUE", Window.rows(2), Window.rows(1)), A, B), tables) == expected
    assert run(spark, pairs(Join("TRUE", Window.rows(1), Window.rows(2)), B, A), tables) == expected


def test_a_window_of_rows_counts_rows_that_the_condition_refuses(spark: SparkSession) -> None:
    plan = pairs(Join("x = 1", Window.rows(2), Window.rows(1)))
    assert run(spark, plan, {"a": rows_at(1, 2), "b": rows_at(3)}) == Counter([(1, 1)])
    assert run(spark, plan, {"a": rows_at(1, 2, 2), "b": rows_at(3)}) == Counter()


def test_a_window_by_time_meets_one_by_rows(spark: SparkSession) -> None:
    plan = pairs(Join("TRUE", Window.seconds(2), Window.rows(1)))
    tables = {"a": rows_at(0, 1, 9), "b": rows_at(2, 2.5)}
    assert run(spark, plan, tables) == Counter([(2, 1), (2, 2), (3, 2)])


def test_a_join_windowed_on_a_column_goes_by_that_column(spark: SparkSession) -> None:
    stream = PlanNode(Source("c", Schema.of(t="timestamp", u="timestamp", y="int"), time="t"))
    plan = pairs(Join("TRUE", Window.seconds(2), Window.seconds(2, on="u")), right=stream)
    rows = [(at(0), at(10), 1), (at(10), at(0), 2)]
    assert run(spark, plan, {"a": rows_at(10), "c": rows}) == Counter([(1, 1)])


def test_a_stream_joined_with_itself_pairs_each_row_with_itself(spark: SparkSession) -> None:
    again = over(Project((Column("y", "x"),)), A)
    for window in (Window.seconds(2), Window.rows(2)):
        plan = pairs(Join("TRUE", window, window), right=again)
        assert run(spark, plan, {"a": rows_at(0, 1, 3)}) == Counter(
            [(1, 1), (2, 2), (3, 3), (1, 2), (2, 1)] + ([(2, 3), (3, 2)] if window.kind == "count" else [])
        )


#: Where a row stands in the total order: time, stream, offset.
Place = tuple[datetime, str, int]


def still_held(window: Window, row: Place, instant: Place, own: list[Place]) -> bool:
    """Whether a window over its `own` rows has the row at the instant of one that is not before it."""
    if window.kind == "time":
        return instant[0] < row[0] + timedelta(seconds=window.width)
    return row in sorted(other for other in own if other <= instant)[-int(window.width) :]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Window.rows(3), Window.rows(2)),
        (Window.seconds(7.5), Window.rows(1)),
        (Window.seconds(20), Window.seconds(0.25)),
    ],
)
def test_joins_of_random_tables_are_what_a_loop_over_all_pairs_finds(
    spark: SparkSession, left: Window, right: Window
) -> None:
    plan = pairs(Join("TRUE", left, right))
    tables = random_tables(random.Random(6), plan, most=40)
    a, b = ([(row[0], name, offset) for offset, row in enumerate(tables[name])] for name in ("a", "b"))
    assert {place[0] for place in a} & {place[0] for place in b}, "equal times are what is worth trying"
    expected = Counter(
        (tables["a"][one[2]][2], tables["b"][other[2]][2])
        for one in a
        for other in b
        if (still_held(left, one, other, a) if one <= other else still_held(right, other, one, b))
    )
    assert run(spark, plan, tables) == expected


def test_with_hopping_windows_a_pair_comes_once_per_window_that_holds_both(spark: SparkSession) -> None:
    window = Window.seconds(10, hop=5)
    tables = {"a": rows_at(5, 9), "b": rows_at(6, 10, 15)}
    assert run(spark, pairs(Join("TRUE", window, window)), tables) == Counter(
        {(1, 1): 2, (2, 1): 2, (1, 2): 1, (2, 2): 1}
    )
    unmatched = pairs(Join("x > 1", window, window, type="left"))
    assert run(spark, unmatched, tables) == Counter({(1, None): 2, (2, 1): 2, (2, 2): 1})


def test_with_hopping_windows_of_rows_both_sides_count_their_own(spark: SparkSession) -> None:
    window = Window.rows(2, hop=2)
    plan = pairs(Join("TRUE", window, window))
    tables = {"a": rows_at(0, 1, 2), "b": rows_at(70, 90, 80)}
    assert run(spark, plan, tables) == Counter([(1, 1), (1, 3), (2, 1), (2, 3), (3, 2)])


def test_without_windows_all_rows_meet(spark: SparkSession) -> None:
    tables = {"a": rows_at(0, 100), "b": rows_at(50)}
    assert run(spark, pairs(Join("k = right_k")), tables) == Counter([(1, 1), (2, 1)])


def test_a_join_with_a_relation_is_that_of_sql_and_keeps_the_row_s_time(spark: SparkSession) -> None:
    rooms = Schema((Field("k", "string"), Field("floor", "int")))
    join = Join("k = right_k", relation="the rooms", relation_schema=rooms, type="left")
    tables: dict[str, list[tuple[Any, ...]]] = {
        "a": [(at(0), "p", 1), (at(11), "q", 2)],
        "the rooms": [("p", 3), ("p", 4), ("r", 5)],
    }
    assert run(spark, over(join, A), tables) == Counter(
        [(at(0), "p", 1, "p", 3), (at(0), "p", 1, "p", 4), (at(11), "q", 2, None, None)]
    )
    counted = over(Aggregate((), (WINDOW, COUNT), Window.seconds(10)), over(join, A))
    assert run(spark, counted, tables) == Counter([((at(0), at(10)), 2), ((at(10), at(20)), 1)])


# What cannot be said, and random rows


@pytest.mark.parametrize(
    "plan",
    [
        aggregated(Window("time", end=5, end_of_query=10), COUNT),
        aggregated(None, WINDOW),
        aggregated(None, Column("l", "collect_list(DISTINCT x)")),
        pairs(Join("TRUE", Window.seconds(5, hop=5), Window.seconds(5))),
        pairs(Join("TRUE", Window.session(5), Window.session(5))),
        over(Union(), A, over(Project((Column("x", "x"),)), A)),
        PlanNode(Source("unknown")),
    ],
)
def test_a_plan_whose_meaning_is_not_defined_here_is_refused(plan: PlanNode) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        batch_sql(plan)


def test_random_tables_meet_repeat_and_are_never_late() -> None:
    delayed = PlanNode(Source("a", Schema.of(t="timestamp", k="string", l="array<int>"), time="t", delay_s=5))
    join = Join("TRUE", relation="r", relation_schema=Schema.of(k="string", d="decimal(5,2)", u="timestamp"))
    late_by = []
    for seed in range(20):
        tables = random_tables(random.Random(seed), over(join, delayed), most=40)
        assert tables == random_tables(random.Random(seed), over(join, delayed), most=40)
        times = [row[0] for row in tables["a"]]
        assert all(START <= time < START + timedelta(minutes=2) for time in times)
        late_by += [(before - after).total_seconds() for before, after in pairwise(times)]
    assert 0 < max(late_by) <= 5
    assert 0.0 in late_by
    assert any(row[1] is None for row in tables["a"])
    assert any(row[2] is None for row in tables["r"])


def test_random_tables_run(spark: SparkSession) -> None:
    """Filters move through unions and projections, and through an aggregate where they are about its keys."""
    chance = random.Random(1)
    aggregate = Aggregate(("k",), (WINDOW, Column("m", "avg(x)")), Window.seconds(10, hop=5))
    one = over(Select("k > 'a'"), over(aggregate, over(Union(), A, A)))
    other = over(aggregate, over(Union(), over(Select("k > 'a'"), A), over(Select("k > 'a'"), A)))
    wrong = over(aggregate, over(Union(), over(Select("k > 'a'"), A), A))
    tables = random_tables(chance, one)
    assert run(spark, one, tables) == run(spark, other, tables) != run(spark, wrong, tables)
