"""One question for all who ask at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class AskedOnce(Generic[Value]):
    """Whoever asks gets an answer to a question that was put after they asked; all who wait share it."""

    def __init__(self, ask: Callable[[], Awaitable[Value]]) -> None:
        self._ask = ask
        self._waiting: list[asyncio.Future[Value]] = []
        self._task: asyncio.Task[None] | None = None

    async def get(self) -> Value:
        """An answer that is not older than this call."""
        future: asyncio.Future[Value] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        while self._waiting:
            those, self._waiting = self._waiting, []
            try:
                value = await self._ask()
            except Exception as error:
                for future in those:
                    if not future.done():
                        future.set_exception(error)
                        future.exception()  # who asked may have gone, and then nobody looks at it
            else:
                for future in those:
                    if not future.done():
                        future.set_result(value)
        self._task = None
