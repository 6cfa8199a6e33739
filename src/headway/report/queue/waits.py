"""The accuracy of wait models: a table for the terminal, and an HTML page with a reliability diagram."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import cycle
from typing import Literal

from msgspec import Struct
from rich.text import Text

from headway.model.units import format_duration
from headway.model.wait_score import WaitScore
from headway.report.charts import LEFT, label, svg
from headway.report.columns import Field, table_lines
from headway.report.page_style import fields_table, legend, page_of, quiet_paragraph
from headway.report.queue.words import waited
from headway.report.words import count, harmless, share


class ModelScores(Struct, frozen=True):
    """A model's scores on the jobs that the scheduler's plan makes wait, and on all jobs."""

    to_wait: WaitScore
    all: WaitScore


def waits_table(scored: Sequence[ModelScores], width: int) -> list[Text]:
    """One line per model."""
    fields = [
        Field("mean error", "absolute", lambda row: lasting(row.to_wait.absolute_error_s), 90),
        Field("mean error", "of plan's", lambda row: ratio(row.to_wait.to_plan), 85),
        Field("mean error", "signed", lambda row: lasting(row.to_wait.error_s), 30),
        Field("within", "50%", lambda row: share(row.to_wait.covered["0.5"]), 60),
        Field("within", "90%", lambda row: share(row.to_wait.covered["0.9"]), 80),
        Field("within", "95%", lambda row: share(row.to_wait.covered["0.95"]), 70),
        Field("", "pinball", lambda row: lasting(row.to_wait.mean_pinball_s), 52),
        Field("all jobs", "error", lambda row: lasting(row.all.absolute_error_s), 25),
        Field("all jobs", "90%", lambda row: share(row.all.covered["0.9"]), 20),
    ]
    return table_lines("model", [row.to_wait.name for row in scored], scored, fields, width, total=False)


class ShapeWait(Struct, frozen=True):
    """The expected wait of a job, and the partition where it starts soonest."""

    nodes: int
    cores: int  # on all its nodes together
    walltime_s: float
    wait_s: float
    partition: str


def shapes_table(waits: Sequence[ShapeWait], width: int, counts: Literal["nodes", "cores"]) -> list[Text]:
    """One line for each number of nodes or cores, one column for each walltime."""
    by_size: dict[int, dict[float, ShapeWait]] = {}
    for each in waits:
        by_size.setdefault(getattr(each, counts), {})[each.walltime_s] = each
    several = len({each.partition for each in waits}) > 1
    fields = [
        Field("expected wait of a job for", format_duration(length_s), partial(_wait_for, length_s, several), 90)
        for length_s in dict.fromkeys(each.walltime_s for each in waits)
    ]
    return table_lines(counts, [f"{size:,}" for size in by_size], list(by_size.values()), fields, width, total=False)


def _wait_for(length_s: float, several: bool, waits: Mapping[float, ShapeWait]) -> str:
    wait = waits[length_s]
    return f"{waited(wait.wait_s)} ({harmless(wait.partition)})" if several else waited(wait.wait_s)


def waits_headline(scored: Sequence[ModelScores]) -> str:
    """One sentence: the model with the smallest error, and how it compares with the scheduler's own plan."""
    best = min((row.to_wait for row in scored), key=lambda each: each.absolute_error_s)
    words = f"{best.name} has the smallest error: {lasting(best.absolute_error_s)} on average"
    if best.to_plan is not None and best.to_plan != 1:
        words += f", {ratio(best.to_plan)} times the error of the scheduler's own plan"
    jobs = f"{count(best.jobs, 'job')} that the plan made wait"
    return f"{words}; {jobs} waited {lasting(best.mean_wait_s)} on average"


def lasting(seconds: float) -> str:
    """A duration that may be negative: `0 s`, `1h 32m`, `-5m 10s`."""
    if abs(seconds) < 0.05:
        return "0 s"
    return f"-{format_duration(-seconds)}" if seconds < 0 else format_duration(seconds)


def ratio(value: float | None) -> str:
    """`0.48`; a dash for None."""
    return "-" if value is None else f"{value:.2f}"


COLOURS = ("#2f6fb5", "#8c959f", "#2f7d4f", "#e8762d", "#9b7fd1", "#c94f7c", "#b08800", "#3aa6a6")
_SIDE, _TOP, _BOTTOM, _RIGHT = 420.0, 12.0, 44.0, 24.0  # pixels
_SHOWN = ("0.5", "0.9", "0.95")  # quantiles in the table of errors

_STYLE = """
  figure { max-width: 36rem }
  svg { width: 100% }
  .grid { stroke: #8c959f; stroke-opacity: .28; fill: none }
  .right { stroke: currentColor; stroke-opacity: .6; stroke-dasharray: 5 4; fill: none }
  path:hover, circle:hover { stroke-opacity: 1 }
"""


class WaitsPage(Struct, frozen=True):
    """The content of the page."""

    name: str  # of the log
    machine: int
    settings: Sequence[str]  # how it was simulated, in words
    scored: Sequence[ModelScores]

    def html(self) -> str:
        """The page as HTML."""
        return page_of(f"{harmless(self.name)}: predicted waits", _STYLE, self._body())

    def _body(self) -> Iterator[str]:
        yield f"<h1>{escape(harmless(self.name))}: predicted waits</h1>"
        yield f'<p class="lead">{escape(waits_headline(self.scored))}.</p>'
        jobs = self.scored[0].all.jobs
        yield quiet_paragraph(
            f"{count(jobs, 'job')} on {count(self.machine, 'node')}. Simulated by Headway: {', '.join(self.settings)}. "
            "Each model predicts when a job is submitted and knows only the jobs that have started by then. "
            "The command headway policies describes each model in a line."
        )
        to_wait = [row.to_wait for row in self.scored]
        yield "<h2>Jobs that the plan made wait</h2>"
        yield _table(to_wait)
        yield quiet_paragraph(
            "The plan is what the scheduler itself expects; scheduler-estimate predicts exactly that. Errors are those "
            "of the single figure that a planner would use; a signed error above 0 means that predictions are too "
            "long. Waits within: the share of waits no longer than the predicted quantile; ideally the share in the "
            "heading. Pinball: the mean pinball loss over all predicted quantiles; lower is better."
        )
        yield "<h2>Reliability</h2>"
        yield quiet_paragraph(
            "The share of waits within each predicted quantile, for the jobs that the plan made wait. On the dashed "
            "line predictions are calibrated; above it they are too cautious, below it too optimistic."
        )
        names = [each.name for each in to_wait]
        yield legend(zip(names, cycle(COLOURS), strict=False))
        yield f'<figure><div class="wide">{reliability_chart(to_wait)}</div></figure>'
        figures = fields_table("model", names, to_wait, _quantiles("", list(to_wait[0].covered)))
        yield f"<details><summary>figures</summary>{figures}</details>"
        yield "<h2>All jobs</h2>"
        yield quiet_paragraph("Includes jobs that could start at once, which the scheduler's own plan knows exactly.")
        yield _table([row.all for row in self.scored])


def reliability_chart(scored: Sequence[WaitScore]) -> str:
    """The reliability diagram: predicted quantiles on the x axis, shares of waits within them on the y axis."""

    def x(value: float) -> float:
        return LEFT + _SIDE * value

    def y(value: float) -> float:
        return _TOP + _SIDE * (1 - value)

    parts = []
    for step in range(5):
        at = step / 4
        parts.append(f'<path class="grid" d="M{x(0):.1f} {y(at):.1f}H{x(1):.1f}M{x(at):.1f} {y(0):.1f}V{y(1):.1f}"/>')
        parts.append(label(LEFT - 7, y(at) + 4, share(at), anchor="end"))
        parts.append(label(x(at), y(0) + 17, share(at)))
    parts.append(label(x(0.5), y(0) + 36, "predicted quantile"))
    parts.append(label(14, y(0.5), "share of waits within it", turned=True))
    parts.append(f'<path class="right" d="M{x(0):.1f} {y(0):.1f}L{x(1):.1f} {y(1):.1f}"/>')
    for each, colour in zip(scored, cycle(COLOURS), strict=False):
        points = [(float(at), covered) for at, covered in each.covered.items()]
        line = "L".join(f"{x(at):.1f} {y(covered):.1f}" for at, covered in points)
        parts.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2" stroke-opacity=".85"/>')
        for at, covered in points:
            words = f"{each.name}: {share(covered)} of waits within the {at:.0%} quantile"
            parts.append(
                f'<circle cx="{x(at):.1f}" cy="{y(covered):.1f}" r="3.2" fill="{colour}">'
                f"<title>{escape(words)}</title></circle>"
            )
    return svg("Reliability", LEFT + _SIDE + _RIGHT, _TOP + _SIDE + _BOTTOM, "".join(parts))


def _table(scored: Sequence[WaitScore]) -> str:
    fields = [
        Field("", "jobs", lambda row: f"{row.jobs:,}"),
        Field("", "mean wait", lambda row: lasting(row.mean_wait_s)),
        Field("mean error", "absolute", lambda row: lasting(row.absolute_error_s)),
        Field("mean error", "of the plan's", lambda row: ratio(row.to_plan)),
        Field("mean error", "signed", lambda row: lasting(row.error_s)),
        *_quantiles("waits within", [at for at in _SHOWN if at in scored[0].covered]),
        Field("", "pinball", lambda row: lasting(row.mean_pinball_s)),
    ]
    return fields_table("model", [each.name for each in scored], scored, fields)


def _quantiles(group: str, shares: Sequence[str]) -> list[Field]:
    """A column for each quantile: the share of waits within it."""

    def column(at: str) -> Field:
        return Field(group, f"{float(at):.0%}", lambda row: share(row.covered[at]))

    return [column(at) for at in shares]
