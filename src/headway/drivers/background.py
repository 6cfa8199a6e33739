"""Work that goes on beside the driver: asyncio tasks, and threads for slow calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from headway.drivers.inbox import Failed, Inbox, Message

_MOST_THREADS = 4  # more at a time would not make a disk read faster


class Background:
    """Starts tasks and threads; puts what they find out, and their errors, into the inbox.

    An error therefore never interrupts the driver in the middle of a step. Leaving the `async with` block cancels all
    tasks and waits for them; threads are abandoned.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._tasks: set[asyncio.Task[Exception | None]] = set()
        self._threads = threading.Semaphore(_MOST_THREADS)

    async def __aenter__(self) -> Background:
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def start(self, work: Coroutine[Any, Any, None], *, report: bool = True) -> asyncio.Task[Exception | None]:
        """Run a coroutine as a task, whose result is its error, if any; `report` also puts that into the inbox."""
        task = asyncio.create_task(self._guarded(work, report=report))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _guarded(self, work: Coroutine[Any, Any, None], *, report: bool) -> Exception | None:
        try:
            await work
        except Exception as error:
            if report:
                self._inbox.put(Failed(error))
            return error
        return None

    def in_thread(self, work: Callable[[], Sequence[Message]]) -> None:
        """Do slow work in a thread and put the messages that it returns into the inbox."""

        def carry() -> None:
            messages: Sequence[Message | Failed]
            try:
                with self._threads:
                    messages = work()
            except Exception as error:
                messages = [Failed(error)]
            for message in messages:
                self._inbox.put_from_thread(message)

        threading.Thread(target=carry, daemon=True).start()
