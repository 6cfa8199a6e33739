"""`Shelf`: the runs below a folder, what a list says of each, and their metrics."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from headway.dashboard.reading import DamagedError, Reading, Signature, signature
from headway.journal.folder import Project, RunFolder
from headway.model.errors import HeadwayError
from headway.report.metrics import Extra, RunMetrics, metrics_of
from headway.report.run.summary import RunSummary
from headway.report.words import harmless

WALK_EVERY_S = 4.0
_SHARE = 20.0  # walking may take at most the twentieth part of the time
MOST_FOLDERS = 50_000
_NOT_ENTERED = ("__pycache__", "node_modules", "site-packages")


class Row(Struct, frozen=True):
    """A run in the list."""

    id: str
    run: str
    where: str  # its directory below the folder of the shelf
    name: str = ""
    state: str = "unreadable"
    done: int = 0
    total: int = 0
    failed: int = 0
    running: int = 0
    started_at: float = 0.0
    wall_s: float = 0.0
    trouble: str = ""


class _Kept:
    """A run: its folder, its row, and the open journal while it goes on."""

    def __init__(self, folder: RunFolder, row: Row) -> None:
        self.folder = folder
        self.row = row
        self.metrics = RunMetrics()
        self.extra = Extra()
        self.reading: Reading | None = None
        self.seen: Signature = ()


class Shelf:
    """Call `look` in the reader's thread; `rows` and `metrics` are what was seen then.

    With `after`, only the runs of the folder itself with a higher number are shown.
    """

    def __init__(self, folder: Path, after: int | None = None) -> None:
        self.folder = folder.resolve()
        self.after = after
        self.left_out = False  # there are more folders than are looked into
        self._projects: list[Path] = []
        self._walk_at = 0.0
        self._kept: dict[str, _Kept] = {}

    def rows(self) -> dict[str, Row]:
        """What the list says of each run, the latest first."""
        rows = sorted((kept.row for kept in list(self._kept.values())), key=lambda row: -row.started_at)
        return {row.id: row for row in rows}

    def metrics(self) -> list[RunMetrics]:
        """The figures of all runs."""
        return [kept.metrics for kept in list(self._kept.values())]

    def find(self, name: str) -> RunFolder | None:
        """The run with that id."""
        kept = self._kept.get(name)
        return kept.folder if kept else None

    def look(self) -> None:
        """Find new runs, forget deleted ones, and read what is new."""
        began = time.monotonic()
        if began >= self._walk_at:
            self._projects = [self.folder] if self.after is not None else list(self._walk())
            self._walk_at = began + max(WALK_EVERY_S, (time.monotonic() - began) * _SHARE)
        found = {id_of(folder): folder for project in self._projects for folder in self._runs(project)}
        for gone in self._kept.keys() - found.keys():
            self._let_go(self._kept.pop(gone))
        for name, folder in found.items():
            if name not in self._kept:
                where = os.path.relpath(folder.directory, self.folder)
                self._kept[name] = _Kept(folder, Row(name, folder.run, harmless(where)))
            self._refresh(self._kept[name])

    def _walk(self) -> Iterator[Path]:
        """The directories below the folder that have runs. Links and hidden folders are not entered."""
        self.left_out = False
        for looked, (above, names, _) in enumerate(os.walk(self.folder), 1):
            if ".headway" in names:
                yield Path(above)
            names[:] = sorted(name for name in names if not name.startswith(".") and name not in _NOT_ENTERED)
            if looked >= MOST_FOLDERS:
                self.left_out = True
                return

    def _runs(self, project: Path) -> list[RunFolder]:
        try:
            runs = Project(project).runs()
        except (OSError, HeadwayError):  # somebody else's, or just deleted
            return []
        return [folder for folder in runs if self.after is None or int(folder.run) > self.after]

    def _refresh(self, kept: _Kept) -> None:
        """Read what is new of a run; of one that does not go on, only if its journal was touched."""
        now = signature(kept.folder)
        if kept.reading is None:
            if kept.seen == now:
                return
            kept.extra = Extra()
            kept.reading = Reading(kept.folder, RunSummary(), kept.extra)
        kept.seen = now
        try:
            while kept.reading.read()[1]:
                pass
            state = kept.reading.state()
        except DamagedError as problem:
            kept.row = Row(kept.row.id, kept.row.run, kept.row.where, trouble=str(problem))
            kept.metrics = RunMetrics()
            self._let_go(kept)
            return
        self._describe(kept, kept.reading, state)
        if state != "running":
            self._let_go(kept)

    def _describe(self, kept: _Kept, reading: Reading, state: str) -> None:
        summary, now = reading.summary, time.time()
        whole, settings = summary.whole(), summary.settings
        kept.row = Row(
            kept.row.id,
            kept.row.run,
            kept.row.where,
            harmless(settings.name) if settings else "",
            state,
            whole.done,
            whole.total,
            whole.failed,
            whole.running if state == "running" else 0,
            settings.at if settings else 0.0,
            round(summary.elapsed_s(now if state == "running" else None)),
        )
        kept.metrics = metrics_of(summary, kept.extra, state, now)

    def _let_go(self, kept: _Kept) -> None:
        if kept.reading is not None:
            kept.reading.close()
            kept.reading = None


def id_of(folder: RunFolder) -> str:
    """The name of a run in addresses, which says nothing about its place."""
    return blake2b(os.fsencode(folder.path), digest_size=8).hexdigest()
