"""What is found out about the queries of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import PenstockError, PolicyError, SqlError
from penstock.explain.describing import QueryExplained
from penstock.explain.explanation import Explanation, explain, explain_files
from penstock.sql.session import Answer
from tests.explain.statements import HOME, JOINED, SPLIT


def query(explanation: Explanation, name: str) -> QueryExplained:
    return next(one for one in explanation.queries if one.written.name == name)


def test_the_second_query_shares_what_the_first_runs() -> None:
    explanation = explain(HOME)
    hot, means = query(explanation, "hot"), query(explanation, "means")
    assert [one.shared_with for one in hot.work] == [(), ()]
    assert (means.work[0].text, means.work[0].shared_with) == ("select temp > 30", ("hot",))
    assert [one.text.split()[0] for one in means.added] == ["aggregate", "project"]
    assert explanation.separate == 5
    assert len(explanation.graph.operators) == 4


def test_operators_and_schemas_have_the_names_of_the_query() -> None:
    means = query(explain(HOME), "means")
    assert means.operators[-1].text == "sink means: room AS place, mean"
    assert str(means.schema) == "place string, mean double"
    aggregate = means.work[1]
    assert "avg(temp) AS mean" in aggregate.text
    assert {"room", "mean"} <= set(aggregate.schema.names)
    assert not any("c_" in one.text for one in means.operators)


def test_rates_costs_and_memory_are_estimated_at_each_place() -> None:
    explanation = explain(HOME)
    select, aggregate, _ = query(explanation, "means").work
    assert select.costed.rate_in == 5000
    assert aggregate.costed.rate_in == pytest.approx(select.rate_out)
    assert aggregate.costed.memory_bytes > 0
    means = query(explanation, "means")
    assert 0 < means.new_cpu_s_per_s < means.cpu_s_per_s
    alone = sum(one.cpu_s_per_s for one in explanation.queries)
    assert explanation.cpu_s_per_s == pytest.approx(alone - select.costed.cpu_s_per_s)


def test_of_the_plans_considered_the_first_was_chosen_and_the_written_one_is_among_them() -> None:
    joined = query(explain(HOME + JOINED), "joined")
    assert joined.considered[0].new_cpu_s_per_s == min(one.new_cpu_s_per_s for one in joined.considered)
    assert "push_select_through_join" in joined.considered[0].rules
    written = [one for one in joined.considered if not one.rules]
    assert len(written) == 1
    assert written[0].operators == 3
    assert written[0].shared == 0
    assert max(one.shared for one in joined.considered) == 1  # the select; streams do not count


def test_explain_leaves_a_query_out_and_a_bare_select_has_a_plan() -> None:
    explanation = explain(HOME + "EXPLAIN SELECT room FROM temps WHERE temp > 30;")
    last = explanation.queries[-1]
    assert not last.registered
    assert last.work[0].shared_with == ("hot", "means")
    assert list(explanation.graph.queries) == ["hot", "means"]


def test_a_running_query_is_explained_with_the_plan_it_runs_by_and_who_shares_it_now() -> None:
    explanation = explain(HOME + "ALTER QUERY hot SET (latency = '5s'); EXPLAIN HOT;")
    first, again = query(explanation, "hot"), explanation.queries[-1]
    assert again.chosen.root == first.chosen.root
    assert again.work[0].shared_with == ("means",)
    assert (first.written.qos.latency_s, again.written.qos.latency_s) == (2.0, 5.0)
    assert explanation.graph.queries["hot"].qos.latency_s == 5.0


@pytest.mark.parametrize("statement", ["STOP QUERY HOT", "DROP QUERY Hot", "STOP QUERY hot; DROP QUERY hot"])
def test_a_query_that_was_stopped_or_dropped_is_not_in_the_graph(statement: str) -> None:
    explanation = explain(HOME + statement)
    assert list(explanation.graph.queries) == ["means"]
    assert explanation.separate == len(explanation.graph.operators) == 3


def test_a_stopped_query_is_explained_as_if_it_came_now() -> None:
    again = explain(HOME + "STOP QUERY hot; EXPLAIN hot").queries[-1]
    assert not again.registered
    assert [one.shared_with for one in again.work] == [("means",), ()]


def test_answers_stand_at_their_place() -> None:
    said = explain(HOME + "SHOW STREAMS;" + JOINED + "DESCRIBE hot;").said
    assert [type(one) for one in said[-3:]] == [Answer, QueryExplained, Answer]
    shown = said[-1]
    assert isinstance(shown, Answer)
    assert shown.rows == (("room", "string"), ("temp", "double"))


def test_a_port_of_a_split_is_read() -> None:
    others = explain(HOME + SPLIT).queries[-1]
    split = next(one for one in others.work if one.kind == "split")
    reader = next(one for one in others.work if split.name in one.inputs)
    assert reader.ports == (1,)
    assert reader.costed.rate_in < 5000


def test_a_bare_stream_has_an_operator_to_schedule() -> None:
    explanation = explain(HOME + "CREATE CONTINUOUS QUERY raw AS SELECT * FROM temps")
    assert [one.text for one in explanation.queries[-1].work] == ["select true"]


def test_the_units_cover_the_graph_and_their_cost_is_the_graphs() -> None:
    explanation = explain(HOME + JOINED)
    assert explanation.policy == "fcfs"
    assert {name for unit in explanation.units for name in unit.operators} == set(explanation.graph.operators)
    assert sum(unit.cpu_s_per_s for unit in explanation.units) == pytest.approx(explanation.cpu_s_per_s)


def test_the_policy_is_the_files_unless_another_is_given() -> None:
    sql = HOME + "SET policy = 'chain'"
    assert explain(sql).policy == "chain"
    given = explain(sql, "round-robin(rows=10)")
    assert given.policy == "round-robin(rows=10)"
    assert all(len(unit.operators) == 1 for unit in given.units)


def test_a_file_without_queries_has_an_empty_graph() -> None:
    explanation = explain("")
    assert (explanation.said, explanation.units, explanation.separate) == ((), (), 0)


@pytest.mark.parametrize(
    ("sql", "error", "says"),
    [
        ("CREATE CONTINUOUS QUERY q AS SELECT x FROM s", SqlError, "line 1, column 44: there is no stream"),
        ("\n\nSET policy = 'chian'", PolicyError, "line 3: no policy 'chian'. Did you mean 'chain'?"),
    ],
)
def test_an_error_says_where(sql: str, error: type[PenstockError], says: str) -> None:
    with pytest.raises(error) as caught:
        explain(sql)
    assert str(caught.value).startswith(says)


def test_a_wrong_policy_is_found_before_the_statements_are_read() -> None:
    with pytest.raises(PolicyError, match=r"^no policy 'chian'"):
        explain("nonsense", "chian")


def test_a_file_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "home.sql"
    file.write_text(HOME, "utf-8-sig")
    assert len(explain_files([str(file)]).queries) == 2


def test_an_error_in_a_file_begins_with_its_name_and_shows_the_place(tmp_path: Path) -> None:
    file = tmp_path / "wrong.sql"
    file.write_text(HOME + "CREATE CONTINUOUS QUERY q AS\n  SELECT tmp FROM temps;\n")
    with pytest.raises(PenstockError) as caught:
        explain_files([str(file)])
    assert str(caught.value) == (
        f"{file}: line 12, column 10: there is no column 'tmp'; there are t, room, temp, id. "
        "Did you mean 'temp'?\n    SELECT tmp FROM temps;\n           ^^^"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "No such file or directory"), (b"SELECT \xff", "byte 8 is not UTF-8; save it as UTF-8")],
)
def test_a_file_that_cannot_be_read_is_one_clear_error(
    tmp_path: Path, content: bytes | None, says: str
) -> None:
    file = tmp_path / "q.sql"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(PenstockError) as caught:
        explain_files([str(file)])
    assert str(caught.value) == f"{file}: cannot read it: {says}"


def test_queries_that_differ_in_constants_are_explained_as_the_one_that_runs_them() -> None:
    alike = "".join(
        f"CREATE CONTINUOUS QUERY h{n} AS SELECT id FROM temps WHERE temp > {n};" for n in range(32)
    )
    explanation = explain(HOME + alike)
    (shape,) = explanation.members
    assert explanation.members[shape] == tuple(f"h{n}" for n in range(32))
    assert list(explanation.graph.queries) == ["hot", "means", shape]
    assert query(explanation, "h7").runs_as == shape
    assert len(query(explanation, "h7").together) == 32
    assert query(explanation, "hot").together == ()
    assert len(explanation.units) < 8
    assert explanation.cpu_s_per_s < 1


def test_costs_of_small_queries_are_of_an_order_that_can_be_true() -> None:
    columns = "(t TIMESTAMP, k INT, v INT, WATERMARK FOR t)"
    tables = "".join(
        f"CREATE STREAM {name} {columns} USING csv OPTIONS (path '{name}.csv', endless 'false');"
        for name in "abc"
    )
    joins = "".join(
        f"CREATE CONTINUOUS QUERY j{n} AS SELECT a.v, c.v AS w FROM a [RANGE 1 DAY] JOIN b [RANGE 1 DAY] "
        f"ON a.k = b.k JOIN c [RANGE 1 DAY] ON b.v = c.v AND c.k > a.v + {n} WHERE a.v % {n + 2} = 1;"
        for n in range(32)
    )
    explanation = explain(tables + joins)
    assert len(explanation.queries) == 32
    assert 0 < explanation.cpu_s_per_s < 32
    assert sum(unit.cpu_s_per_s for unit in explanation.units) < 32
