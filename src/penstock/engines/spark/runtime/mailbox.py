"""Mailbox: while it runs, one thread takes what waits for it together, again and again."""

from __future__ import annotations

import heapq
import itertools
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeAlias, TypeVar

from penstock.errors import PenstockError

Action: TypeAlias = Callable[[], None]
MessageT = TypeVar("MessageT")

#: Messages of one turn, at most.
_MOST = 1000
#: Seconds without a message after which it looks whether all is well, at the latest.
_PATIENCE_S = 0.5


class Call:
    """Something to do within a turn, for somebody who waits for the answer until the turn is through."""

    def __init__(self, action: Callable[[], Any]) -> None:
        self._action = action
        self._value: Any = None
        self._error: PenstockError | None = None
        self.answer: Future[Any] = Future()

    def do(self, apart: AbstractContextManager[None] | None = None) -> None:
        """Within the turn; `apart` takes back what was written by an action that is refused."""
        try:
            with apart or nullcontext():
                self._value = self._action()
        except PenstockError as error:
            self._error = error

    def say(self) -> None:
        """After the turn."""
        if self._error is None:
            self.answer.set_result(self._value)
        else:
            self.answer.set_exception(self._error)


class Mailbox(Generic[MessageT]):
    """Messages from any thread and alarms that are due, for one thread.

    `take` is a turn, `look` is called when no message waits. `has_work` says whether something is
    under way that will end with a message, `is_done` whether nothing is left to do.
    """

    def __init__(
        self,
        take: Callable[[list[MessageT | Call], list[Action]], None],
        look: Action,
        has_work: Callable[[], bool],
        is_done: Callable[[], bool],
    ) -> None:
        self._take, self._look, self._has_work, self._is_done = take, look, has_work, is_done
        self._inbox: queue.SimpleQueue[MessageT | Call | None] = queue.SimpleQueue()
        self._alarms: list[tuple[float, int, Action]] = []
        self._serial = itertools.count()
        self._thread: threading.Thread | None = None
        self.ending = False
        self.failed: BaseException | None = None
        self.settled = threading.Event()  # nothing is left to do, as far as is known

    # --- from any thread ---

    def start(self) -> None:
        """Begins."""
        self._thread = threading.Thread(target=self._loop, name="penstock-control", daemon=True)
        self._thread.start()

    def send(self, message: MessageT | Call | None) -> None:
        """A message; None only wakes the thread."""
        self.settled.clear()
        self._inbox.put(message)

    def call(self, action: Callable[[], Any]) -> Any:
        """Does something within a turn, and returns what it returned; at once if there is no thread."""
        if not self._is_alive or threading.current_thread() is self._thread:
            return action()
        call = Call(action)
        self.send(call)
        while True:
            try:
                return call.answer.result(timeout=1.0)
            except TimeoutError:
                if not self._is_alive:
                    raise PenstockError(f"the engine has stopped: {self.failed}") from self.failed

    def stop(self) -> None:
        """Lets what is under way end, and then itself."""
        if self._thread is not None and self._thread.is_alive():
            self.ending = True
            self.send(None)
            self._thread.join()

    @property
    def _is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def nothing_waits(self) -> bool:
        """Whether there is no message."""
        return self._inbox.empty()

    # --- in the thread, or before there is one ---

    def at(self, at_s: float, action: Action) -> None:
        """Does something within a turn, at a time."""
        heapq.heappush(self._alarms, (at_s, next(self._serial), action))

    def soon(self, action: Action) -> None:
        """Does something within the next turn."""
        self.at(0.0, action)

    def _loop(self) -> None:
        try:
            while not (self.ending and not self._has_work()):
                messages = self._waiting()
                due = self._due()
                if messages or due:
                    self._take(messages, due)
        except BaseException as error:  # a defect, or the disk of the state is full: nobody may wait for ever
            self.failed = error
            self.ending = True
        finally:
            self.settled.set()

    def _waiting(self) -> list[MessageT | Call]:
        """Messages that wait; if there are none, the next to come, or none by the next alarm."""
        messages = []
        if self._inbox.empty():
            if self._is_done():
                self.settled.set()
            until_s = self._alarms[0][0] - time.time() if self._alarms else _PATIENCE_S
            try:
                messages.append(self._inbox.get(timeout=max(0.0, min(until_s, _PATIENCE_S))))
            except queue.Empty:
                self._look()
                return []
        while not self._inbox.empty() and len(messages) < _MOST:
            messages.append(self._inbox.get())
        return [message for message in messages if message is not None]

    def _due(self) -> list[Action]:
        due = []
        while self._alarms and self._alarms[0][0] <= time.time():
            due.append(heapq.heappop(self._alarms)[2])
        return due
