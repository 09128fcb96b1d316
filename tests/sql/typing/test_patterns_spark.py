"""What we say of patterns and formats, Spark's own formatters say too; and what may be used draws no lots."""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING

import pytest

from penstock.sql.typing.functions.patterns import date_pattern_problem, number_pattern_problem
from tests.sql.typing.function_examples import AGGREGATES, SCALARS, SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What letters alone do not show: quotes, brackets, signs, and letters together.
_WHOLE = """[yyyy; yyyy]; yyyy'; 'T'; yyyy-MM-dd'T'HH:mm; {; }; #; yyyy''; ''; é; yyyy年; hh:mm a; HH24:MI:SS
yyyy[-MM[-dd]]; GGGG y; YYYY-MM-DD; yyyy-MM-dd HH:mm:ss.SSSSSS; E, d MMM yyyy; '#'; dd/MM/yy
yyyyMMdd; ; ]["""


@pytest.mark.parametrize("reading", [False, True], ids=["written", "read"])
def test_a_date_pattern_is_refused_if_spark_refuses_it(spark: SparkSession, reading: bool) -> None:
    java = spark._jvm  # type: ignore[attr-defined]
    zone = java.java.time.ZoneId.of("UTC")

    def spark_takes(pattern: str) -> bool:
        try:
            made = java.org.apache.spark.sql.catalyst.util.TimestampFormatter.apply(pattern, zone, reading)
            made.validatePatternString(False)
        except Exception:
            return False
        return True

    letters = [letter * times for letter in string.ascii_letters for times in (1, 2, 5)]
    letters += [letter * times for letter in "aDdEGLOQSvVyzZ" for times in (3, 4, 6, 7, 9, 10)]
    whole = [part.strip() for part in _WHOLE.replace("\n", ";").split(";")]
    wrong = [
        pattern
        for pattern in (*letters, *whole)
        if (date_pattern_problem(pattern, reading=reading) is None) != spark_takes(pattern)
    ]
    assert wrong == []


def test_a_number_format_is_refused_if_spark_refuses_it(spark: SparkSession) -> None:
    chance = random.Random(1)
    made = {
        "".join(chance.choices(["0", "9", ",", "G", ".", "D", "S", "MI", "PR", "$"], k=n)) for n in range(7)
    }
    for _ in range(100):
        parts = chance.choices(["9", "0", "99", ",", ".", "$", "S", "MI", "PR"], k=chance.randint(1, 5))
        made.add("".join(parts))
    made |= {
        "999,990.00",
        "$99.9",
        "S99",
        "99MI",
        "99PR",
        "9,999",
        ",99",
        "99,",
        "foo",
        "",
        "9$",
        "S9S",
        "<99>",
    }

    def spark_takes(text: str) -> bool:
        try:
            spark.sql(f"SELECT to_number('1', '{text}')")
        except Exception:
            return False
        return True

    wrong = [text for text in sorted(made) if (number_pattern_problem(text) is None) != spark_takes(text)]
    assert wrong == []


def test_spark_calls_every_usable_function_deterministic(spark: SparkSession) -> None:
    nothing = ", ".join(f"CAST(NULL AS {field.type}) AS {field.name}" for field in SCHEMA.fields)
    for calls, grouped in ((SCALARS, ""), (AGGREGATES, " GROUP BY bn")):
        picked = ", ".join(f"{call} AS x{place}" for place, call in enumerate(calls))
        plan = spark.sql(f"SELECT {picked} FROM (SELECT {nothing}){grouped}")._jdf.queryExecution().analyzed()
        said = plan.expressions()
        found = [said.apply(place) for place in range(said.size())]
        assert [one.toString() for one in found if not one.deterministic()] == []


#: Where a library draws lots, Spark's word is not enough: only repeating shows it.
_REPEATED = """
approx_count_distinct(i); approx_percentile(d, 0.37, 100); approx_top_k(s); approx_top_k_accumulate(s)
histogram_numeric(d, 20); hll_sketch_agg(i); theta_sketch_agg(i); tuple_sketch_agg_double(i, d)
tuple_sketch_agg_integer(i, i); count_min_sketch(i, 0.1D, 0.9D, 1)
bitmap_construct_agg(bitmap_bit_position(i)); mode(i); first(aes_encrypt(s, '0000111122223333', 'ECB'))
first(aes_encrypt(s, '0000111122223333', 'GCM', 'DEFAULT', '123456789012')); first(hmac(s, 'k'))
"""


def test_sketches_and_ciphers_are_the_same_when_computed_again(spark: SparkSession) -> None:
    calls = [call.strip() for line in _REPEATED.strip().splitlines() for call in line.split(";")]
    rows = (
        "SELECT int(id * 7919 % 9000) AS i, double(id) AS d, string(id % 977) AS s FROM range(0, 9000, 1, 1)"
    )
    picked = ", ".join(f"{call} AS x{place}" for place, call in enumerate(calls))
    first, second = (spark.sql(f"SELECT {picked} FROM ({rows})").collect()[0] for _ in range(2))
    assert [call for place, call in enumerate(calls) if first[place] != second[place]] == []
    again = [spark.sql(f"SELECT hex(kll_sketch_agg_double(d)) FROM ({rows})").collect() for _ in range(2)]
    assert again[0] != again[1], "KLL sketches draw lots, which is why they are refused"
