"""Results are compared as bags, and in order where they have one."""

from __future__ import annotations

import pyarrow as pa

from penstock.verify.comparison import difference


def table(*values: float) -> pa.Table:
    return pa.table({"n": [*range(len(values))], "x": [*values]}).select(["x"])


def test_the_same_rows_elsewhere_are_a_difference_only_where_they_have_an_order() -> None:
    assert difference(table(1.0, 2.0, 3.0), table(1.0, 3.0, 2.0)) is None
    found = difference(table(1.0, 2.0, 3.0), table(1.0, 3.0, 2.0), in_order=True)
    assert found == "not in order: row 1 is 2.0 instead of 3.0"


def test_the_last_digits_of_doubles_are_none_in_order_either() -> None:
    assert difference(table(0.1 + 0.2, 1.0), table(0.3, 1.0), in_order=True) is None


def test_rows_that_are_missing_are_told_first() -> None:
    found = difference(table(1.0), table(1.0, 2.0), in_order=True)
    assert found is not None
    assert found.startswith("0 rows too many, 1 missing, of 2")
