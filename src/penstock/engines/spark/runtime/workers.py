"""Workers: threads that run steps and say what came of each.

Control says on which worker a step runs. Each worker is a thread with a queue of its own, from which it takes
one step after the other; where units are owned by workers, all steps of a unit run on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.adapt.observations import PartTiming, RowSizes
from penstock.control.commands import RunStep, Take
from penstock.control.units import UnitState
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.operators.base import END, StatefulOperator
from penstock.engines.spark.operators.layouts import layouts
from penstock.engines.spark.operators.registry import stateful_operators
from penstock.engines.spark.results.draining import Drain
from penstock.engines.spark.results.results import Results, StagedResult
from penstock.engines.spark.rows.at_large import LargeTables, size_of, stored_ref
from penstock.engines.spark.rows.base import Rows
from penstock.engines.spark.rows.in_hand import table_of
from penstock.engines.spark.steps.at_large import run_at_large
from penstock.engines.spark.steps.bisection import MOST_TRIES, culprits
from penstock.engines.spark.steps.prepared import Jobs
from penstock.engines.spark.steps.profiling import Profiler
from penstock.engines.spark.steps.progress import Progress
from penstock.engines.spark.steps.rosters import Member, Roster
from penstock.engines.spark.steps.skipping import in_train, search
from penstock.engines.spark.steps.steps import Known, Result, UnitRunner
from penstock.engines.spark.steps.units import alone
from penstock.engines.spark.storage.records import StoredBatch
from penstock.engines.spark.storage.store import Ref, Store
from penstock.errors import FunctionError, PenstockError, StepError
from penstock.model.batch import Batch
from penstock.model.graph import Graph, Port
from penstock.plan.sharing import merge
from penstock.policies.layout import UnitPlace


@dataclass(frozen=True, slots=True)
class StepDone:
    """A step is done: what came of it, stored and staged."""

    command: RunStep
    result: Result
    stored: dict[Port, Ref]
    staged: tuple[StagedResult, ...]
    began_s: float

    @property
    def tables(self) -> set[str]:
        """The stored tables that its commit will name."""
        refs = [*self.stored.values(), *(one.staged.ref for one in self.staged)]
        refs += [stored_ref(one.table) for one in self.staged if one.table is not None]
        refs += [piece.ref for state in self.result.states.values() for piece in state.pieces]
        return {ref.name for ref in refs if ref is not None}


@dataclass(frozen=True, slots=True)
class StepBroken:
    """A step could not be done."""

    command: RunStep
    reason: str
    culprits: Mapping[str, str] = field(default_factory=dict)  # members that are at fault, and why


@dataclass(frozen=True, slots=True)
class DrainDone:
    """Open windows are staged; there may have been none."""

    drain: Drain
    staged: StagedResult | None


@dataclass(frozen=True, slots=True)
class DrainBroken:
    """Open windows could not be put out."""

    drain: Drain
    reason: str


StepReport: TypeAlias = StepDone | StepBroken
Report: TypeAlias = StepReport | DrainDone | DrainBroken


class Workers:
    """The threads, and for each unit what runs its steps. Not for two callers at once."""

    def __init__(
        self,
        progress: Progress,
        jobs: Jobs,
        store: Store,
        relations: Relations,
        results: Results,
        report: Callable[[Report], None],
        profiler: Profiler | None = None,
        large: LargeTables | None = None,
    ) -> None:
        self._profiler, self._large = profiler, large
        self._progress, self._jobs, self._store, self._relations = progress, jobs, store, relations
        self._results, self._shared, self._report = results, results.shared, report
        #: One for each worker that a step was given to so far.
        self._threads: dict[int, ThreadPoolExecutor] = {}
        # Of their own, so that no step which control counts on waits for them.
        self._drain_pool = ThreadPoolExecutor(1, thread_name_prefix="penstock-drain")
        self._runners: dict[int, tuple[object, UnitRunner]] = {}

    def close(self) -> None:
        """Waits for the threads."""
        for thread in self._threads.values():
            thread.shutdown(wait=True)
        self._drain_pool.shutdown(wait=True)
        if self._profiler is not None:
            self._profiler.close()

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
        if self._profiler is not None:
            self._profiler.keep(unit.place.unit.operators for unit in units.values())

    def _runner(self, place: UnitPlace, stateful: Mapping[str, StatefulOperator]) -> UnitRunner:
        return UnitRunner(
            self._progress.graph,
            place,
            self._progress.layouts,
            stateful,
            self._jobs,
            self._store,
            self._relations.between,
            self._shared.roster,
            self._large,
        )

    def submit(self, command: RunStep) -> None:
        """A step to run; its report comes when it is done."""
        runner = self._runners[command.unit][1]
        known = self._progress.of(runner.place.unit.operators)
        worker = command.worker
        if worker not in self._threads:
            self._threads[worker] = ThreadPoolExecutor(1, thread_name_prefix=f"penstock-worker-{worker}")
        self._threads[worker].submit(self._work, runner, command, known)

    def _work(self, runner: UnitRunner, command: RunStep, known: Known) -> None:
        """What a thread does."""
        with self._store.noting() as made:
            report = self._done(runner, command, known)
        # Operators let go again, in the same step, of much that they put away: nobody else knows of it.
        kept = report.tables if isinstance(report, StepDone) else set()
        self._store.delete(name for name in made if name not in kept)
        self._report(report)
        if self._profiler is not None and isinstance(report, StepDone):
            self._profiler.stepped(runner.place.unit.operators, report.result.parts)

    def _done(self, runner: UnitRunner, command: RunStep, known: Known) -> StepReport:
        began_s = time.perf_counter()
        try:
            result = self._run(runner, command, known)
            stored = {
                port: self._stored(port, rows, result)
                for port, rows in result.queues.items()
                if not rows.is_empty
            }
            staged = self._staged(runner, result)
            result.seconds = time.perf_counter() - began_s
            return StepDone(command, result, stored, staged, began_s)
        except StepError as error:
            return StepBroken(command, str(error), self._culprits(runner, command, known, error))
        except PenstockError as error:
            return StepBroken(command, str(error))
        except BaseException as error:
            return StepBroken(command, f"{type(error).__name__}: {error}")

    def _stored(self, port: Port, rows: Rows, result: Result) -> Ref:
        """Rows for a queue; whoever made them has that to do, too."""
        began_s = time.perf_counter()
        ref = stored_ref(rows)
        if ref is None:
            ref = self._store.put(table_of(rows), "queue")
        taken_s = time.perf_counter() - began_s
        result.timings.append(
            PartTiming(f"put {port.node}.{port.output}", (port.node,), ref.rows, taken_s, is_job=False)
        )
        result.weighed.append(RowSizes(port, ref.rows, ref.bytes))
        return ref

    def _staged(self, runner: UnitRunner, result: Result) -> tuple[StagedResult, ...]:
        """Rows for sinks, as rows for a queue."""
        began_s = time.perf_counter()
        staged = self._results.stage(runner.graph, result.sinks)
        taken_s = time.perf_counter() - began_s
        ports = {sink: runner.graph.nodes[sink].inputs[0] for sink in result.sinks}
        counts = {sink: rows.count() for sink, rows in result.sinks.items()}
        total = sum(counts.values())
        for sink, rows in result.sinks.items():
            share = counts[sink] / total if total else 1 / len(ports)
            key, port = f"deliver {sink}", ports[sink]
            result.timings.append(PartTiming(key, (port.node,), counts[sink], taken_s * share, is_job=False))
            if port not in result.queues:
                result.weighed.append(RowSizes(port, counts[sink], size_of(rows)))
        return staged

    @staticmethod
    def _run(runner: UnitRunner, command: RunStep, known: Known) -> Result:
        """The step; without the rows that its query cannot process, if the query says so."""
        if command.at_large:
            return run_at_large(runner, command.takes, known)
        try:
            return runner.run(command.takes, known)
        except StepError as error:
            if runner.skips is None or (isinstance(error, FunctionError) and error.limit):
                raise
            before = len(in_train(command.takes, runner.left_out))
            found, explained = search(runner, command.takes, runner.skips, runner.left_out)
            runner.left_out = found  # the next try of this step goes on from there
            if not explained:
                why = f"{MOST_TRIES} jobs did not tell all rows that cause it, for on_error = 'skip'"
                raise StepError(f"{error} ({why})") from error
            if len(in_train(command.takes, found)) == before:
                raise
            return runner.run(command.takes, known)

    def _culprits(
        self, runner: UnitRunner, command: RunStep, known: Known, error: StepError
    ) -> dict[str, str]:
        """The members of a shared query without which a step would not have failed."""
        name = runner.shared
        roster = self._shared.roster(name) if name is not None else None
        if name is None or roster is None or len(roster.members) < 2:
            return {}
        if isinstance(error, FunctionError) and error.limit:  # all call it, and each try would take as long
            return {member.query: str(error) for member in roster.members}

        def failure(members: Sequence[Member]) -> str | None:
            try:
                runner.run(command.takes, known, {name: roster.only(members)})
            except StepError as error:
                return str(error)
            return None

        return culprits(roster.members, failure)

    # --- open windows ---

    def submit_drain(self, drain: Drain) -> None:
        """Open windows to be put out; a report comes."""
        self._drain_pool.submit(self._drain, drain)

    def _drain(self, drain: Drain) -> None:
        """What a thread does: the step that the query would do if its streams ended now."""
        report: DrainDone | DrainBroken
        with self._store.noting() as made:
            try:
                result = self._ended(drain)
                staged = self._results.stage_drained(drain, result.sinks)
                report = DrainDone(drain, staged)
            except PenstockError as error:
                report = DrainBroken(drain, str(error))
            except BaseException as error:
                report = DrainBroken(drain, f"{type(error).__name__}: {error}")
        kept = {report.staged.staged.ref} if isinstance(report, DrainDone) and report.staged else set()
        names = {ref.name for ref in kept if ref is not None}
        # What operators would remember after this is nobody's: others that share them have not ended.
        self._store.delete(name for name in made if name not in names)
        self._report(report)

    def _ended(self, drain: Drain) -> Result:
        graph = merge(Graph(), [drain.plan])
        known_layouts = layouts(graph, drain.asked)
        place = alone(graph, drain.plan.name)
        roster = None if drain.of is None else drain.of.roster

        def rosters(name: str) -> Roster:
            return self._shared.roster(name) if roster is None else roster

        runner = UnitRunner(
            graph,
            place,
            known_layouts,
            stateful_operators(graph, known_layouts),
            self._jobs,
            self._store,
            self._relations.between,
            rosters,
        )
        held = StoredBatch(None, END, drain.at_us, epoch=drain.epoch)
        end = Batch(0, 0.0, drain.at_us / 1e6, 0.0, 0.0, "", 0, 0, held)
        ports = dict.fromkeys(edge.port for edge in place.entries)
        takes = tuple(
            Take(n, tuple(edge for edge in place.entries if edge.port == port), (end,))
            for n, port in enumerate(ports)
        )
        try:
            return runner.run(takes, drain.known)
        finally:
            runner.close()
