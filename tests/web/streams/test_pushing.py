"""Rows by hand and from a file: what is sent, in which pieces, and what happens when it is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.engines.spark.ingest.sources.pushed_rows import fitted
from penstock.engines.spark.ingest.sources.types import arrow_type
from penstock.web.access.visitor import RefusedError
from penstock.web.streams import pushing, uploaded_files
from penstock.web.streams.pushing import FilePush, example_row, kind_of_json, row_of
from penstock.web.streams.uploaded_files import guess

TYPES = (
    "timestamp",
    "timestamp_ntz",
    "date",
    "boolean",
    "int",
    "bigint",
    "double",
    "decimal(10,2)",
    "string",
    "array<int>",
    "map<string,int>",
)


class Server:
    """Takes rows as the API does, as far as a page can tell."""

    def __init__(self, *refusals: RefusedError, most_bytes: int = 10**9) -> None:
        self.rows: dict[str, list[Any]] = {}
        self._refusals, self._most_bytes = list(refusals), most_bytes

    async def ask(self, method: str, path: str, *, content: bytes, headers: dict[str, str]) -> dict[str, Any]:
        assert (method, path) == ("POST", "/streams/s/rows")
        if self._refusals:
            raise self._refusals.pop(0)
        if len(content) > self._most_bytes:
            raise RefusedError("too large", 413)
        if "arrow" in headers["Content-Type"]:
            rows = pa.ipc.open_stream(content).read_all().to_pylist()
        else:
            rows = json.loads(content)
        assert headers["Idempotency-Key"] not in self.rows
        self.rows[headers["Idempotency-Key"]] = rows
        return {"rows": len(rows)}


def pushed(server: Server, tmp_path: Path, text: str, name: str = "f.json") -> FilePush:
    path = tmp_path / "f"
    path.write_text(text)
    found, push = guess(path, name), FilePush()
    asyncio.run(push.run(server, "s", path, found, found.columns, "key", lambda: None))  # type: ignore[arg-type]
    return push


def lines(count: int) -> str:
    return "".join(f'{{"n": {n}}}\n' for n in range(count))


def test_a_file_is_pushed_page_by_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded_files, "PAGE", 2)
    server = Server()
    push = pushed(server, tmp_path, lines(5))
    assert (push.rows, push.done, push.wrong) == (5, True, "")
    assert {key: len(rows) for key, rows in server.rows.items()} == {"key-1": 2, "key-2": 2, "key-3": 1}


@pytest.mark.parametrize("name", ["f.json", "f.csv"])
def test_what_is_too_large_goes_by_halves(tmp_path: Path, name: str) -> None:
    server = Server(most_bytes=1500)
    text = lines(300) if name == "f.json" else "n\n" + "".join(f"{n}\n" for n in range(300))
    push = pushed(server, tmp_path, text, name)
    assert (push.rows, push.done) == (300, True)
    assert [int(row["n"]) for rows in server.rows.values() for row in rows] == list(range(300))


def test_whoever_is_too_fast_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushing, "_PAUSE_S", 0.0)
    assert pushed(Server(RefusedError("wait", 429)), tmp_path, lines(1)).done


def test_a_refusal_is_told_and_ends_it(tmp_path: Path) -> None:
    push = pushed(Server(RefusedError("row 1 does not fit", 400)), tmp_path, lines(1))
    assert (push.done, push.wrong, push.rows) == (False, "row 1 does not fit", 0)


@pytest.mark.parametrize("type_", TYPES)
def test_an_example_of_every_type_fits_as_json(type_: str) -> None:
    row = json.loads(json.dumps(example_row([{"name": "x", "type": type_}], 1.8e9)))
    assert fitted("s", pa.schema([("x", arrow_type(type_))]), [row]).num_rows == 1


@pytest.mark.parametrize("type_", TYPES[:-2])
def test_an_example_of_every_simple_type_fits_as_text(type_: str) -> None:
    value = example_row([{"name": "x", "type": type_}], 1.8e9)["x"]
    text = str(value).lower() if isinstance(value, bool) else str(value)
    table = fitted("s", pa.schema([("x", arrow_type(type_))]), row_of({"x": text}))
    assert table.column("x").to_pylist() != [None]
    assert fitted("s", pa.schema([("x", arrow_type(type_))]), row_of({"x": ""})).column("x").to_pylist() == [
        None
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": 1}', "application/json"),
        ('[{"a": 1}]', "application/json"),
        ('{"a": 1}\n{"a": 2}', "application/x-ndjson"),
    ],
)
def test_json_in_either_form(text: str, kind: str) -> None:
    assert kind_of_json(text) == kind


@pytest.mark.parametrize(
    ("text", "why"),
    [('{"a": }', "line 1, column 7"), ('{"a": 1}\n{"a" 2}', "row 2, column 6"), ("3", "write an object")],
)
def test_json_that_is_none_says_where(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        kind_of_json(text)
