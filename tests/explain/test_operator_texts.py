"""Columns of operators are called what queries call them."""

from __future__ import annotations

from penstock.explain.operator_texts import readable


def shown(*texts: str) -> list[str]:
    """The texts of operators that read each other, the first one first."""
    nodes = [{"name": str(number), "text": text} for number, text in enumerate(texts)]
    edges = [{"from": str(number), "to": str(number + 1)} for number in range(len(texts) - 1)]
    return list(readable(nodes, edges).values())


def test_a_sink_names_what_was_computed() -> None:
    aggregate, sink = shown(
        "aggregate by room: max(celsius) AS c_14ba0a6bc3, window() AS c_8925a58217 over [RANGE 1800 s on t]",
        "sink warm: room, c_14ba0a6bc3 AS warmest",
    )
    assert aggregate == "aggregate by room: max(celsius) AS warmest over [RANGE 1800 s on t]"
    assert sink == "sink warm: room, warmest"


def test_names_go_back_over_other_names() -> None:
    panes, final, _, _ = shown(
        "aggregate by room: min(c) AS pane_73f2467d43, window() AS pane_window over [RANGE 5 s on t]",
        "aggregate by room: min(pane_73f2467d43) AS pane_73f2467d43, "
        "window() AS pane_efdc1145a2 over [RANGE 5 s]",
        "project room, pane_73f2467d43 AS c_a40db0b0d0, pane_efdc1145a2 AS c_8925a58217",
        "sink cold: room, c_a40db0b0d0 AS coldest",
    )
    assert panes == "aggregate by room: min(c) AS coldest over [RANGE 5 s on t]"
    assert final == "aggregate by room: min(coldest) AS coldest over [RANGE 5 s]"


def test_ends_of_windows_are_told_so() -> None:
    text = shown("project c_8925a58217.end AS c_59a6c20881, room", "sink q: c_59a6c20881 AS until")[0]
    assert text == "project window.end AS until, room"


def test_what_nobody_has_named_is_told_by_what_makes_it() -> None:
    texts = shown(
        "aggregate by room: count(*) AS c_3cfedcedce",
        "aggregate: sum(c_3cfedcedce) AS c_9cf9428df8",
        "sink q",
    )
    assert texts[:2] == ["aggregate by room: count(*)", "aggregate: sum(count)"]


def test_parts_of_a_mean_keep_what_they_are() -> None:
    text = shown("project pane_c9d2bedb15_sum / nullif(pane_c9d2bedb15_count, 0) AS c_4ded86f870", "sink q")[
        0
    ]
    assert text == "project sum / nullif(count, 0)"


def test_constants_of_shared_queries_are_placeholders() -> None:
    nodes = [
        {"name": "j", "text": "join inner __c90b0cd5b_0 < celsius with shape-91c40bdd", "queries": ["a", "b"]}
    ]
    assert readable(nodes, [])["j"] == "join inner :1 < celsius with the constants of 2 queries"


def test_what_people_wrote_stays() -> None:
    assert shown("select c_1 > 5 AND pane = 2", "sink q: c_1 AS x")[0] == "select c_1 > 5 AND pane = 2"
