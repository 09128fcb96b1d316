"""Simulations side by side on all cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_all(
    function: Callable[[Task], Result], tasks: Sequence[Task], progress: Callable[[int, int], None]
) -> list[Result]:
    """`function` of every task, in order. It and the tasks must be picklable; order of execution is free."""
    progress(0, len(tasks))
    workers = min(len(tasks), os.cpu_count() or 1)
    if workers <= 1:
        results = []
        for done, task in enumerate(tasks, start=1):
            results.append(function(task))
            progress(done, len(tasks))
        return results
    found: dict[int, Result] = {}
    # A forked child would inherit the parent's plotting and terminal state.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        try:
            with _children_deaf_to_interrupts():
                futures = {pool.submit(function, task): number for number, task in enumerate(tasks)}
            for done, future in enumerate(as_completed(futures), start=1):
                found[futures[future]] = future.result()
                progress(done, len(tasks))
        except BaseException:
            # Ctrl-C should not wait for simulations that nobody will look at.
            for child in multiprocessing.active_children():
                child.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [found[number] for number in range(len(tasks))]


@contextmanager
def _children_deaf_to_interrupts() -> Iterator[None]:
    """Ctrl-C reaches the whole process group; only the parent should answer it, by ending its children."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
