"""One thread takes what waits for it: messages, alarms and calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from penstock.engines.spark.runtime.mailbox import Action, Call, Mailbox
from penstock.errors import PenstockError, QueryError


class Desk:
    """Notes what it is given; "work" is under way until "done" comes."""

    def __init__(self) -> None:
        self.mailbox: Mailbox[str] = Mailbox(
            self._take, self._look, lambda: self.work > 0, lambda: not self.work
        )
        self.taken: list[str] = []
        self.sizes: list[int] = []
        self.work = self.looks = 0

    def _take(self, messages: list[str | Call], due: list[Action]) -> None:
        self.sizes.append(len(messages))
        for action in due:
            action()
        for message in messages:
            if isinstance(message, Call):
                message.do()
            elif message == "break":
                raise RuntimeError("broken")
            else:
                self.work += {"work": 1, "done": -1}.get(message, 0)
                self.taken.append(message)
        for message in messages:
            if isinstance(message, Call):
                message.say()

    def _look(self) -> None:
        self.looks += 1


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.work = 0
    desk.mailbox.stop()


def test_messages_that_wait_are_taken_together_and_in_order(desk: Desk) -> None:
    for n in range(1500):
        desk.mailbox.send(str(n))
    desk.mailbox.start()
    assert desk.mailbox.settled.wait(10)
    assert desk.taken == [str(n) for n in range(1500)]
    assert desk.sizes == [1000, 500]


def test_an_action_for_later_is_done_then_and_in_the_order_of_times(desk: Desk) -> None:
    done: list[tuple[str, float]] = []
    now_s = time.time()
    for after_s, name in ((0.4, "second"), (0.2, "first")):
        desk.mailbox.at(now_s + after_s, lambda name=name: done.append((name, time.time() - now_s)))
    desk.mailbox.soon(lambda: done.append(("at once", 0.0)))
    desk.mailbox.start()
    while len(done) < 3 and time.time() < now_s + 10:
        time.sleep(0.01)
    assert [name for name, _ in done] == ["at once", "first", "second"]
    assert done[1][1] >= 0.2
    assert done[2][1] >= 0.4


def test_a_call_returns_what_its_action_returned_in_the_other_thread(desk: Desk) -> None:
    desk.mailbox.start()
    assert desk.mailbox.call(lambda: threading.current_thread().name) == "penstock-control"
    assert desk.mailbox.call(lambda: desk.mailbox.call(lambda: 3)) == 3  # within a turn it is done at once


def test_a_call_that_is_refused_says_why_and_the_thread_goes_on(desk: Desk) -> None:
    def refuse() -> None:
        raise QueryError("no such query")

    desk.mailbox.start()
    with pytest.raises(QueryError, match="no such query"):
        desk.mailbox.call(refuse)
    assert desk.mailbox.call(lambda: 1) == 1


def test_nobody_waits_for_ever_for_a_thread_that_broke(desk: Desk) -> None:
    desk.mailbox.start()
    desk.mailbox.send("work")
    desk.mailbox.send("break")
    assert desk.mailbox.settled.wait(10)
    assert isinstance(desk.mailbox.failed, RuntimeError)
    assert desk.mailbox.ending
    desk.mailbox.stop()
    assert desk.mailbox.call(lambda: 1) == 1  # there is no other thread any more


def test_a_call_that_waits_when_the_thread_breaks_is_told(desk: Desk) -> None:
    desk.mailbox.start()
    entered, go_on = threading.Event(), threading.Event()

    def occupy() -> None:
        entered.set()
        go_on.wait(10)

    desk.mailbox.soon(occupy)
    desk.mailbox.send("")
    entered.wait(10)
    desk.mailbox.send("break")
    threading.Timer(1.0, go_on.set).start()
    with pytest.raises(PenstockError, match="the engine has stopped: broken"):
        desk.mailbox.call(lambda: 1)


def test_it_ends_when_what_is_under_way_has_ended(desk: Desk) -> None:
    desk.mailbox.start()
    desk.mailbox.send("work")
    assert desk.mailbox.call(lambda: desk.work) == 1
    threading.Timer(0.3, desk.mailbox.send, ["done"]).start()
    desk.mailbox.stop()
    assert desk.taken == ["work", "done"]


def test_it_is_not_settled_while_something_is_under_way_and_looks_about_meanwhile(desk: Desk) -> None:
    desk.mailbox.start()
    desk.mailbox.send("work")
    assert desk.mailbox.call(lambda: desk.work) == 1
    desk.mailbox.settled.clear()
    assert not desk.mailbox.settled.wait(0.8)
    assert desk.looks
    desk.mailbox.send("done")
    assert desk.mailbox.settled.wait(10)
