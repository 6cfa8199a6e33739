"""One frame of the live display: a bar per category, what is in use, what is running, what went wrong last."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.text import Text

from headway.model.units import format_bytes, format_duration
from headway.report.bars import bars, fitted
from headway.report.run.progress import News, styled
from headway.report.run.summary import RunSummary
from headway.report.words import harmless, stopwatch

_MOST_RUNNING = 4


def picture(
    summary: RunSummary, console: Console, recent: Sequence[News], stopping: News | None, now: float
) -> RenderableType:
    """Return everything that the display shows at one moment."""
    width, height = console.size
    below = _running(summary, width, now) + [_cut(styled(news), width) for news in recent]
    if stopping is not None:
        below.append(styled(stopping))
    if not summary.categories:
        return Text("starting …")
    above = bars(list(summary.categories.values()), width, max(3, height - len(below) - 4))
    return Group(Text(), *above, _totals(summary, width, now), *below)


def _totals(summary: RunSummary, width: int, now: float) -> Text:
    """Return one line: time, tasks, and the cores and memory in use."""
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
    """Return a line for each of the attempts that have been running longest."""
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
