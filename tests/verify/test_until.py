"""`verify --until` on streams without end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from penstock.verify.schedules import schedules
from penstock.verify.verifying import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENDLESS = """\
CREATE STREAM temps (t TIMESTAMP, id INT, room STRING, WATERMARK FOR t) USING generator OPTIONS (
    rate '400/s', columns.t 'time(10ms)', columns.id 'sequence', columns.room 'choice(hall, attic)');
CREATE CONTINUOUS QUERY counts AS
    SELECT room, window.end AS until, count(*) AS n FROM temps GROUP BY room, window(t, '1 minute');
CREATE CONTINUOUS QUERY some AS SELECT id FROM temps WHERE id % 10 = 3;
"""


def test_windows_that_are_open_when_time_is_up_are_compared_as_closed(
    spark: SparkSession, tmp_path: Path
) -> None:
    found = list(verify(ENDLESS, tmp_path, spark, schedules(["fcfs"], 0)[:1], until=2.0))
    assert [one.query for one in found] == ["counts", "some"]
    assert [one.difference for one in found] == [None, None]
    assert all(one.rows for one in found)
