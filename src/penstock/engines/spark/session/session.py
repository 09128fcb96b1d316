"""The Spark session: made here, or taken from the user and given settings of our own."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark import SparkContext
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from penstock.engines.spark.session.masters import await_executors, check_answers, check_conf
from penstock.errors import EngineError

JAVA_VERSION = 17

#: A unit's job has some ten generated classes. With Spark's 100 kept, those of many queries would push each
#: other out and be compiled again in every step.
CODEGEN_ENTRIES = "10000"

#: For a Spark that lives for minutes: Java's second compiler would take half a core for most of them.
BRIEF_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"

#: Settings of our session alone; one that the user hands in keeps its own.
SETTINGS = {
    # Steps are small: one partition needs no exchange, so that a plan can be run again (see `prepared`).
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.noDataProgressEventInterval": "1s",  # how often a source's silence is told
    "spark.sql.adaptive.enabled": "false",
    # It makes scalar subqueries of aggregates without groups, and a plan keeps their values (see `prepared`).
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.execution.planmerging.MergeSubplans",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.files.maxPartitionBytes": str(1 << 42),
    "spark.sql.maxSinglePartitionBytes": str(1 << 62),  # or large inputs of a join would be exchanged
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.parquet.filterPushdown": "false",
    # No limit, which Spark would read from 0 as well; but tables that are sent cannot be cut into parts of 0.
    "spark.sql.execution.arrow.maxRecordsPerBatch": str((1 << 31) - 1),
    # Or Spark would compute on small inputs that are sent to a cluster while it plans, in the driver.
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Or `'${env:HOME}'` in a query would be what this machine's environment, properties or settings have.
    "spark.sql.variable.substitute": "false",
}


def make(
    workers: int = 2,
    master: str | None = None,
    log: Path | None = None,
    *,
    brief: bool = False,
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session on that master, else on the one that the environment names, else on this machine's cores.

    What the JVM says goes to a file, by default a temporary one: it is for developers, not for users. One
    that is `brief` is warm sooner and slower in the long run. `conf` are settings of Spark's.
    """
    check_conf(conf or {}, SETTINGS)
    running = SparkContext._active_spark_context
    if running is not None and (conf or (master is not None and master != running.master)):
        raise EngineError(
            f"this process has a Spark already, on {running.master}, and cannot have one with another master "
            "or other settings; stop that one, or pass it as the session to use"
        )
    named = master or os.environ.get("MASTER")
    if named is not None:
        check_answers(named)
    if "SPARK_REMOTE" not in os.environ:
        _check_java()
    _hush_python()
    builder = SparkSession.builder.appName("penstock")
    if master is not None:
        builder = builder.master(master)
    elif "MASTER" not in os.environ and "PYSPARK_SUBMIT_ARGS" not in os.environ:
        builder = builder.master(f"local[{max(workers, os.cpu_count() or 1)}]")
    options = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
    if brief:
        options += f" {BRIEF_OPTIONS}"
    builder = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.codegen.cache.maxEntries", CODEGEN_ENTRIES)
        .config("spark.driver.extraJavaOptions", options)
    )
    for name, value in (conf or {}).items():
        builder = builder.config(name, value)
    said = log or Path(tempfile.mkstemp(prefix="penstock-spark-", suffix=".log")[1])
    if log is None:
        atexit.register(said.unlink, missing_ok=True)
    try:
        with _errors_to(said):  # the JVM keeps the standard error it is started with
            spark = builder.getOrCreate()
    except Exception as error:
        if log is None:
            atexit.unregister(said.unlink)
        on = f" on {named}" if named is not None else ""
        raise EngineError(
            f"Spark does not start{on}: {_first_line(error)}; what it said is in {said}"
        ) from error
    if running is None and not is_local(spark):
        try:
            await_executors(spark, spark.sparkContext.master or "Spark")
        except BaseException:
            spark.stop()
            raise
    return spark


def _first_line(error: Exception) -> str:
    """What went wrong; of an error in the JVM, what the JVM says."""
    return str(getattr(error, "java_exception", error)).strip().partition("\n")[0]


@contextmanager
def _errors_to(path: Path) -> Iterator[None]:
    """The process's standard error in a file, for a while."""
    sys.stderr.flush()
    kept = os.dup(2)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(file, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(file)


def own(spark: SparkSession) -> SparkSession:
    """A session on the same Spark with our settings."""
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return session


#: What says a failed task's whole stack, though a query that fails is told in a line.
_LOUD = ("org.apache.spark.executor.Executor", "org.apache.spark.scheduler.TaskSetManager")


def hush(spark: SparkSession) -> Callable[[], None]:
    """Keeps Java's stacks of failed tasks off the terminal, on a Spark that somebody else made too.

    What is returned takes it back, for what of it is Java's.
    """
    _hush_python()
    try:
        log4j = spark.sparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
        before = [(name, log4j.LogManager.getLogger(name).getLevel()) for name in _LOUD]
        for name, _ in before:
            log4j.core.config.Configurator.setLevel(name, log4j.Level.OFF)
    except Exception:  # another way of logging, or Spark Connect: nothing is lost but quiet
        return lambda: None

    def restore() -> None:
        with suppress(Exception):
            for name, level in before:
                log4j.core.config.Configurator.setLevel(name, level)

    return restore


def _hush_python() -> None:
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):  # of an error, Java's whole stack
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def is_running() -> bool:
    """Whether this process has a Spark already, which then is somebody else's."""
    return SparkContext._active_spark_context is not None


def is_alive(spark: SparkSession) -> bool:
    """Whether there is still a Spark behind it."""
    try:
        return not spark.sparkContext._jsc.sc().isStopped()
    except Exception:  # py4j says in several ways that nobody answers
        return False


def is_local(spark: SparkSession) -> bool:
    """Whether tasks see the driver's files."""
    return (spark.sparkContext.master or "").startswith("local")


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    how = (
        f"install Java {JAVA_VERSION} or newer (on Debian: apt install openjdk-17-jre-headless; on a Mac: "
        "brew install openjdk@17), or set JAVA_HOME to where it is"
    )
    if java is None or not Path(java).exists():
        raise EngineError(f"Spark needs Java, which was not found; {how}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = said.partition('version "')[2].partition('"')[0]
    number = version.removeprefix("1.").partition(".")[0].partition("-")[0]
    if number.isdigit() and int(number) < JAVA_VERSION:
        raise EngineError(f"Spark needs Java {JAVA_VERSION}, but {java} is Java {version}; {how}")
