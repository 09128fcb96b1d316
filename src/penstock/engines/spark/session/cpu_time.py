"""How long Spark's tasks were at work: processor seconds, whatever else the machine does meanwhile.

Spark counts them for each task. They are in the store behind its web interface, which is kept without one,
too; from there it is not public. Tried on PySpark 4.3.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import SparkSession

from penstock.errors import EngineError

ResultT = TypeVar("ResultT")

_SERIAL = itertools.count()
#: Seconds until a job that is through is in the store.
_PATIENCE_S = 2.0


class CpuTime:
    """Measures what is run in one thread."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext

    def of(self, action: Callable[[], ResultT]) -> tuple[float, ResultT]:
        """The processor seconds of an action, of this thread and of the tasks that it starts; its result."""
        group = f"penstock-cpu-{next(_SERIAL)}"
        self._context.setJobGroup(group, "what operators cost")
        began_s = time.thread_time()
        result = action()
        own_s = time.thread_time() - began_s
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [stage for job in jobs if job is not None for stage in job.stageIds]
        return own_s + sum(map(self._tasks_s, stages)), result

    def total_s(self) -> float:
        """The processor seconds of this process and of its JVM, since they began."""
        jvm = self._context._jvm
        assert jvm is not None
        used = jvm.java.lang.ProcessHandle.current().info().totalCpuDuration()
        return time.process_time() + (used.get().toNanos() * 1e-9 if used.isPresent() else 0.0)

    def _tasks_s(self, stage: int) -> float:
        store = self._context._jsc.sc().statusStore()
        until_s = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until_s:
            found = store.lastStageAttempt(stage)
            if found.status().toString() == "COMPLETE":
                return float(found.executorCpuTime()) * 1e-9
            time.sleep(0.002)
        raise EngineError("Spark does not say how long its tasks were at work")
