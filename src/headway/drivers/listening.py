"""What users tell a run while it is at work: by Ctrl-C, its stop file, the feed of a growing run, its job's end."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct

from headway.crash_points import crash_point
from headway.drivers.background import Background
from headway.drivers.feed import Feed
from headway.drivers.hand_over import HandOver
from headway.drivers.inbox import Inbox, Leave
from headway.model.records import UserCancel

_log = logging.getLogger(__name__)

_CHECK_EVERY_S = 0.5  # for the file that stops a run


class Listening(Struct, eq=False, dict=True):
    """Puts what users want into the inbox."""

    inbox: Inbox
    background: Background
    stop_file: Path
    feed: Feed | None
    hand_over: HandOver | None

    def __post_init__(self) -> None:
        self._interrupts = 0

    @contextmanager
    def to_user(self) -> Iterator[None]:
        """Listen until the block is left."""
        loop = asyncio.get_running_loop()
        handlers: dict[int, Callable[[], None]] = {}
        if threading.current_thread() is threading.main_thread():
            # In a job SIGTERM is the batch system's, which says that the job's time is up.
            end = partial(self._stop, "now") if self.hand_over is None else partial(self.inbox.put, Leave())
            handlers = {signal.SIGINT: self._interrupted, signal.SIGTERM: end}
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        if self.feed is not None:
            self.feed.attach(self.inbox.put_from_thread)
        if self.feed is not None or self.hand_over is not None:
            self.background.start(self._watch_stop_file())
        if self.hand_over is not None:
            self.background.start(self._leave_in_time(self.hand_over))
        try:
            yield
        finally:
            if self.feed is not None:
                self.feed.detach()
            for number in handlers:
                loop.remove_signal_handler(number)

    def _interrupted(self) -> None:
        """Stop gently at the first Ctrl-C, at once at the second."""
        self._interrupts += 1
        self._stop("gently" if self._interrupts == 1 else "now")

    def _stop(self, mode: Literal["gently", "now"]) -> None:
        self.inbox.put(UserCancel(time.time(), mode))

    async def _watch_stop_file(self) -> None:
        """Stop the run when its stop file appears: signals belong to a program that it is part of, or to its job."""
        while not self.stop_file.exists():
            await asyncio.sleep(_CHECK_EVERY_S)
        self._stop("now")

    async def _leave_in_time(self, hand_over: HandOver) -> None:
        await hand_over.wait()
        _log.info("leaving the run to its next manager")
        crash_point("leaving")
        self.inbox.put(Leave())
