"""The explanation as people read it."""

from __future__ import annotations

import pytest
from rich.console import Console

from penstock.bench.queries import STREAMS, random_queries
from penstock.explain.explanation import explain
from penstock.explain.quantities import rate_text, ratio_text
from penstock.explain.text import WIDTH, explanation_text, rules_text
from penstock.explain.wishes import wishes
from penstock.model.qos import QoS
from penstock.sql.text.quantities import shown_bytes
from tests.explain.statements import HOME, JOINED, SPLIT


def shown(sql: str, most: int = 5) -> list[str]:
    console = Console(width=WIDTH, color_system=None)
    with console.capture() as capture:
        console.print(explanation_text(explain(sql), most))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_a_plan_is_a_tree_with_estimates_beside_it() -> None:
    lines = shown(HOME)
    start = next(n for n, line in enumerate(lines) if line.startswith("sink means: room AS place, mean  "))
    assert lines[start + 1].startswith("└─ 3 project mean, room ")
    select = next(line for line in lines[start:] if "select temp > 30" in line)
    assert select.split() == ["└─", "1", "select", "temp", ">", "30", "5,000", "0.182", "33.3%", "hot"]


def test_a_query_begins_with_what_it_asks_for_and_gives() -> None:
    lines = shown(HOME)
    start = next(n for n, line in enumerate(lines) if line.startswith("── hot ─"))
    assert lines[start + 1 : start + 4] == [
        "wishes     results within 2 s ± 10%, at most 64 MB of memory",
        "result     room string, temp double",
        "cost       0.111% of a processor; nothing shared",
    ]


def test_a_plan_that_was_changed_is_shown_as_written_too() -> None:
    lines = shown(HOME + JOINED)
    start = lines.index("plan as written")
    assert lines[start + 1 : start + 4] == [
        "  sink joined",
        "    project room, open",
        "      select temp > 30 AND open",
    ]
    assert "plan as written" not in shown(HOME)


def test_as_many_plans_are_shown_as_asked_and_the_written_one_always() -> None:
    lines = shown(HOME + JOINED, most=2)
    heading = next(n for n, line in enumerate(lines) if line.startswith("plans considered: 2 of "))
    assert lines[heading + 3].endswith("as written")
    assert lines[heading + 4] == ""


def test_the_graph_says_what_is_shared_and_how_it_is_cut() -> None:
    lines = shown(HOME)
    assert "operators  4, 1 fewer than apart" in lines
    assert "  ×2     select temp > 30  hot, means" in lines
    assert "units under fcfs" in lines


def test_an_operator_read_twice_is_written_once() -> None:
    both = "CREATE CONTINUOUS QUERY pairs AS SELECT a.room FROM temps [RANGE 1 s] a JOIN temps [RANGE 1 s] b "
    lines = shown(HOME + both + "ON a.id = b.id WHERE a.temp > 30 AND b.temp > 30;")
    start = next(n for n, line in enumerate(lines) if line.startswith("sink pairs"))
    assert any(line.endswith("└─ 1 (as above)") for line in lines[start:])


def test_a_split_says_which_port_is_read() -> None:
    assert any("port 1 of split" in line for line in shown(HOME + SPLIT))


def test_square_brackets_are_windows_and_not_markup() -> None:
    lines = shown(HOME + "EXPLAIN SELECT count(*) AS n FROM temps [range 1 min]")
    assert any("over [RANGE 60 s on t]" in line for line in lines)


def test_without_queries_it_says_so() -> None:
    assert shown("")[-1] == "no query is registered"


def test_nothing_is_wider_than_a_hundred_columns() -> None:
    lines = shown(STREAMS + ";".join(random_queries(15, seed=3)) + "; SHOW QUERIES; SHOW STREAMS")
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize(
    ("qos", "words"),
    [
        (QoS(), "none"),
        (QoS(latency_s=0.25, tolerance=0.2), "results within 250 ms ± 20%"),
        (
            QoS(memory_bytes=1.5e9, throughput_per_s=2500, freshness=0.95, weight=0.5),
            "at most 1.5 GB of memory, at least 2,500 rows/s, fresh 95% of the time, weight 0.5",
        ),
    ],
)
def test_wishes_in_words(qos: QoS, words: str) -> None:
    assert wishes(qos) == words


def test_numbers_for_people() -> None:
    assert [rate_text(value) for value in (0, 0.5, 3.14159, 12345.6)] == ["0", "0.5", "3.14", "12,346"]
    assert [ratio_text(value) for value in (0.0, 0.00012, 1.0, 127.4)] == ["0%", "0.0120%", "100%", "×127"]
    assert shown_bytes(1e-6) == "<1 B"
    assert [shown_bytes(value) for value in (0, 240, 417_600, 2.24e6)] == [
        "0 B",
        "240 B",
        "418 kB",
        "2.24 MB",
    ]


def test_rules_are_counted() -> None:
    assert rules_text(()) == "as written"
    assert rules_text(("order_joins", "split_select", "order_joins")) == "order joins ×2, split select"
