"""Live data: each run that is looked at has one reader of its journal, whose changes all its viewers get."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from headway.dashboard.differences import Snapshot, difference, snapshot
from headway.dashboard.reading import DamagedError, Reading
from headway.dashboard.shelf import Row, Shelf
from headway.dashboard.streams import Stream, message
from headway.journal.folder import RunFolder
from headway.report.run.summary import RunSummary
from headway.report.run_page.collecting import Collector
from headway.report.run_page.data import Failed, PageData
from headway.report.run_page.page import data_of, failures_of

Answer = TypeVar("Answer")

_LOOK_EVERY_S = 0.5  # at a run
_TICK_EVERY_S = 2.0  # while it goes on and nothing happens, its time still moves
_LIST_EVERY_S = 2.0
_SHARE = 20.0  # looking may take at most the twentieth part of the time
_LINGER_S = 60.0  # so that a page that is loaded again finds its reader


class LiveRun:
    """A run that is looked at."""

    def __init__(self, folder: RunFolder, thread: ThreadPoolExecutor) -> None:
        self.folder = folder
        self.stream = Stream()
        self.trouble = ""
        self.collector = Collector(RunSummary())
        self.data: PageData | None = None
        self._thread = thread
        self._reading = Reading(folder, self.collector.run, self.collector)
        self._last: Snapshot | None = None
        self._whole: tuple[int, bytes] = (-1, b"")
        self._failures: tuple[int, list[Failed]] = (-1, [])
        self._state = ""
        self._made_at = 0.0
        self._ready = asyncio.Event()

    async def ready(self) -> None:
        """Wait until the journal was read once."""
        await self._ready.wait()

    def whole(self) -> bytes:
        """The message with everything, made once for all viewers that come now."""
        if self.trouble or self._last is None:
            return message("trouble", msgspec.json.encode(self.trouble))
        if self._whole[0] != self.stream.version:
            self._whole = (self.stream.version, message("whole", self._last.whole()))
        return self._whole[1]

    async def follow(self) -> None:
        """Read and publish until nobody has looked for a while, or the journal is gone."""
        loop = asyncio.get_running_loop()
        looked_at = time.monotonic()
        try:
            while not self.trouble and (self.stream.viewers or time.monotonic() - looked_at < _LINGER_S):
                looked_at = time.monotonic() if self.stream.viewers else looked_at
                began = time.monotonic()
                try:
                    more, now, change = await loop.run_in_executor(self._thread, self._look)
                except DamagedError as problem:
                    self.trouble, more, now, change = str(problem), False, None, None
                    self.stream.publish(self.whole())
                # Both at once: who comes now gets the data with this change, or without it and then the change.
                self._last = now or self._last
                if change is not None:
                    self.stream.publish(message("change", change))
                if not more:
                    self._ready.set()
                    await asyncio.sleep(max(_LOOK_EVERY_S, (time.monotonic() - began) * _SHARE))
        finally:
            self._ready.set()
            await loop.run_in_executor(self._thread, self._reading.close)

    def _look(self) -> tuple[bool, Snapshot | None, bytes | None]:
        """Read what is new, in the reader's thread; return whether there is more, the data if they changed, and how."""
        news, more = self._reading.read()
        if more:
            return True, None, None
        state = self._reading.state()
        ticked = state == "running" and time.monotonic() - self._made_at >= _TICK_EVERY_S
        if not (news or ticked or state != self._state or self._last is None):
            return False, None, None
        self._state, self._made_at = state, time.monotonic()
        summary = self._reading.summary
        if len(summary.failures) != self._failures[0]:
            self._failures = (len(summary.failures), failures_of(summary, self.folder))
        self.data = data_of(summary, self.collector, self.folder, state, self._failures[1])
        now = snapshot(self.data)
        return False, now, msgspec.json.encode(difference(self._last, now)) if self._last else None


class Live:
    """The list of runs and the runs that are looked at. One thread reads all journals."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.stream = Stream()
        self._thread = ThreadPoolExecutor(1, "journals")
        self._runs: dict[str, tuple[LiveRun, asyncio.Task[None]]] = {}
        self._rows: dict[str, Row] = {}
        self._looking = asyncio.Lock()
        self._looked_at = -1e9
        self._listing: asyncio.Task[None] | None = None

    async def in_thread(self, call: Callable[[], Answer]) -> Answer:
        """Call something in the reader's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def look(self) -> None:
        """Bring the list of runs up to date, if it is not quite new."""
        async with self._looking:
            if time.monotonic() - self._looked_at < _LIST_EVERY_S / 2:
                return
            await self.in_thread(self.shelf.look)
            self._looked_at = time.monotonic()
            rows = self.shelf.rows()
            changed = [row for name, row in rows.items() if self._rows.get(name) != row]
            gone = [name for name in self._rows if name not in rows]
            self._rows = rows
            if changed or gone:
                self.stream.publish(message("change", msgspec.json.encode({"rows": changed, "gone": gone})))

    def whole(self) -> bytes:
        """The message with all rows."""
        rows = list(self._rows.values())
        return message("whole", msgspec.json.encode({"rows": rows, "left_out": self.shelf.left_out}))

    async def list_events(self) -> AsyncIterator[bytes]:
        """What a viewer of the list is sent."""
        await self.look()
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(self._keep_looking())
        async for event in self.stream.events(self.whole):
            yield event

    async def _keep_looking(self) -> None:
        while True:
            began = time.monotonic()
            await self.look()
            await asyncio.sleep(max(_LIST_EVERY_S, (time.monotonic() - began) * _SHARE))
            if not self.stream.viewers:
                return

    async def folder(self, name: str) -> RunFolder | None:
        """The run with that id, also if it began a moment ago."""
        found = self.shelf.find(name)
        if found is None:
            await self.look()
            found = self.shelf.find(name)
        return found

    async def run(self, name: str) -> LiveRun | None:
        """The reader of a run, which is started if there is none."""
        folder = await self.folder(name)
        if folder is None:
            return None
        known = self._runs.get(name)
        if known is None or known[1].done():
            live = LiveRun(folder, self._thread)
            task = asyncio.create_task(live.follow())
            self._runs[name] = known = (live, task)
            task.add_done_callback(lambda done: self._forget(name, done))
        await known[0].ready()
        return known[0]

    def _forget(self, name: str, task: asyncio.Task[None]) -> None:
        if self._runs.get(name, (None, None))[1] is task:
            del self._runs[name]

    async def close(self) -> None:
        """End all readers."""
        tasks = [task for _, task in self._runs.values()] + ([self._listing] if self._listing else [])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._thread.shutdown()
