"""For how long a shared query remembers rows that belong to no member in particular."""

from __future__ import annotations

import pytest

from penstock.plan.shared.panes import with_panes
from penstock.plan.shared.remembering import remembered_s
from tests.plan.shared.test_shapes import shape

JOINED = "SELECT a.v FROM s [RANGE 5 SECONDS] AS a JOIN u [RANGE 7 SECONDS] AS b ON a.k = b.k WHERE {}"
WINDOWED = "SELECT k, sum(v) AS x FROM s GROUP BY k, window(t, '{}') HAVING sum(v) > 3"


@pytest.mark.parametrize(
    ("select", "expected_s"),
    [
        ("SELECT k FROM s WHERE v > 1", 0.0),
        ("SELECT k, count(*) AS c FROM s WHERE v > 1 GROUP BY k, window(t, '1 minute')", 0.0),
        (WINDOWED.format("1 minute"), 60.0),
        (WINDOWED.format("1 minute', '10 seconds"), 60.0),
        (
            JOINED.format("a.v > 1"),
            7.0,
        ),
        (
            JOINED.format("b.w > 1"),
            5.0,
        ),
        (
            JOINED.format("a.v > 1 AND b.w > 1"),
            0.0,
        ),
        (
            "SELECT k, max(x) AS m FROM (SELECT k, window, count(*) AS x FROM s "
            "GROUP BY k, window(t, '2 seconds')) GROUP BY k, window(window, '6 seconds') HAVING max(x) > 3",
            None,  # the outer window is by a column that is made, not the rows' time
        ),
        (
            "SELECT k, count(*) AS c FROM s GROUP BY k, session_window(t, '1 second') HAVING count(*) > 3",
            None,
        ),
        ("SELECT k, count(*) AS c FROM s [ROWS 10] GROUP BY k HAVING count(*) > 3", None),
    ],
)
def test_until_windows_are_closed(select: str, expected_s: float | None) -> None:
    found = shape(select)
    assert found is not None
    assert remembered_s(found.shape.root) == expected_s


def test_panes_and_windows_of_them() -> None:
    found = [shape(WINDOWED.format(f"{width} seconds")) for width in (2, 6)]
    short, long = with_panes([one.shape.query(f"q{n}") for n, one in enumerate(found) if one is not None])
    assert remembered_s(short.root) == 4.0  # the pane, and the window of one pane
    assert remembered_s(long.root) == 8.0
