"""Workers: threads that run steps and say what came of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.control.commands import RunStep, Take
from penstock.control.units import UnitState
from penstock.engines.spark.bisection import culprits
from penstock.engines.spark.operators.base import END, StatefulOperator
from penstock.engines.spark.operators.registry import stateful_operators
from penstock.engines.spark.prepared import Jobs
from penstock.engines.spark.progress import Progress
from penstock.engines.spark.relations import Relations
from penstock.engines.spark.results import Results, StagedResult
from penstock.engines.spark.rosters import Member
from penstock.engines.spark.steps import Held, Known, Result, UnitRunner
from penstock.engines.spark.store import Ref, Store
from penstock.engines.spark.units import alone
from penstock.errors import PenstockError, StepError
from penstock.model.batch import Batch
from penstock.model.graph import Port
from penstock.policies.layout import UnitPlace


@dataclass(frozen=True, slots=True)
class StepDone:
    """A step is done: what came of it, stored and staged."""

    command: RunStep
    result: Result
    stored: dict[Port, Ref]
    staged: tuple[StagedResult, ...]
    began_s: float


@dataclass(frozen=True, slots=True)
class StepBroken:
    """A step could not be done."""

    command: RunStep
    reason: str
    culprits: Mapping[str, str] = field(default_factory=dict)  # members that are at fault, and why


Report: TypeAlias = StepDone | StepBroken


class Workers:
    """The threads, and for each unit what runs its steps. Not for two callers at once."""

    def __init__(
        self,
        count: int,
        progress: Progress,
        jobs: Jobs,
        store: Store,
        relations: Relations,
        results: Results,
        report: Callable[[Report], None],
    ) -> None:
        self._progress, self._jobs, self._store, self._relations = progress, jobs, store, relations
        self._results, self._shared, self._report = results, results.shared, report
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="penstock-step")
        self._runners: dict[int, tuple[object, UnitRunner]] = {}

    def close(self) -> None:
        """Waits for the threads."""
        self._pool.shutdown(wait=True)

    @property
    def has_spark(self) -> bool:
        """Whether Spark is still there."""
        return self._jobs.alive

    def equip(self, units: Mapping[int, UnitState]) -> None:
        """Other units from now on; those that stay as they are keep their jobs."""
        stateful = stateful_operators(self._progress.graph, self._progress.layouts)
        runners: dict[int, tuple[object, UnitRunner]] = {}
        for index, unit in units.items():
            mark, known = self._progress.signature(unit.place), self._runners.get(index)
            if known is not None and known[0] == mark:
                runners[index] = known
            else:
                own = {name: stateful[name] for name in unit.place.unit.operators if name in stateful}
                runners[index] = mark, self._runner(unit.place, own)
        for index, (_, runner) in self._runners.items():
            stays = index in runners and runners[index][1] is runner
            if not stays and not (index in units and units[index].step):  # or it is at work
                runner.close()
        self._runners = runners

    def _runner(self, place: UnitPlace, stateful: Mapping[str, StatefulOperator]) -> UnitRunner:
        return UnitRunner(
            self._progress.graph,
            place,
            self._progress.layouts,
            stateful,
            self._jobs,
            self._store,
            self._relations.until,
            self._shared.roster,
        )

    def submit(self, command: RunStep) -> None:
        """A step to run; its report comes when it is done."""
        runner = self._runners[command.unit][1]
        known = self._progress.of(runner.place.unit.operators)
        self._pool.submit(self._work, runner, command, known)

    def _work(self, runner: UnitRunner, command: RunStep, known: Known) -> None:
        """What a thread does."""
        with self._store.noting() as made:
            report = self._done(runner, command, known)
        if isinstance(report, StepBroken):
            self._store.delete(made)
        self._report(report)

    def _done(self, runner: UnitRunner, command: RunStep, known: Known) -> Report:
        began_s = time.perf_counter()
        try:
            result = runner.run(command.takes, known)
            stored = {
                port: self._store.put(table, "queue")
                for port, table in result.queues.items()
                if table.num_rows
            }
            staged = self._results.stage(runner.graph, result.sinks)
            return StepDone(command, result, stored, staged, began_s)
        except StepError as error:
            return StepBroken(command, str(error), self._culprits(runner, command, known))
        except PenstockError as error:
            return StepBroken(command, str(error))
        except BaseException as error:
            return StepBroken(command, f"{type(error).__name__}: {error}")

    def _culprits(self, runner: UnitRunner, command: RunStep, known: Known) -> dict[str, str]:
        """The members of a shared query without which a step would not have failed."""
        name = runner.shared
        roster = self._shared.roster(name) if name is not None else None
        if name is None or roster is None or len(roster.members) < 2:
            return {}

        def failure(members: Sequence[Member]) -> str | None:
            try:
                runner.run(command.takes, known, {name: roster.only(members)})
            except StepError as error:
                return str(error)
            return None

        return culprits(roster.members, failure)

    @staticmethod
    def _made(result: Result, known: Known) -> set[str]:
        """The tables that a step has made for operators to remember."""
        before = {piece.ref.name for state in known.states.values() for piece in state.pieces}
        return {piece.ref.name for state in result.states.values() for piece in state.pieces} - before

    def close_windows(self, query: str, at_s: float) -> tuple[Result, set[str]]:
        """What a query would put out if its streams ended now, and the tables that were made for nothing.

        All it has begun is through. What its operators remember stays as it is: others may share them. It
        runs in the caller's thread.
        """
        progress = self._progress
        place = alone(progress.graph, query)
        runner = self._runner(place, stateful_operators(progress.graph, progress.layouts))
        held = Held(None, END, round(at_s * 1e6), epoch=self._relations.epoch)
        end = Batch(0, 0.0, at_s, 0.0, 0.0, "", 0, 0, held)
        ports = dict.fromkeys(edge.port for edge in place.entries)
        takes = tuple(
            Take(n, tuple(edge for edge in place.entries if edge.port == port), (end,))
            for n, port in enumerate(ports)
        )
        known = progress.of(progress.graph.operators)
        result = runner.run(takes, known)
        return result, self._made(result, known)
