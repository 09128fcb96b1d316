"""Round-robin as StreamAPAS has it: a queue of units in the order in which they became ready."""

from __future__ import annotations

from penstock.control.commands import Command, RunStep
from penstock.control.events import BatchArrived, QueriesSubmitted, StepFinished
from penstock.control.machine import Control
from penstock.model.batch import Batch
from penstock.model.operators import Select, Source
from penstock.model.query import PlanNode, Query

POLICY = "round-robin(rows=1, order=ready)"


class Driver:
    """Queries `a`, `b` and `c` on streams of the same names; takes down which ran."""

    def __init__(self, policy: str = POLICY) -> None:
        self.control = Control(policy)
        self.ran: list[str] = []
        self._step = 0
        self._rows = dict.fromkeys("abc", 0)
        nodes = {n: PlanNode(Select(f"{n} > 0"), (PlanNode(Source(n)),), name=f"of_{n}") for n in "abc"}
        self._follow(
            self.control.handle(QueriesSubmitted(0.0, tuple(Query(n, node) for n, node in nodes.items())))
        )

    def arrive(self, stream: str) -> None:
        lo = self._rows[stream]
        self._rows[stream] = lo + 1
        batch = Batch(1, 1.0, 0.0, 0.0, 0.0, stream, lo, lo + 1)
        self._follow(self.control.handle(BatchArrived(0.0, stream, batch)))

    def finish(self) -> None:
        self._follow(self.control.handle(StepFinished(0.0, self._step, 1.0)))

    def _follow(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, RunStep):
                self._step = command.step
                self.ran.append(command.takes[0].batches[0].leaf)


def test_units_run_in_the_order_in_which_they_became_ready() -> None:
    driver = Driver()
    for stream in "acb":
        driver.arrive(stream)
    driver.finish()
    driver.finish()
    assert driver.ran == ["a", "c", "b"]
    in_turn = Driver("round-robin(rows=1)")
    for stream in "acb":
        in_turn.arrive(stream)
    in_turn.finish()
    in_turn.finish()
    assert in_turn.ran == ["a", "b", "c"]


def test_one_with_rows_left_goes_to_the_end() -> None:
    driver = Driver()
    for stream in "aacb":
        driver.arrive(stream)
    for _ in range(3):
        driver.finish()
    assert driver.ran == ["a", "c", "b", "a"]


def test_one_that_waits_keeps_its_place_when_more_rows_come() -> None:
    driver = Driver()
    for stream in "acbcc":
        driver.arrive(stream)
    for _ in range(4):
        driver.finish()
    assert driver.ran == ["a", "c", "b", "c", "c"]
