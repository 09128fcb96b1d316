"""One question for all who ask at once, and no answer that is older than a question."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.server.http.asked_once import AskedOnce

#: What one who asks does: when, and whether they leave before the answer.
Asker = tuple[int, bool]


@given(
    st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=30),
    st.lists(st.integers(0, 6), min_size=1, max_size=10),
    st.sets(st.integers(0, 5)),
)
def test_an_answer_is_never_older_than_the_question(
    askers: list[Asker], delays: list[int], failures: set[int]
) -> None:
    """Time passes in rounds of the loop; each answer is the round in which it was put together."""
    now = asked = 0

    async def rounds(count: int) -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    async def ask() -> int:
        nonlocal asked
        asked += 1
        number, began = asked, now  # the oldest that the answer may be
        await rounds(delays[number % len(delays)])
        if number in failures:
            raise ValueError(began)
        return began

    async def get(once: AskedOnce[int], at: int) -> int:
        nonlocal now
        await rounds(at)
        now += 1
        before = now
        try:
            answer = await once.get()
        except ValueError as error:
            answer = error.args[0]
        assert answer >= before
        return answer

    async def act() -> None:
        once = AskedOnce(ask)
        tasks = [asyncio.create_task(get(once, at)) for at, _ in askers]
        for task, (at, leaves) in zip(tasks, askers, strict=True):
            if leaves:
                asyncio.get_running_loop().call_soon(task.cancel) if at % 2 else task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
        for task, (_, leaves) in zip(tasks, askers, strict=True):
            if task.cancelled():
                assert leaves
            else:
                task.result()

    asyncio.run(act())


def test_all_who_wait_share_one_question() -> None:
    asked = 0

    async def ask() -> int:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0.01)
        return asked

    async def act() -> None:
        once = AskedOnce(ask)
        first = asyncio.create_task(once.get())
        await asyncio.sleep(0.001)  # the first question is under way
        others = [asyncio.create_task(once.get()) for _ in range(100)]
        assert await first == 1
        assert await asyncio.gather(*others) == [2] * 100

    asyncio.run(act())


def test_after_a_failure_it_is_asked_again() -> None:
    asked = 0

    async def ask() -> int:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise ValueError("no")
        return asked

    async def act() -> None:
        once = AskedOnce(ask)
        with pytest.raises(ValueError, match="no"):
            await once.get()
        assert await once.get() == 2

    asyncio.run(act())
