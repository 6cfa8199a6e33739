"""The live display on a terminal: a bar a category, what is in use, what is running, what went wrong last."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from itertools import islice
from types import TracebackType

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from headway.cli.news import Kind, News
from headway.cli.progress import Progress, greeting, styled
from headway.model.records import Decision, Event
from headway.model.units import format_bytes, format_duration
from headway.report.bars import bars, fitted
from headway.report.run.summary import RunSummary
from headway.report.saying import say
from headway.report.words import harmless, stopwatch

_FRAME_S = 0.125  # at most eight pictures a second
_CLOCK_S = 1.0  # and one a second if nothing but the clock has changed
_MOST_RUNNING = 4
_MOST_RECENT = 3


class LiveDisplay(Progress):
    """Draws in a thread of its own, so that a batch of records costs the run no more than the counting.

    Failures are printed above the picture and stay in the terminal's history; retries come and go inside it.
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._artist.join()
        try:
            self._live.stop()
        except (OSError, ValueError):
            self._readable = False

    def _fold(self, batch: Sequence[Event | Decision]) -> list[News]:
        with self._lock:  # not while telling: whoever prints waits for whoever draws, who waits for this lock
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


def picture(
    summary: RunSummary, console: Console, recent: Sequence[News], stopping: News | None, now: float
) -> RenderableType:
    """Everything that is to be seen at one moment."""
    width, height = console.size
    below = _running(summary, width, now) + [_cut(styled(news), width) for news in recent]
    if stopping is not None:
        below.append(styled(stopping))
    if not summary.categories:
        return Text("starting …")
    above = bars(list(summary.categories.values()), width, max(3, height - len(below) - 4))
    return Group(Text(), *above, _totals(summary, width, now), *below)


def _totals(summary: RunSummary, width: int, now: float) -> Text:
    """Time, tasks, and what is held of what there is."""
    whole, used, available = summary.whole(), summary.in_use(), summary.available()
    line = Text.assemble(
        (stopwatch(summary.elapsed_s(now)), "bold"),
        f"  {whole.done:,} of {whole.total:,} done",
        (f"  {whole.failed:,} failed" if whole.failed else "", "red"),
        f"  {used.cores:g} of {available.cores:g} cores",
        f"  {format_bytes(used.memory_bytes)} of {format_bytes(available.memory_bytes)} memory",
    )
    return _cut(line, width)


def _running(summary: RunSummary, width: int, now: float) -> list[Text]:
    """The attempts that have been running longest."""
    oldest = list(islice(summary.running.values(), _MOST_RUNNING))
    if not oldest:
        return []
    ages = [format_duration(max(0.0, now - launch.at)) for launch in oldest]
    names = min(max(cell_len(harmless(launch.task)) for launch in oldest), max(12, width // 3))
    lines = [
        Text.assemble(
            ("▸ ", "yellow"),
            fitted(harmless(launch.task), names),
            (f"  {age:>8}  ", "bold"),
            (str(launch.resources.replace(disk_bytes=0)), "dim"),
            (f"  attempt {launch.attempt}" if launch.attempt > 1 else "", "yellow"),
        )
        for launch, age in zip(oldest, ages, strict=True)
    ]
    more = len(summary.running) - len(oldest)
    if more:
        lines.append(Text(f"  … and {more:,} more", style="dim"))
    return [_cut(line, width) for line in lines]


def _cut(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis")
    return line
