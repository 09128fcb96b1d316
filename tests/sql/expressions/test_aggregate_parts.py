"""Which aggregates are computed from parts: within plans only some of those that the engine takes apart."""

from __future__ import annotations

import pytest
from sqlglot import exp

from penstock.engines.spark.operators.partials import decompose
from penstock.model.graph import Graph
from penstock.model.operators import Column
from penstock.model.query import Query
from penstock.model.schema import Schema
from penstock.plan.canonical import canonical
from penstock.plan.shared.panes import with_panes
from penstock.plan.sharing import merge
from penstock.sql.session import run
from penstock.sql.text.dialect import parse_expression
from penstock.sql.typing.functions.aggregates import AGGREGATES

COLUMNS = Schema.of(
    t="timestamp",
    k="int",
    b="boolean",
    i="int",
    bi="bigint",
    d="double",
    dc="decimal(10,2)",
    dl="decimal(38,18)",
    s="string",
    bn="binary",
    ai="array<int>",
    af="array<float>",
)

#: Exact and blind to the order of rows, however rows are grouped: panes and branches of unions have them too.
ANYWHERE = """
count(*); count(i); count(i, s); count_if(b); count(*) FILTER (WHERE b); sum(i); sum(d); sum(dc); sum(bi)
avg(i); avg(d); mean(bi); avg(d) FILTER (WHERE i > 3); min(i); max(s); min(dc); max(ai); max(t)
bool_and(b); every(b); bool_or(b); any(b); some(b); bit_and(i); bit_or(bi); bit_xor(i)
"""
#: Those that go by a row's place, are rounded, or of which it matters what a part is: the engine's own state.
BETWEEN_JOBS = """
sum(dl); avg(dc); try_sum(d); try_avg(i); max(DISTINCT i); min(DISTINCT s); bool_or(DISTINCT b)
first(i); first_value(s); any_value(i); last(i); last_value(s) IGNORE NULLS; first(s, true)
min_by(s, i); max_by(s, i); collect_list(i); array_agg(s); collect_set(i)
std(d); stddev(d); stddev_pop(d); stddev_samp(i); variance(d); var_pop(d); var_samp(d)
"""
#: Those whose rows are kept.
NOWHERE = """
count(DISTINCT i); sum(DISTINCT i); avg(DISTINCT d); bit_xor(DISTINCT i); avg(dl); try_sum(i); try_avg(dc)
min_by(s, i, 2); approx_count_distinct(i); kurtosis(d); skewness(d); corr(d, d); covar_pop(d, d)
covar_samp(d, d); regr_intercept(d, d); regr_r2(d, d); regr_slope(d, d); regr_sxx(d, d); regr_sxy(d, d)
regr_syy(d, d); regr_avgx(d, d); regr_avgy(d, d); regr_count(d, d); collect_union(ai)
listagg(s); string_agg(s, ','); median(d); mode(i); percentile(d, 0.5)
percentile_cont(0.5) WITHIN GROUP (ORDER BY d); percentile_disc(0.5) WITHIN GROUP (ORDER BY d)
percentile_approx(d, 0.5); approx_percentile(d, 0.5); histogram_numeric(d, 3); approx_top_k(i)
count_min_sketch(i, 0.5, 0.5, 1); bitmap_and_agg(bn); bitmap_or_agg(bn); bitmap_construct_agg(bi)
schema_of_variant_agg(parse_json(s)); vector_avg(af); vector_sum(af)
"""


def _split(texts: str) -> list[str]:
    return [text.strip() for line in texts.splitlines() if line for text in line.split(";")]


def _queries(call: str) -> list[Query]:
    columns = ", ".join(f"{field.name} {field.type.upper()}" for field in COLUMNS.fields)
    made = "".join(
        f"CREATE CONTINUOUS QUERY q{n} AS SELECT k, {call} AS a FROM rs GROUP BY k, window(t, '{n} seconds');"
        for n in (10, 20)
    )
    stream = f"CREATE STREAM rs ({columns}, WATERMARK FOR t AS t - INTERVAL 1 SECONDS) USING json;"
    return [canonical(query) for query in run(stream + made)[0].queries.values()]


def _in_plans(call: str) -> bool:
    given = _queries(call)
    return with_panes(given) != given


def _in_the_engine(call: str) -> bool:
    return not decompose((Column("a", call),), COLUMNS, ("__time", "__o0")).raw


@pytest.mark.parametrize("call", _split(ANYWHERE))
def test_these_are_had_from_parts_in_plans_and_in_the_engine(call: str) -> None:
    assert (_in_plans(call), _in_the_engine(call)) == (True, True)


@pytest.mark.parametrize("call", _split(BETWEEN_JOBS))
def test_these_are_had_from_parts_in_the_engine_alone(call: str) -> None:
    assert (_in_plans(call), _in_the_engine(call)) == (False, True)


@pytest.mark.parametrize("call", _split(NOWHERE))
def test_these_are_had_from_rows(call: str) -> None:
    assert (_in_plans(call), _in_the_engine(call)) == (False, False)


def test_every_aggregate_is_among_them() -> None:
    trees = [parse_expression(call) for call in _split(ANYWHERE + BETWEEN_JOBS + NOWHERE)]
    named = {found.name.lower() for tree in trees for found in tree.find_all(exp.Anonymous)}
    assert {function.name for function in AGGREGATES} <= named


#: Operators in a state are named after what they compute and read; these are the last of each query.
NAMES: dict[str, set[str]] = {
    "count(*)": {"project-05e16d275ab2d118", "project-7cd0ad26f902b3fa"},
    "any(b) FILTER (WHERE i > 3)": {"project-c379fd1d77a13694", "project-d5d05b12b6044c29"},
    "avg(i) FILTER (WHERE b)": {"project-e4026020af164143", "project-ef0d427a34fdcbbe"},
    "sum(dc)": {"project-847f774dce00a82b", "project-9a5b5def867e9900"},
    "max(s)": {"project-36c8a8a1b62dbd7f", "project-5144bb133990b180"},
}


@pytest.mark.parametrize("call", NAMES)
def test_operators_over_panes_are_called_as_in_earlier_versions(call: str) -> None:
    graph = merge(Graph(), with_panes(_queries(call)))
    assert {name for name, edges in graph.sinks.items() if edges} == NAMES[call]
