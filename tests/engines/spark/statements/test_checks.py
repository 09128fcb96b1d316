"""What could not be run is refused before Spark starts, with its place in the text."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli import main
from penstock.engines.spark.statements.checks import check_all
from penstock.errors import SqlError

STREAM = "CREATE STREAM s (t TIMESTAMP, v INT, WATERMARK FOR t) USING push;\n"
QUERY = "CREATE CONTINUOUS QUERY q AS SELECT v FROM s;\n"


@pytest.mark.parametrize(
    ("sql", "place", "says"),
    [
        (f"{STREAM}{QUERY}CREATE SINK k FROM q USING kafka;", (3, 13), "no format 'kafka'"),
        (f"{STREAM}{QUERY}CREATE SINK k FROM q USING csv;", (3, 13), "csv needs a directory"),
        (f"{STREAM}{QUERY}CREATE SINK k FROM q USING csv OPTIONS (pat 'x');", (3, 13), "Did you mean 'path'"),
        (f"{STREAM}{QUERY}CREATE SINK k FROM q USING memory OPTIONS (rows 'x');", (3, 13), "not a number"),
        (f"{STREAM}\nCREATE STREAM u (v INT) USING csv;", (3, 15), "option 'path': it is missing"),
        ("CREATE STREAM u (v INT) USING push OPTIONS (pace '1/s');", (1, 15), "no such option"),
        ("CREATE STREAM u (v INT) USING csv OPTIONS (path 'x', rate 'fast');", (1, 15), "rate"),
        ("CREATE TABLE u (v INT) USING kafka;", (1, 14), "no format 'kafka'"),
        ("CREATE TABLE u (v INT) USING csv OPTIONS (path 'x', paht 'y');", (1, 14), "Did you mean 'path'"),
    ],
)
def test_formats_and_options_that_there_are_not(
    tmp_path: Path, sql: str, place: tuple[int, int], says: str
) -> None:
    with pytest.raises(SqlError, match=says) as refused:
        check_all(sql, tmp_path)
    assert (refused.value.line, refused.value.column) == place
    assert "^" in str(refused.value)


def test_paths_are_not_looked_at(tmp_path: Path) -> None:
    sql = f"{STREAM}{QUERY}CREATE STREAM u (v INT) USING csv OPTIONS (path 'nowhere');"
    check_all(f"{sql} CREATE SINK k FROM q USING csv OPTIONS (path '/proc/nope/x');", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["explain", "run"])
def test_explain_refuses_what_run_refuses(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.sql").write_text(f"{STREAM}{QUERY}CREATE SINK k FROM q USING kafka;")
    monkeypatch.setattr("sys.argv", ["penstock", command, str(tmp_path / "q.sql")])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert "line 3, column 13: sink 'k': there is no format 'kafka'" in said
    assert "starting Spark" not in said
