"""A function called as Spark's workers do it, in a process of its own, without Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from penstock.engines.spark.functions.worker import CLOSING, LIMIT, OPENING, FunctionFailure, Worker
from penstock.engines.spark.session import spark_errors

MODULES = Path(__file__).parent / "modules"


def worker(
    target: str | None,
    takes: list[pa.DataType] | None = None,
    returns: pa.DataType | None = None,
    *,
    pickled: bytes | None = None,
    aggregate: bool = False,
    timeout_s: float = 5.0,
    memory_bytes: int = 64_000_000,
    roots: list[str] | None = None,
) -> Worker:
    return Worker(
        "f",
        target,
        pickled,
        takes or [pa.float64()],
        returns or pa.float64(),
        aggregate=aggregate,
        timeout_s=timeout_s,
        memory_bytes=memory_bytes,
        paths=[str(MODULES)],
        roots=roots,
    )


def failure(made: Worker, *columns: pa.Array) -> str:
    with pytest.raises(FunctionFailure) as raised:
        made(*(columns or (pa.array([0.0, 1.0]),)))
    text = str(raised.value)
    assert text.startswith(OPENING)
    assert text.endswith(CLOSING)
    return text.removeprefix(OPENING).removesuffix(CLOSING)


# --- results ---


def test_a_function_of_rows_is_called_for_each_of_them_missing_values_included() -> None:
    found = worker("sound:half")(pa.array([1.0, None, 5.0]))
    assert found.to_pylist() == [0.5, None, 2.5]
    assert found.type == pa.float64()


def test_one_of_columns_gets_them_as_arrow_or_pandas_in_batches() -> None:
    values = [float(n) for n in range(2_500)]
    assert worker("sound:tripled")(pa.array(values)).to_pylist() == [value * 3 for value in values]
    above = worker("sound:above", returns=pa.bool_())(pa.array(values))
    assert above.to_pylist() == [value > 50 for value in values]


def test_an_aggregate_gets_its_group_as_a_list_for_each_parameter() -> None:
    row = pa.struct([("x", pa.float64()), ("weight", pa.int64())])
    groups = [[{"x": 1.0, "weight": 2}, {"x": 3.0, "weight": 4}], [], None]
    found = worker("sound:weighted", [pa.list_(row)], aggregate=True)(pa.array(groups, pa.list_(row)))
    assert found.to_pylist() == [13.0, 0.0, 0.0]


def test_whole_numbers_are_given_as_what_the_function_takes() -> None:
    assert worker("sound:half")(pa.array([3], pa.int32())).to_pylist() == [1.5]


def test_a_number_becomes_a_decimal_if_it_has_room_for_it() -> None:
    pickled = cloudpickle.dumps(_same)  # type: ignore[no-untyped-call]
    exact = worker(None, [pa.decimal128(5, 2)], pa.decimal128(5, 2), pickled=pickled)
    assert exact(pa.array([3, None], pa.int64())).to_pylist() == [Decimal("3.00"), None]
    assert failure(exact, pa.array([1_000])).startswith(
        "function 'f' takes decimal128(5, 2): ArrowInvalid: Decimal value does not fit in precision"
    )


def _same(x: Decimal) -> Decimal:
    return x


def test_several_rows_for_one_are_an_array_of_structs() -> None:
    row = pa.list_(pa.struct([("place", pa.int32()), ("word", pa.string())]))
    found = worker("sound:parts", [pa.string()], row)(pa.array(["to be"]))
    assert found.to_pylist() == [[{"place": 0, "word": "to"}, {"place": 1, "word": "be"}]]


def test_no_rows_are_no_results() -> None:
    assert worker("sound:half")(pa.array([], pa.float64())).to_pylist() == []


# --- what goes wrong ---


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("faulty:raises", "function 'f' (faulty:raises) raised ValueError: 0.0 is beyond me, at (0.0)"),
        ("faulty:leaves", "function 'f' (faulty:leaves) raised SystemExit: enough, at (0.0)"),
        (
            "faulty:wrong",
            "function 'f' (faulty:wrong) returned what is no double: ArrowInvalid: Could not convert "
            "'no number' with type str: tried to convert to double",
        ),
        (
            "nowhere:f",
            "function 'f' (nowhere:f) cannot be loaded: ModuleNotFoundError: No module named 'nowhere'",
        ),
        (
            "broken:f",
            "function 'f' (broken:f) cannot be loaded: ModuleNotFoundError: "
            "No module named 'no_such_module_anywhere'",
        ),
        ("sound:nothing", "function 'f' (sound:nothing): module 'sound' has no function 'nothing'"),
        (
            "sound:score",
            "function 'f' (sound:score) raised TypeError: score() missing 1 required positional argument: "
            "'country', at (0.0)",
        ),
    ],
)
def test_what_a_function_did_is_said_in_a_line(target: str, said: str) -> None:
    assert failure(worker(target)) == said


def test_one_that_nobody_has_registered_again_says_what_to_do() -> None:
    assert failure(worker(None)) == (
        "function 'f' was registered by a program, and not again since the engine has started; register it, "
        "and its queries go on"
    )


def test_one_of_columns_must_return_as_many_values() -> None:
    pickled = cloudpickle.dumps(_first_only)  # type: ignore[no-untyped-call]
    assert failure(worker(None, pickled=pickled)) == (
        "function 'f' returned 1 values for 2 rows; it must be one for each"
    )


def _first_only(x: pa.Array) -> pa.Array:
    return x[:1]


def test_a_long_value_is_cut_short() -> None:
    said = failure(worker("faulty:raises", [pa.string()]), pa.array(["x" * 1000]))
    assert said.endswith(", at ('" + "x" * 38 + "…)")


def test_what_surrounds_a_reason_is_what_errors_of_spark_are_searched_for() -> None:
    assert (OPENING, CLOSING, LIMIT) == (spark_errors.OPENING, spark_errors.CLOSING, spark_errors.LIMIT)


# --- limits ---

_CALLED = """
import faulthandler, sys
import pyarrow as pa
from tests.engines.spark.functions.test_worker import worker
target, timeout_s = sys.argv[1], float(sys.argv[2])
made = worker(target, timeout_s=timeout_s)
for _ in range(int(sys.argv[3])):
    try:
        print(made(pa.array([0.0, 1.0])).to_pylist())
    except Exception as error:
        print(error)
"""


def apart(target: str, timeout_s: float, times: int = 1, **environment: str) -> Any:
    """A call in another process, which may end."""
    return subprocess.run(
        [sys.executable, "-c", _CALLED, target, str(timeout_s), str(times)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={"PYTHONPATH": str(Path(__file__).parents[4]), **environment},
    )


@pytest.mark.parametrize(
    ("target", "timeout_s", "reason"),
    [
        ("faulty:sleeps", 0.2, "took longer than 0.2 s, at (0.0)"),
        ("faulty:takes_10_gb", 20.0, "wanted more than 64 MB of memory, at (0.0)"),
        ("faulty:grows", 20.0, "wanted more than 64 MB of memory, at (0.0)"),
    ],
)
def test_a_call_beyond_a_limit_is_broken_off_and_its_process_goes_on(
    target: str, timeout_s: float, reason: str
) -> None:
    said = f"{OPENING}{LIMIT}function 'f' ({target}) {reason}{CLOSING}"
    assert apart(target, timeout_s, times=2).stdout.splitlines() == [said, said]


def test_what_a_function_keeps_from_call_to_call_counts() -> None:
    first, second, third = apart("faulty:keeps", 20.0, times=3).stdout.splitlines()
    assert (first, second) == ("[1.0, 2.0]", "[3.0, 4.0]")
    assert "wanted more than 64 MB of memory" in third


@pytest.mark.parametrize("target", ["faulty:sleeps_on", "faulty:counts"])
def test_a_call_that_cannot_be_interrupted_ends_its_process_and_leaves_a_note(
    target: str, tmp_path: Path
) -> None:
    ended = apart(target, 0.2, PYTHON_FAULTHANDLER_DIR=str(tmp_path))
    assert ended.returncode == 1
    (note,) = tmp_path.iterdir()
    said = re.escape(f"{OPENING}function 'f' ({target}){CLOSING}")
    assert re.match(rf"{said}\nTimeout \(", note.read_text("utf-8"))


@pytest.mark.parametrize("target", ["faulty:ends", "faulty:is_killed", "faulty:breaks"])
def test_one_that_ends_its_process_leaves_a_note(target: str, tmp_path: Path) -> None:
    ended = apart(target, 20.0, PYTHON_FAULTHANDLER_DIR=str(tmp_path))
    assert ended.returncode != 0
    (note,) = tmp_path.iterdir()
    assert note.read_text("utf-8").startswith(f"{OPENING}function 'f' ({target}){CLOSING}\n")


def test_a_good_call_leaves_no_note_and_no_limits_behind(tmp_path: Path) -> None:
    ended = apart("sound:half", 5.0, PYTHON_FAULTHANDLER_DIR=str(tmp_path))
    assert ended.stdout == "[0.0, 0.5]\n"
    assert [note.read_text("utf-8") for note in tmp_path.iterdir()] == [""]


# --- where modules may be ---


def test_a_module_must_be_below_the_roots_before_any_of_its_code_runs(tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("open('ran', 'w')\ndef f(x): return x\n")
    confined = Worker(
        "f", "outside:f", None, [pa.float64()], pa.float64(),
        aggregate=False, timeout_s=5.0, memory_bytes=64_000_000,
        paths=[str(tmp_path)], roots=[str(MODULES)],
    )  # fmt: skip
    assert failure(confined) == (
        "function 'f' (outside:f): module 'outside' is not below the directories that this server allows "
        "for functions"
    )
    assert worker("sound:half", roots=[str(MODULES)])(pa.array([3.0])).to_pylist() == [1.5]


def test_what_an_allowed_module_has_imported_from_elsewhere_is_refused() -> None:
    assert failure(worker("sound:Any", roots=[str(MODULES)])).endswith(
        "is not below the directories that this server allows for functions"
    )
    said = failure(worker("os:system", roots=[str(MODULES)]))
    assert said.startswith("function 'f' (os:system): module 'os' is not below the directories")
