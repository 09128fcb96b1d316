"""Real threads: functions that begin at the same moment, and what they need until the last is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from statistics import median
from threading import Barrier, Lock, Thread


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


def switch_s(threads: int, rounds: int) -> float:
    """Seconds of processor time to go on with the next of so many threads, which take turns in a ring."""
    turns = [Lock() for _ in range(threads)]
    for turn in turns:
        turn.acquire()

    def take_turns(place: int) -> None:
        mine, following = turns[place], turns[(place + 1) % threads]
        for _ in range(rounds):
            mine.acquire()
            following.release()

    ring = [Thread(target=take_turns, args=(place,), daemon=True) for place in range(threads)]
    for thread in ring:
        thread.start()
    began = time.process_time()
    turns[0].release()
    for thread in ring:
        thread.join()
    return (time.process_time() - began) / (threads * rounds)
