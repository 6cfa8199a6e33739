"""The live display on a terminal."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from headway.model.records import Decision, Event
from headway.report.run.live_picture import picture
from headway.report.run.progress import Kind, News, Progress, greeting, styled
from headway.report.run.summary import RunSummary
from headway.report.saying import say

_FRAME_S = 0.125  # at most eight pictures a second
_CLOCK_S = 1.0  # and one a second if nothing but the clock has changed
_MOST_RECENT = 3


class LiveDisplay(Progress):
    """Draws in a thread of its own, so that a batch of records costs the run only the counting.

    Failures are printed above the picture and stay in the terminal's history; retries are shown inside it for a while.
    """

    def __init__(self, summary: RunSummary, console: Console) -> None:
        super().__init__(summary)
        self._console = console
        self._lock = threading.Lock()  # the summary must not change while it is drawn
        self._recent: deque[News] = deque(maxlen=_MOST_RECENT)
        self._stopping: News | None = None
        self._greeted = False
        self._changed = True
        self._over = threading.Event()
        self._live = Live(
            console=console, get_renderable=self._picture, auto_refresh=False, transient=True, vertical_overflow="crop"
        )
        self._artist = threading.Thread(target=self._draw, name="headway-display", daemon=True)

    def __enter__(self) -> LiveDisplay:
        self._live.start()
        self._artist.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._artist.join()
        try:
            self._live.stop()
        except (OSError, ValueError):
            self._readable = False

    def catch_up(self, batch: Iterable[Event | Decision]) -> None:
        with self._lock:
            super().catch_up(batch)

    def _fold(self, batch: Sequence[Event | Decision]) -> list[News]:
        with self._lock:  # not while telling: a print waits for the drawing thread, which waits for this lock
            told = super()._fold(batch)
        self._changed = True
        return told

    def _tell(self, told: Sequence[News]) -> None:
        if not self._greeted:
            self._greeted = True
            say(self._console, greeting(self.summary))
        for news in told:
            if news.kind is Kind.STOPPING:
                self._stopping = news
            elif news.kind is Kind.FAILED and len(self.summary.failures) <= 20:
                say(self._console, Text.assemble(("✗ ", "red"), (news.subject, "bold"), f": {news.text}"))
            elif news.kind is Kind.HELD:
                say(self._console, styled(news))
            else:
                self._recent.append(news)

    def _draw(self) -> None:
        drawn_at = 0.0
        while not self._over.wait(_FRAME_S):
            now = time.monotonic()
            if not self._readable or not (self._changed or now - drawn_at >= _CLOCK_S):
                continue
            self._changed = False
            drawn_at = now
            try:
                self._live.refresh()
            except (OSError, ValueError):
                self._readable = False

    # --- the picture ---

    def _picture(self) -> RenderableType:
        with self._lock:
            return picture(self.summary, self._console, [*self._recent], self._stopping, time.time())
