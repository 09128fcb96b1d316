"""Profiles: samples of what happens within a unit, by jobs of their own, beside the steps.

Steps tell how many rows went in and came out, and how long it took. Where several operators are one job, a
sample of its rows goes through two more kinds of jobs: one that counts rows and bytes between the operators,
and now and then some that take the processor time of each operator (see `probing`). They run in a thread of
their own, as often as `ProfileBudget` allows. Nothing depends on them: a sample that fails is not counted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal, TypeAlias, TypeVar

import pyarrow as pa

from penstock.adapt.budget import ProfileBudget
from penstock.adapt.observations import CountSample, Profile, RowSizes, TimeSample
from penstock.engines.spark.operators.base import Released
from penstock.engines.spark.session.cpu_time import CpuTime
from penstock.engines.spark.steps.prepared import Job, Jobs
from penstock.engines.spark.steps.probing import (
    counting,
    counts,
    resized,
    rows_in,
    timed_names,
    timing,
)
from penstock.engines.spark.steps.stages import divided, passed
from penstock.engines.spark.steps.steps import PartRun
from penstock.engines.spark.steps.units import JobPlan, ToQueue, ToSink
from penstock.errors import StepError
from penstock.model.graph import Port

Kind: TypeAlias = Literal["count", "time"]
Unit: TypeAlias = tuple[str, ...]
ResultT = TypeVar("ResultT")

#: A job is run with all rows and with this share of them: what differs is what rows cost.
_FEW = 0.02
#: Of several runs the shortest counts: what disturbs a run makes it longer. There are at least so many, and
#: more until the two shortest are as near to each other as this; then neither was disturbed, or both alike.
_REPEATS, _MOST_REPEATS, _NEAR, _FIXED_RUNS = 2, 4, 0.08, 3
#: Rows are chosen or repeated such that those of a part cost about so many processor seconds.
_WANTED_S, _LEAST_S, _MOST_S = 0.04, 0.02, 0.1
#: But no more than so many rows and bytes.
_MOST_ROWS, _MOST_BYTES = 200_000, 32 << 20
#: As many rows are counted as take about so long, but at least so many.
_COUNTING_S, _COUNTED_ROWS = 5.0, 10_000
#: Processor seconds of a job beside those of its tasks: to run it, and to plan it and make code for it.
_RUN_S, _PLANNING_S = 0.015, 0.3
#: Less than this says nothing.
_NOISE_S = 0.002
#: Jobs whose fixed cost is remembered, also of units that there are no more.
_MOST_KNOWN = 5000
#: Seconds between two looks at the processor time of everything.
_LOOK_S = 0.5


class _EndingError(Exception):
    """The engine stops."""


class Profiler:
    """Takes samples of steps, as far as the budget goes."""

    def __init__(self, jobs: Jobs, report: Callable[[Profile], None], budget: ProfileBudget) -> None:
        self._jobs, self._report, self._budget = jobs, report, budget
        self._clock = CpuTime(jobs.spark)
        self._lock = threading.Lock()
        self._ending = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="penstock-profile")
        self._used_s, self._next_look_s = self._clock.total_s(), 0.0
        self._spent_s = 0.0  # by the sample that is under way
        self._rows: dict[tuple[Unit, str], int] = {}  # that cost enough to be timed
        self._fixed: dict[tuple[str, str], list[float]] = {}
        self._as_text: set[str] = set()  # timing jobs whose values cannot be hashed

    def close(self) -> None:
        """Ends what is under way, as soon as its job is through."""
        self._ending = True
        self._pool.shutdown(wait=True)

    def keep(self, units: Iterable[Unit]) -> None:
        """Only these units are left."""
        there = set(units)
        with self._lock:
            self._budget.keep(lambda subject: subject[0] in there)  # type: ignore[index]
            self._rows = {key: rows for key, rows in self._rows.items() if key[0] in there}
            if len(self._fixed) > _MOST_KNOWN:
                self._fixed, self._as_text = {}, set()

    def stepped(self, unit: Unit, parts: Sequence[PartRun]) -> None:
        """A step is done; one of its parts may be sampled."""
        with self._lock:
            self._earn()
            for run in parts:
                out = sum(rows for rows, _ in run.came_out.values())
                passing = out / run.rows if run.rows else None
                for kind in kinds(run):
                    subject, jobs = (unit, run.key, kind), 1 if kind == "count" else 1 + len(run.part.stages)
                    wanted = self._budget.wanted(subject, run.seconds, passing, jobs * _PLANNING_S)
                    if wanted and not self._ending:
                        self._pool.submit(self._sample, unit, run, kind)

    def _earn(self) -> None:
        """Now and then looks how much work was done; steps' own seconds would count waiting, too."""
        if time.monotonic() < self._next_look_s:
            return
        self._next_look_s = time.monotonic() + _LOOK_S
        used_s = self._clock.total_s()
        self._budget.worked(max(used_s - self._used_s, 0.0))
        self._used_s = used_s

    def _sample(self, unit: Unit, run: PartRun, kind: Kind) -> None:
        """What the thread does."""
        self._spent_s, failed, profile = 0.0, False, Profile()
        try:
            if kind == "count":
                profile = Profile(counted=self._counted(run))
            else:
                profile = Profile(timed=self._timed(unit, run))
        except Exception:  # whatever it was, no step and no query has to do with it
            failed = True
        with self._lock:
            self._budget.done((unit, run.key, kind), self._spent_s, failed=failed)
        if not self._ending:
            self._report(replace(profile, seconds=self._spent_s))

    # --- counts ---

    def _counted(self, run: PartRun) -> CountSample:
        """Rows and bytes between operators; each stage is computed anew for those above it."""
        part = run.part
        most = max(_COUNTING_S / (run.seconds * len(part.stages) / 2), _COUNTED_ROWS / run.rows)
        factor = min(1.0, most)
        if run.releases is not None and factor < 1:
            return CountSample(())  # of some of the rows of a join there are fewer pairs than that
        given = resized(run.given, run.brought, factor)
        _, table = self._clocked(lambda: self._run(counting(part), given))
        found = counts(part, table)
        rows = {name: given[name].num_rows for name in run.brought}
        brought = sum(rows.values())
        rows |= {name: count for name, (count, _) in found.items()}
        free = {one.operator for one in passed(part.stages, run.known(), run.rows) if one.is_whole}
        weighed = {stage.name for stage in part.stages if _is_weighed(part, stage.name)}
        return CountSample(
            tuple(one for one in passed(part.stages, rows, brought) if one.operator not in free),
            tuple(
                RowSizes(Port(stage.operator, stage.port), *found[stage.name])
                for stage in part.stages
                if stage.columns and stage.name not in weighed
            ),
        )

    # --- seconds ---

    def _timed(self, unit: Unit, run: PartRun) -> TimeSample | None:
        """What its rows cost; None if there are too few to say."""
        part = run.part
        names = ["", *(timed_names(part) if len(run.operators) > 1 else ())]  # the first is the whole of it
        factor = self._factor(unit, run)
        given, few = (resized(run.given, run.brought, one) for one in (factor, factor * _FEW))
        brought, fewer = (sum(one[name].num_rows for name in run.brought) for one in (given, few))
        if brought <= fewer:
            return None
        rows = {name: given[name].num_rows for name in run.brought}
        costs: dict[str, list[float]] = {name: [] for name in names}
        is_new = any((part.released.sql, name) not in self._fixed for name in names)
        for repeat in range(1, _MOST_REPEATS + 1):
            for name in names:
                cost_s, rows[name] = self._cost(part, name, given)
                costs[name].append(cost_s)
            enough = _REPEATS + is_new  # in the first one code is made for them
            if repeat >= enough and all(map(_is_settled, costs.values())):
                break
        fixed = {name: self._fixed_s(part, name, few) for name in names}
        scale = brought / (brought - fewer)
        seconds = {name: max(min(costs[name]) - fixed[name], 0.0) * scale for name in names}
        whole_s = seconds.pop("")
        if whole_s < _NOISE_S:
            return None
        ends = {name: float(size) for name, (_, size) in run.came_out.items()}
        shares = divided(part.stages, ends, seconds, whole_s) if seconds else {run.operators[0]: whole_s}
        total = sum(shares.values())
        return TimeSample(
            unit,
            run.key,
            {operator: share / total * whole_s for operator, share in shares.items()},
            rows_in(part.stages, rows, run.releases),
            brought,
            run.releases,
        )

    def _factor(self, unit: Unit, run: PartRun) -> float:
        """How many times the step's rows are to be taken, so that they cost enough and not too much."""
        if run.releases is not None:
            return 1.0  # pairs of rows grow faster than rows
        size: int = sum(run.given[name].nbytes for name in run.brought)
        most = min(_MOST_ROWS, _MOST_BYTES * run.rows // max(size, 1))
        rows = self._rows.get((unit, run.key))
        if rows is None:
            rows = self._enough_rows(run, most)
            with self._lock:
                self._rows[unit, run.key] = rows
        return max(1, min(rows, most)) / run.rows

    def _enough_rows(self, run: PartRun, most: int) -> int:
        rows = max(1, round(run.rows * min(1.0, _MOST_S / run.seconds)))
        for _ in range(3):
            given, few = (resized(run.given, run.brought, n / run.rows) for n in (rows, rows * _FEW))
            cost_s = self._cost(run.part, "", given)[0] - self._fixed_s(run.part, "", few)
            if _LEAST_S <= cost_s <= _MOST_S or (cost_s < _LEAST_S and rows >= most):
                break
            rows = max(1, min(most, round(rows * min(_WANTED_S / max(cost_s, 1e-3), 16.0))))
        return rows

    def _fixed_s(self, part: JobPlan, name: str, few: Mapping[str, pa.Table]) -> float:
        """What a job costs with hardly any rows; that does not change."""
        known = self._fixed.setdefault((part.released.sql, name), [])
        if len(known) < _FIXED_RUNS:
            known.append(self._cost(part, name, few)[0])
        return min(known)

    def _cost(self, part: JobPlan, name: str, given: Mapping[str, pa.Table]) -> tuple[float, int]:
        """Processor seconds of the whole of a part, or of computing a stage; and that stage's rows."""
        if name:
            return self._clocked(lambda: self._probe(part, name, given))
        return self._clocked(
            lambda: len(part.outputs(self._run(part.released, given, together=part.together), given))
        )

    def _clocked(self, action: Callable[[], ResultT]) -> tuple[float, ResultT]:
        seconds, result = self._clock.of(action)
        self._spent_s += seconds
        return seconds, result

    def _probe(self, part: JobPlan, name: str, given: Mapping[str, pa.Table]) -> int:
        """Runs a timing job; how many rows there were."""
        hashed = timing(part, name)
        if hashed.sql not in self._as_text:
            try:
                return int(self._run(hashed, given)["n"][0].as_py())
            except StepError:
                self._as_text.add(hashed.sql)
        return int(self._run(timing(part, name, as_text=True), given)["n"][0].as_py())

    def _run(self, released: Released, given: Mapping[str, pa.Table], *, together: bool = True) -> pa.Table:
        """Runs a job; what counts needs its rows in one partition, or it would be planned anew each time."""
        if self._ending:
            raise _EndingError
        job: Job = self._jobs.prepare(released, together=together)
        self._spent_s += _RUN_S if job.is_planned else _PLANNING_S
        try:
            return job.run(given)
        finally:
            self._jobs.give_back(job)


def _is_settled(costs: Sequence[float]) -> bool:
    """Whether another run would hardly be shorter."""
    shortest, second = sorted(costs)[:2]
    return second <= shortest * (1 + _NEAR)


def kinds(run: PartRun) -> list[Kind]:
    """What a sample of a part would tell that its steps do not."""
    if not run.part.needs_job or not run.rows:
        return []
    if len(run.operators) == 1:
        return ["time"] if run.releases is None else []  # what any step costs, and what its rows do
    found: list[Kind] = ["time"]
    known = run.known()
    unseen = any(stage.name not in known for stage in run.part.stages if not stage.select)
    unweighed = any(stage.columns and not _is_weighed(run.part, stage.name) for stage in run.part.stages)
    return ["count", *found] if unseen or unweighed else found


def _is_weighed(part: JobPlan, name: str) -> bool:
    """Whether a stage's rows are weighed in each step, as they leave the unit."""
    return any(end == name and isinstance(target, ToQueue | ToSink) for target, end in part.ends.items())
