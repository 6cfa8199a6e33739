"""Tables of the history for the terminal: by category, or by attempt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct
from rich.text import Text

from headway.history.figures import CategoryFigures, Spread
from headway.model.observation import Observation
from headway.model.outcome import Ending
from headway.model.units import format_bytes, format_duration
from headway.report.columns import Field, table_lines
from headway.report.run.story_text import used_words
from headway.report.words import NOTHING, amount, moment


class _Line(Struct, frozen=True):
    """A category with its figures, or a workflow's name above its categories."""

    name: str
    figures: CategoryFigures | None


def category_table(rows: Sequence[CategoryFigures], width: int) -> list[Text]:
    """One line per category, below the name of its workflow; the site is named if there are several."""
    sites = {row.site for row in rows}
    lines: list[_Line] = []
    for (workflow, site), members in groupby(rows, key=lambda row: (row.workflow, row.site)):
        lines.append(_Line(f"{workflow} ({site})" if len(sites) > 1 else workflow, None))
        lines += [_Line(f"  {member.category}", member) for member in members]
    return table_lines("category", [line.name for line in lines], lines, _FIELDS, width, total=False)


def attempt_table(observations: Iterable[Observation], width: int) -> list[Text]:
    """One line per attempt."""
    rows = list(observations)
    names = [f"{row.task}, attempt {row.attempt}" if row.attempt > 1 else row.task for row in rows]
    return table_lines("task", names, rows, _ATTEMPT_FIELDS, width, total=False)


def _most(resource: str, spread: Spread | None) -> str:
    return amount(resource, spread.most if spread else None)


def _median(resource: str, spread: Spread | None) -> str:
    return amount(resource, spread.median if spread else None)


def _failed(line: _Line) -> str:
    if line.figures is None:
        return ""
    return f"{line.figures.failures:,}" if line.figures.failures else NOTHING


_FIELDS = [
    Field("", "attempts", lambda line: f"{line.figures.observations:,}" if line.figures else "", 90),
    Field("", "failed", _failed, 80, lambda line: "yellow" if line.figures and line.figures.failures else ""),
    Field(
        "memory", "median", lambda line: _median("memory_bytes", line.figures.memory_bytes) if line.figures else "", 70
    ),
    Field("memory", "most", lambda line: _most("memory_bytes", line.figures.memory_bytes) if line.figures else "", 70),
    Field("run time", "median", lambda line: _median("walltime_s", line.figures.run_s) if line.figures else "", 60),
    Field("run time", "most", lambda line: _most("walltime_s", line.figures.run_s) if line.figures else "", 60),
    Field("", "newest", lambda line: moment(line.figures.newest_at) if line.figures else "", 50),
]


def _used(resource: str, row: Observation) -> str:
    return used_words(resource, row.usage.peak(resource)) or NOTHING


_ATTEMPT_FIELDS = [
    Field(
        "",
        "ended",
        lambda row: str(row.ending),
        90,
        lambda row: "green" if row.ending is Ending.SUCCESS else "yellow" if row.ending.exhausted else "red",
    ),
    Field("", "run time", lambda row: format_duration(max(0.0, row.ended_at - row.started_at)), 60),
    Field("", "inputs", lambda row: NOTHING if row.input_bytes is None else format_bytes(row.input_bytes), 40),
    Field("memory", "given", lambda row: amount("memory_bytes", row.given.memory_bytes), 70),
    Field("memory", "used", lambda row: _used("memory_bytes", row), 70),
    Field("cores", "given", lambda row: amount("cores", row.given.cores), 30),
    Field("cores", "used", lambda row: _used("cores", row), 30),
    Field("disk", "given", lambda row: amount("disk_bytes", row.given.disk_bytes), 20),
    Field("disk", "used", lambda row: _used("disk_bytes", row), 20),
    Field("", "when", lambda row: moment(row.ended_at), 50),
]
