"""The table of `headway usage`: resources given and used, and one sentence per resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.text import Text

from headway.model.units import format_duration
from headway.report.columns import Field, table_lines
from headway.report.run.end_table import TITLES, most, state_style, tasks_done, waste
from headway.report.run.figures import MEASURED
from headway.report.run.story_text import used_words
from headway.report.run.task_usage import By, Row
from headway.report.words import NOTHING, amount, held, share

_STATES = {"failed": "red", "cut off": "red", "running": "cyan", "reused": "blue", "succeeded": "green"}
_STATE_RANKS = ("failed", "cut off", "to be retried", "running", "waiting", "succeeded", "reused")


def usage_table(rows: list[Row], total: Row, by: By, width: int) -> list[Text]:
    """One line per row, and a total if there are several."""
    shown = [*rows, total] if len(rows) > 1 or total.figures.total > 1 else rows
    names = [row.name for row in shown]
    return table_lines(by, names, shown, _fields(total, by), width, total=len(shown) > len(rows))


def sentences(total: Row) -> list[str]:
    """One sentence per measured resource."""
    found = []
    for resource in MEASURED:
        totals = total.figures.totals[resource]
        if not totals.used_count:
            continue
        asked, used = amount(resource, totals.asked_mean), amount(resource, totals.used_mean)
        words = f"{TITLES[resource]}: asked {asked} on average, used {used} (AWE {share(totals.awe)})"
        if resource == "cores" and total.busy is not None:
            words += f"; busy {share(total.busy)} of the time"
        elif totals.wasted > 0:
            words += f"; {held(resource, totals.wasted)} given and not used"
        found.append(words)
    return found


def _fields(total: Row, by: By) -> list[Field]:
    figures = total.figures
    if by == "task":
        fields = [Field("", "state", _state, 90, lambda row: _STATES.get(row.state, "") if row is not total else "")]
    else:
        fields = [Field("", "tasks", lambda row: tasks_done(row.figures), 90, lambda row: state_style(row.figures))]
        if figures.reused:
            fields.append(
                Field("", "reused", lambda row: f"{row.figures.reused:,}" if row.figures.reused else NOTHING, 40)
            )
    fields += [
        Field("", "attempts", lambda row: f"{row.figures.attempts:,}" if row.figures.attempts else NOTHING, 49),
        Field("", "run time", lambda row: format_duration(row.figures.run_s) if row.figures.attempts else NOTHING, 55),
    ]
    for resource, dear in (("memory_bytes", 50), ("cores", 40), ("disk_bytes", 20)):
        if figures.totals[resource].asked_count:
            fields += _resource_fields(resource, dear, with_most=by == "category")
    return fields


def _resource_fields(resource: str, dear: int, *, with_most: bool) -> list[Field]:
    group = TITLES[resource]
    fields = [
        Field(group, "asked", lambda row: amount(resource, row.asked(resource)), dear + 8),
        Field(group, "used", lambda row: _used(resource, row), dear + 8),
        Field(group, "waste", lambda row: waste(resource, row.figures), dear + 6 if resource == "memory_bytes" else 5),
        Field(group, "AWE", lambda row: share(row.figures.totals[resource].awe), dear + 7),
    ]
    if with_most:
        dear_most = 12 if resource == "memory_bytes" else 1
        fields.insert(2, Field(group, "most", lambda row: most(resource, row.figures), dear_most))
    if resource == "cores":
        fields.insert(-1, Field(group, "busy", lambda row: share(row.busy), dear + 8))
    return fields


def _state(row: Row) -> str:
    """A task's state; in the total row, the number of tasks with a result."""
    return row.state if row.category else tasks_done(row.figures)


def _used(resource: str, row: Row) -> str:
    if row.last:
        return used_words(resource, row.peak(resource)) or NOTHING
    return amount(resource, row.used(resource))


# --- sort keys ---


def _of(resource: str, column: str) -> Callable[[Row], Any]:
    """The sort key of a resource's column: largest amounts first, or lowest efficiency first."""
    match column:
        case "asked":
            return lambda row: _falling(row.asked(resource))
        case "used":
            return lambda row: _falling(row.used(resource))
        case "waste":
            return lambda row: _falling(row.figures.totals[resource].wasted)
        case _:
            return lambda row: _rising(row.figures.totals[resource].awe)


def _falling(value: float | None) -> tuple[bool, float]:
    return value is None, -(value or 0)


def _rising(value: float | None) -> tuple[bool, float]:
    return value is None, value or 0


SORTS: dict[str, Callable[[Row], Any]] = {
    "name": lambda row: row.name,
    "state": lambda row: _STATE_RANKS.index(row.state),
    "tasks": lambda row: -row.figures.total,
    "attempts": lambda row: -row.figures.attempts,
    "run-time": lambda row: -row.figures.run_s,
    "cores-busy": lambda row: _rising(row.busy),
    **{
        f"{title}-{column}": _of(resource, column)
        for resource, title in TITLES.items()
        for column in ("asked", "used", "waste", "awe")
    },
}
