"""What Spark says of a job that failed, in words for the one who wrote the query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from penstock.errors import FunctionError, StepError

LONGEST = 1000

#: What surrounds what a function in Python did in the text of an error, and stands before what is a limit's.
OPENING, CLOSING, LIMIT = "<<penstock function: ", " :penstock>>", "limit: "

#: What Spark says of a Python worker that has ended in the middle of its work.
_CRASHED = "Python worker exited unexpectedly"

#: Where Java's stack, Spark's plan or the SQL that we made of the query begins.
_DETAILS = re.compile(r"\n== (SQL|DataFrame)|\n\s*JVM stacktrace|\n\tat |;? \(?line \d+,? pos \d+")
_NOISE = re.compile(
    r"\s*SQLSTATE: \w+"
    r"|You may get a different result due to the upgrading to Spark >= [\d.]+:\s*"
    r"|\b\d\) (?=You )"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])")


@contextmanager
def as_step_errors() -> Iterator[None]:
    """Whatever Spark raises, planning or running, becomes a StepError: a step fails, the engine goes on."""
    try:
        yield
    except PySparkException as error:
        raise _of_function([str(error)]) or StepError(in_words(str(error))) from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise StepError(str(error)) from error
    except Py4JJavaError as error:
        texts = _causes(error)
        raise _of_function(texts) or StepError(in_words(_innermost(texts))) from error


def _of_function(texts: Sequence[str]) -> FunctionError | None:
    """What a function in Python did, if it was one: a worker says so, or leaves a note when it dies."""
    for text in texts:
        opening = text.find(OPENING)
        closing = text.find(CLOSING, opening)
        if opening < 0 or closing < 0:
            continue
        said = text[opening + len(OPENING) : closing]
        if _CRASHED in text[:opening]:
            if "Timeout (" in text[closing:]:
                return FunctionError(f"{said} took too long, in code that cannot be interrupted", limit=True)
            return FunctionError(f"{said} ended the process that it ran in", limit=True)
        return FunctionError(said.removeprefix(LIMIT)[:LONGEST], limit=said.startswith(LIMIT))
    return None


def in_words(text: str) -> str:
    """The message without stacks and plans, and without settings of Spark, which have no effect here."""
    found = _DETAILS.search(text)
    said = _NOISE.sub(" ", text[: found.start()] if found is not None else text)
    kept = [part for part in _SENTENCE.split(" ".join(said.split())) if "spark.sql." not in part]
    return " ".join(kept)[:LONGEST]


def _causes(error: Py4JJavaError) -> list[str]:
    """What Java says of an error, and of each that caused it."""
    thrown, found = error.java_exception, []
    while thrown is not None:
        found.append(str(thrown.getMessage() or thrown.toString()))
        thrown = thrown.getCause()
    return found


def _innermost(texts: Sequence[str]) -> str:
    """What went wrong first; what wraps it only says that something did. Of a worker's end that says more."""
    return next((text for text in texts if _CRASHED in text), texts[-1])
