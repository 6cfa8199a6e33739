"""Tables of a simulated queue for the terminal: by job size and by hour of submission."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from statistics import fmean

from rich.text import Text

from headway.report.columns import Field, table_lines
from headway.report.queue.summary import QueueSummary, SizeClass, Waits
from headway.report.queue.words import between, sizes, times, waited
from headway.report.words import share

_HOURS_A_ROW = 4
_HEIGHTS = "▁▂▃▄▅▆▇█"


def size_table(summary: QueueSummary, width: int) -> list[Text]:
    """One line per size class, and one for all jobs."""
    names = [sizes(group, summary.machine) for group in summary.sizes]
    fields = [
        Field("", "jobs", lambda row: f"{row.waits.jobs:,}", 80),
        Field("", "node time", lambda row: share(row.node_share), 30),
        Field("", "at once", lambda row: share(row.waits.started_at_once), 60),
        Field("wait", "mean", lambda row: waited(row.waits.wait_s.mean), 90),
        Field("wait", "median", lambda row: waited(row.waits.wait_s.median), 65),
        Field("wait", "90%", lambda row: waited(row.waits.wait_s.p90), 55),
        Field("wait", "longest", lambda row: waited(row.waits.wait_s.max), 52),
        Field("", "mean slowdown", lambda row: times(row.waits.bounded_slowdown.mean), 85),
    ]
    every = SizeClass(1, summary.machine, summary.waits, 1.0)
    return table_lines("nodes", [*names, "all"], [*summary.sizes, every], fields, width, total=True)


def hour_table(summary: QueueSummary, width: int) -> list[Text]:
    """One line for each four hours in which jobs were submitted."""
    groups = groupby(summary.hours, key=lambda each: each.hour // _HOURS_A_ROW * _HOURS_A_ROW)
    rows = {between(first, _HOURS_A_ROW): [each.waits for each in hours] for first, hours in groups}
    fields = [
        Field("", "jobs", lambda row: f"{sum(each.jobs for each in row):,}", 80),
        Field("", "at once", lambda row: share(_mean(row, lambda each: each.started_at_once)), 60),
        Field("", "mean wait", lambda row: waited(_mean(row, lambda each: each.wait_s.mean)), 90),
        Field("", "mean slowdown", lambda row: times(_mean(row, lambda each: each.bounded_slowdown.mean)), 85),
    ]
    return table_lines("submitted", list(rows), list(rows.values()), fields, width, total=False)


def _mean(hours: Sequence[Waits], figure: Callable[[Waits], float]) -> float:
    """The mean of a figure, weighted by the number of jobs."""
    return fmean(map(figure, hours), [each.jobs for each in hours])


def hour_line(summary: QueueSummary) -> Text:
    """The mean wait of each hour of the day as a sparkline."""
    found = {each.hour: each.waits.wait_s.mean for each in summary.hours}
    line = Text("mean wait, hour by hour: 0 ")
    return line.append(sparkline([found.get(hour) for hour in range(24)]), style="cyan").append(" 24")


def sparkline(values: Sequence[float | None]) -> str:
    """One block character per value; a blank for None.

    >>> sparkline([0, 5, None, 10])
    '▁▅ █'
    """
    most = max((value for value in values if value is not None), default=0.0) or 1.0
    steps = len(_HEIGHTS)
    return "".join(" " if it is None else _HEIGHTS[min(steps - 1, int(it / most * steps))] for it in values)
