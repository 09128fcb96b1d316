"""Real threads: functions that begin at the same moment, and what they need until the last is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from statistics import median
from threading import Barrier, Thread


def together_s(works: Sequence[Callable[[], None]]) -> float:
    """Runs each in a thread of its own; seconds of processor time until all are done."""
    failed: list[BaseException] = []
    gate = Barrier(len(works) + 1)

    def run(work: Callable[[], None]) -> None:
        gate.wait()
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    gate.wait()
    began = time.process_time()
    for thread in threads:
        thread.join()
    taken = time.process_time() - began
    if failed:
        raise failed[0]
    return taken


def wake_up_s(times: int) -> float:
    """Seconds until a thread that waits at its queue has what another puts there: half of there and back."""
    there: SimpleQueue[int] = SimpleQueue()
    back: SimpleQueue[int] = SimpleQueue()

    def answer() -> None:
        for _ in range(times):
            back.put(there.get())

    thread = Thread(target=answer, daemon=True)
    thread.start()
    taken = []
    for n in range(times):
        began = time.perf_counter()
        there.put(n)
        back.get()
        taken.append(time.perf_counter() - began)
    thread.join()
    return median(taken) / 2
