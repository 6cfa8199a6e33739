"""`Watch`: a run as it goes on, read from its journal; for `headway top`."""

from __future__ import annotations

import os
import time
from io import BytesIO
from pathlib import Path
from typing import Any

from headway.api.cancel import cancel
from headway.api.finding import find_run, manager_of, state_of
from headway.api.logs import TaskLogs, logs
from headway.api.why import Explanation, why
from headway.journal.folder import Manager
from headway.journal.logs import open_log
from headway.journal.sqlite import MOST_AT_ONCE, JournalTail
from headway.model.errors import HeadwayError
from headway.report.run.progress import News, news_of
from headway.report.run.story import Story
from headway.report.run.waiting_reasons import waiting_reasons
from headway.report.run.watched_run import WatchedRun

_LOOK_FOR_MANAGER_S = 3.0


class Watch:
    """Reads what is appended to a run's journal. Nothing of the run is touched, except by `cancel`."""

    def __init__(self, run: str | None = None, directory: str | os.PathLike[str] = ".") -> None:
        self.folder = find_run(Path(directory), run)
        self.summary = WatchedRun()
        self.news: tuple[float, News] | None = None  # the last, and when that was
        self.manager: Manager | None = None
        self._tail = JournalTail(self.folder.journal)
        self._manager_at = 0.0
        self.behind = True  # there is more to read at once

    def catch_up(self) -> None:
        """Read all that is there."""
        while self.look():
            pass

    def look(self) -> bool:
        """Read what is new, at most some thousand records; return whether there was any.

        Raises a `SiteError` if the journal is damaged; what was read before stays.
        """
        batch = self._tail.news()
        self.behind = len(batch) >= MOST_AT_ONCE
        with self._tail.careful():
            for record in batch:
                news = news_of(record, self.summary)
                if news is not None:
                    self.news = (record.at, news)
                self.summary.apply(record)
        if time.monotonic() - self._manager_at >= _LOOK_FOR_MANAGER_S:
            self._manager_at = time.monotonic()
            self.manager = manager_of(self.folder, self.summary)
        return bool(batch)

    @property
    def state(self) -> str:
        """The run's state, as `headway status` calls it."""
        return state_of(self.summary, self.manager)

    def close(self) -> None:
        """Let go of the journal."""
        self._tail.close()

    def story(self, task: str) -> Story | None:
        """Return what happened to a task, and why; None if it is not known."""
        found = why(task, self.folder.run, self.folder.directory)
        return found.story if isinstance(found, Explanation) else None

    def logs(self, task: str) -> TaskLogs | None:
        """Return the logs of a task's newest attempt; None if it has none."""
        try:
            found = logs(task, self.folder.run, self.folder.directory)
        except HeadwayError:  # it has not run yet, or the run whose result was reused is deleted
            return None
        return found if isinstance(found, TaskLogs) else None

    def stop(self) -> str:
        """Stop the run at once; return a sentence about it. Whether it has stopped, the journal tells."""
        said: list[str] = []
        done = cancel(self.folder.run, self.folder.directory, wait=False, warn=said.append)
        return "; ".join([done.message, *said])

    def document(self) -> dict[str, Any]:
        """Return what `headway top --json` prints: the run as it is now."""
        summary, now = self.summary, time.time()
        return {
            "run": self.folder.run,
            "name": summary.settings.name if summary.settings else "",
            "state": self.state,
            "categories": [_category(summary, name) for name in summary.categories],
            "waiting": [{"what": what, "why": why} for what, why in waiting_reasons(summary, self.state, now)],
        }


def _category(summary: WatchedRun, name: str) -> dict[str, Any]:
    figures, sizes, ready = summary.categories[name], summary.sizes[name], summary.ready(name)
    return {
        "category": name,
        "total": figures.total,
        "done": figures.done,
        "running": figures.running,
        "ready": ready,
        "waiting": figures.waiting - ready,
        "failed": figures.failed,
        "cut_off": figures.cut_off,
        "given": {resource: sizes.now[resource] for resource in ("cores", "memory_bytes")} if sizes.now else None,
        "memory_given_bytes": list(sizes.memory),
        "memory_used_last_bytes": sizes.used_bytes,
        "retries": sizes.retries,
    }


def last_lines(logs: TaskLogs, stream: str, most_bytes: int = 65536) -> tuple[int, str]:
    """Return how many bytes an attempt wrote to a stream, and the text of the last of them."""
    with open_log(logs.folder, logs.task, logs.attempt, stream) or BytesIO() as log:
        size = log.seek(0, os.SEEK_END)
        log.seek(max(0, size - most_bytes))
        text = log.read(most_bytes).decode(errors="replace")
    return size, text if size <= most_bytes else text.partition("\n")[2]
