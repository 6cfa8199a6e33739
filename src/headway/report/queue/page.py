"""The HTML page of a simulated queue: figures, curves over time, bars by size and hour, and a Gantt chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from msgspec import Struct

from headway.model.batch_log import BatchJobs, Seconds
from headway.report.charts import duration_marks, number_marks
from headway.report.page_style import legend, page_of, quiet_paragraph, table
from headway.report.queue.charts import Bar, Curve, bar_chart, curve_chart
from headway.report.queue.clock import Clock, Span
from headway.report.queue.gantt import MOST_JOBS, WAITS, busiest_day, draw, gantt_of, in_window
from headway.report.queue.summary import QueueCurves, QueueSummary, Waits
from headway.report.queue.words import between, headline, leaving_out, sizes, times, waited
from headway.report.words import count, harmless, share

_BUSY, _JOBS, _NODES = "#2f7d4f", "#e8762d", "#9b7fd1"
_WAIT, _SLOWDOWN = "#2f6fb5", "#e8762d"

_ROOM_FOR_NAMES = 9  # bars that have room for a name such as 129-256 below and a value above

_STYLE = """
  .tiles { display: flex; flex-wrap: wrap; gap: .7rem; margin: 1.2rem 0 }
  .tile { flex: 1 1 7rem; border: 1px solid var(--line); border-radius: 8px; padding: .4rem .7rem }
  .tile b { display: block; font-size: 1.3rem; font-weight: 600; white-space: nowrap }
  .tile span { font-size: .82rem; color: var(--quiet) }
  .pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0 1.2rem }
  svg { width: 100% } .long { min-width: 44rem }
  svg text { font-family: inherit }
  .grid { stroke: #8c959f; stroke-opacity: .28; fill: none }
  .frame { stroke: currentColor; stroke-opacity: .5; fill: none }
  .point rect { fill: transparent } .point rect:hover { fill: currentColor; fill-opacity: .12 }
  .job .edge { stroke: var(--paper); stroke-width: .6 }
  .job text { font-weight: 600; pointer-events: none }
  .job:hover rect { stroke: var(--ink); stroke-width: 1.4 }
  path:hover { stroke-opacity: 1 }
  details { margin: 1rem 0 }
"""


class QueuePage(Struct, frozen=True):
    """The content of the page."""

    jobs: BatchJobs
    start_s: Seconds
    summary: QueueSummary
    curves: QueueCurves
    clock: Clock
    settings: Sequence[str]  # how it was simulated, in words
    window: Span | None = None  # of the Gantt chart; None: the busiest day

    def html(self) -> str:
        """The page as HTML."""
        return page_of(f"{harmless(self.summary.name)}: a simulated queue", _STYLE, self._body())

    def _body(self) -> Iterator[str]:
        summary, lead = self.summary, escape(headline(self.summary))
        yield f"<h1>{escape(harmless(summary.name))}</h1>"
        yield f'<p class="lead">{lead[:1].upper()}{lead[1:]}.</p>'
        zone = f" ({self.clock.zone_name})" if self.clock.dated else ""
        yield quiet_paragraph(
            f"{count(summary.jobs, 'job')} on {count(summary.machine, 'node')}, "
            f"from {self.clock.words(0.0)} to {self.clock.words(summary.span_s)}{zone}. "
            f"Simulated by Headway: {', '.join(self.settings)}."
            + (f" Left out: {leaving_out(summary)}." if leaving_out(summary) else "")
        )
        yield _tiles(summary)
        yield from self._over_time()
        yield from self._by_size()
        yield from self._by_hour()
        yield from self._schedule()
        yield from self._tables()

    # --- pictures ---

    def _over_time(self) -> Iterator[str]:
        yield "<h2>Over time</h2>"
        curves, machine = self.curves, self.summary.machine
        percent = Curve(
            "Share of nodes in use; the line is the mean over a longer time",
            curves.busy_nodes,
            _BUSY,
            lambda value: f"{value:.0f}% busy",
            scale=100.0 / machine,
            most=100.0,
            marks=lambda most: [(value, f"{value:g}%") for value in (0.0, 25.0, 50.0, 75.0, most)],
        )
        waiting = Curve(
            "Waiting jobs: mean, and in a fainter colour the maximum",
            curves.waiting_jobs,
            _JOBS,
            lambda value: f"{times(value)} jobs",
            peaks=True,
        )
        wanted = Curve(
            f"Nodes that waiting jobs request; the machine has {machine:,}",
            curves.waiting_nodes,
            _NODES,
            lambda value: f"{value:,.0f} nodes",
            peaks=True,
        )
        for curve in (percent, waiting, wanted):
            yield _figure(curve.title, curve_chart(curve, self.clock, 0.0, self.summary.span_s))

    def _by_size(self) -> Iterator[str]:
        yield "<h2>By size</h2>"
        groups = [group.waits for group in self.summary.sizes]
        names = [sizes(group, self.summary.machine) for group in self.summary.sizes]
        said = [f"{name} nodes" for name in names]
        if len(names) <= _ROOM_FOR_NAMES:
            yield _pair(names, groups, said, values=True)
            return
        yield quiet_paragraph("Labels are the largest number of nodes; each bar begins above the previous label.")
        yield _pair([_thousands(min(it.most_nodes, self.summary.machine)) for it in self.summary.sizes], groups, said)

    def _by_hour(self) -> Iterator[str]:
        yield "<h2>By hour of submission</h2>"
        yield quiet_paragraph(
            f"Hours of {self.clock.zone_name}."
            if self.clock.dated
            else "The log has no date: hours count from the first submission, not from midnight."
        )
        found = {each.hour: each.waits for each in self.summary.hours}
        names = [str(hour) if hour % 2 == 0 else "" for hour in range(24)]
        yield _pair(names, [found.get(hour) for hour in range(24)], [between(hour) + " h" for hour in range(24)])

    def _schedule(self) -> Iterator[str]:
        window = self.window or busiest_day(self.jobs, self.start_s, self.curves.busy_nodes, self.clock)
        whole = window[0] <= 0 and window[1] >= self.summary.span_s
        title = "The whole schedule" if whole else "The schedule" if self.window else "The busiest day"
        yield f"<h2>{title}: {escape(self._from_to(window))}</h2>"
        inside = int(in_window(self.jobs, self.start_s, window).sum())
        if inside > MOST_JOBS:
            yield quiet_paragraph(f"{inside:,} jobs run in this time, too many to draw: choose less with --window.")
            return
        drawing = draw(gantt_of(self.jobs, self.start_s, window), self.jobs, self.start_s, self.clock)
        yield quiet_paragraph(
            "Rows are not node numbers: a job is drawn in the first gap that is wide enough, or in several pieces. "
            "Lines below are waiting jobs, from submission to start. Colours show how long a job waited; point at one."
        )
        yield legend((name, colour) for name, _, colour in WAITS)
        yield f'<div class="wide">{drawing.picture}</div>'
        left_out = []
        if drawing.jobs_left_out:
            left_out.append(f"{count(drawing.jobs_left_out, 'job')} with the least node time")
        if drawing.waits_left_out:
            left_out.append(f"the waits of {count(drawing.waits_left_out, 'job')}")
        if left_out:
            yield quiet_paragraph(f"Not drawn: {', and '.join(left_out)}.")

    def _from_to(self, window: Span) -> str:
        """`Wednesday, 1997-02-12` for a whole day, otherwise begin and end."""
        begin, end = (self.clock.words(at_s) for at_s in window)
        if self.clock.day_begins(window[0]) == window[0] and self.clock.day_after(window[0]) == window[1]:
            day = begin.rpartition(" ")[0].rstrip(",")
            return f"{self.clock.moment(window[0]):%A}, {day}" if self.clock.dated else day
        return f"{begin} to {end}"

    # --- tables ---

    def _tables(self) -> Iterator[str]:
        summary = self.summary
        yield "<h2>All figures</h2><details><summary>by size and by hour</summary>"
        heads = ("jobs", "at once", "wait mean", "median", "90%", "longest", "slowdown mean", "median", "90%", "most")
        named = [(sizes(group, summary.machine), group.waits) for group in summary.sizes]
        yield table(("nodes", *heads), (_row(name, waits) for name, waits in [*named, ("all", summary.waits)]))
        yield "<p></p>"
        yield table(("hour", *heads), (_row(between(each.hour), each.waits) for each in summary.hours))
        yield "</details>"


def _tiles(summary: QueueSummary) -> str:
    waits, mean_jobs = summary.waits, summary.queue.mean_jobs
    waiting = f"{mean_jobs:,.1f}" if mean_jobs < 99.95 else f"{mean_jobs:,.0f}"
    tiles = [
        (waited(waits.wait_s.mean), "mean wait"),
        (waited(waits.wait_s.median), "median wait"),
        (waited(waits.wait_s.p90), "90% wait at most"),
        (share(waits.started_at_once), "start at once"),
        (times(waits.bounded_slowdown.mean), "mean bounded slowdown"),
        (share(summary.utilisation), "of the machine in use"),
        (f"{waiting} / {summary.queue.peak_jobs:,}", "jobs waiting, mean / most"),
    ]
    cells = (f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for value, name in tiles)
    return f'<div class="tiles">{"".join(cells)}</div>'


def _pair(names: Sequence[str], groups: Sequence[Waits | None], said: Sequence[str], *, values: bool = False) -> str:
    """Two bar charts side by side: mean waits and mean slowdowns."""
    waits, slowdowns = [], []
    for name, group, about in zip(names, groups, said, strict=True):
        if group is None:
            waits.append(Bar(name, None, "", f"{about}: no jobs"))
            slowdowns.append(waits[-1])
            continue
        wait, slowdown = group.wait_s, group.bounded_slowdown
        begin = f"{about}: {count(group.jobs, 'job')}, {share(group.started_at_once)} at once\n"
        words = f"{begin}wait: mean {waited(wait.mean)}, median {waited(wait.median)}, 90% within {waited(wait.p90)}"
        waits.append(Bar(name, wait.mean, waited(wait.mean) if values else "", words))
        words = f"{begin}slowdown: mean {times(slowdown.mean)}, median {times(slowdown.median)}"
        slowdowns.append(Bar(name, slowdown.mean, times(slowdown.mean) if values else "", words))
    most_wait = max((bar.value for bar in waits if bar.value is not None), default=0.0)
    most_slowdown = max((bar.value for bar in slowdowns if bar.value is not None), default=1.0)
    left = _figure("Mean wait", bar_chart("Mean wait", waits, duration_marks(most_wait), _WAIT))
    title = "Mean bounded slowdown"
    right = _figure(title, bar_chart(title, slowdowns, number_marks(most_slowdown), _SLOWDOWN))
    return f'<div class="pair">{left}{right}</div>'


def _figure(caption: str, picture: str) -> str:
    return f'<figure><figcaption>{escape(caption)}</figcaption><div class="wide">{picture}</div></figure>'


def _row(name: str, waits: Waits) -> list[str]:
    wait, slowdown = waits.wait_s, waits.bounded_slowdown
    return [
        escape(name),
        f"{waits.jobs:,}",
        share(waits.started_at_once),
        *(waited(value) for value in (wait.mean, wait.median, wait.p90, wait.max)),
        *(times(value) for value in (slowdown.mean, slowdown.median, slowdown.p90, slowdown.max)),
    ]


def _thousands(nodes: int) -> str:
    return f"{nodes}" if nodes < 1000 else f"{nodes / 1000:.0f}k"
