"""The tables at the end of a run and of `headway usage`: resources given and used, and one sentence per resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.text import Text

from headway.model.units import format_duration
from headway.report.columns import Field, table_lines
from headway.report.run.figures import MEASURED, Figures
from headway.report.run.story_text import used_words
from headway.report.run.summary import RunSummary
from headway.report.run.task_usage import By, Row
from headway.report.words import NOTHING, amount, count, harmless, held, share

# By resource: the title of its columns, and how important they are: most of them, the highest use, and the waste.
_COLUMNS = {"memory_bytes": ("memory", 50, 12, 56), "cores": ("cores", 40, 1, 5), "disk_bytes": ("disk", 20, 1, 5)}
_STATES = {"failed": "red", "cut off": "red", "running": "cyan", "reused": "blue", "succeeded": "green"}
_STATE_RANKS = ("failed", "cut off", "to be retried", "running", "waiting", "succeeded", "reused")


def end_table(summary: RunSummary, width: int) -> list[Text]:
    """The table at the end of a run: tasks, attempts, run time and resources by category and in total."""
    rows = [Row(figures.name, figures.name, figures) for figures in summary.categories.values()]
    whole = summary.whole()
    fields = [
        _TASKS,
        *([_reused(70)] if whole.reused else []),
        Field("", "attempts", lambda row: f"{row.figures.attempts:,}", 60),
        _run_time(59),
    ]
    for resource, totals in whole.totals.items():
        if totals.used_count:
            fields += _resource_fields(resource, with_most=True, with_busy=False)
    fields += _gpu_fields(whole)
    shown = [*rows, Row(whole.name, "", whole)] if len(rows) > 1 else rows
    return table_lines("category", [row.name for row in shown], shown, fields, width, total=len(rows) > 1)


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
        words = f"{_COLUMNS[resource][0]}: asked {asked} on average, used {used} (AWE {share(totals.awe)})"
        if resource == "cores" and total.figures.busy is not None:
            words += f"; busy {share(total.figures.busy)} of the time"
        elif totals.wasted > 0:
            words += f"; {held(resource, totals.wasted)} given and not used"
        found.append(words)
    gpus = total.figures.gpus
    if gpus.held_s:
        busy = f", busy {share(gpus.busy)} of the time" if gpus.busy is not None else ""
        memory = f"; at most {amount('gpu_memory_bytes', gpus.most)} of their memory used" if gpus.most else ""
        found.append(f"GPUs: held for {_gpu_hours(gpus.held_s)} GPU-hours{busy}{memory}")
    return found


def _fields(total: Row, by: By) -> list[Field]:
    if by == "task":
        fields = [Field("", "state", _state, 90, lambda row: _STATES.get(row.state, "") if row is not total else "")]
    else:
        fields = [_TASKS, *([_reused(40)] if total.figures.reused else [])]
    fields += [
        Field("", "attempts", lambda row: f"{row.figures.attempts:,}" if row.figures.attempts else NOTHING, 49),
        _run_time(55),
    ]
    for resource, totals in total.figures.totals.items():
        if totals.asked_count:
            fields += _resource_fields(resource, with_most=by == "category", with_busy=True)
    return fields + _gpu_fields(total.figures)


_TASKS = Field("", "tasks", lambda row: _tasks_done(row.figures), 90, lambda row: _state_style(row.figures))


def _reused(dear: int) -> Field:
    return Field("", "reused", lambda row: f"{row.figures.reused:,}" if row.figures.reused else NOTHING, dear)


def _run_time(dear: int) -> Field:
    return Field(
        "", "run time", lambda row: format_duration(row.figures.run_s) if row.figures.attempts else NOTHING, dear
    )


def _resource_fields(resource: str, *, with_most: bool, with_busy: bool) -> list[Field]:
    """Asked, used, waste and AWE of one resource. Wasted memory costs most, so that column is dropped last."""
    group, dear, most, waste = _COLUMNS[resource]
    fields = [
        Field(group, "asked", lambda row: amount(resource, row.asked(resource)), dear + 8),
        Field(group, "used", lambda row: _used(resource, row), dear + 8),
        Field(group, "waste", lambda row: _waste(resource, row.figures), waste),
        Field(group, "AWE", lambda row: share(row.figures.totals[resource].awe), dear + 7),
    ]
    if with_most:
        fields.insert(2, Field(group, "most", lambda row: amount(resource, row.figures.totals[resource].most), most))
    if with_busy and resource == "cores":
        fields.insert(-1, Field(group, "busy", lambda row: share(row.figures.busy), dear + 8))
    return fields


def _gpu_fields(whole: Figures) -> list[Field]:
    """GPUs times hours held, the share of that in which they were busy, and the most memory; none without GPUs."""
    if not whole.gpus.held_s:
        return []
    return [
        Field("GPU", "hours", lambda row: _gpu_hours(row.figures.gpus.held_s), 57),
        Field("GPU", "busy", lambda row: share(row.figures.gpus.busy), 57),
        Field("GPU", "memory", lambda row: amount("gpu_memory_bytes", row.figures.gpus.most), 57),
    ]


def _gpu_hours(held_s: float) -> str:
    return f"{held_s / 3600:.2g}" if held_s else NOTHING


def unused_gpus(figures: Figures) -> str:
    """A sentence about a category whose attempts never used their GPUs, and what that cost; empty if some did."""
    gpus = figures.gpus
    if not gpus.attempts or gpus.used:
        return ""
    return (
        f"{harmless(figures.name)} never used its GPUs, which {count(gpus.attempts, 'attempt')} held for "
        f"{_gpu_hours(gpus.held_s)} GPU-hours: leave `gpus` out of its resources"
    )


def _tasks_done(row: Figures) -> str:
    """The number of tasks, or `3 of 5` if some have no result."""
    return f"{row.total:,}" if row.done == row.total else f"{row.done:,} of {row.total:,}"


def _waste(resource: str, row: Figures) -> str:
    """The amount given and not used, times seconds."""
    totals = row.totals[resource]
    return held(resource, max(0.0, totals.wasted)) if totals.asked_count else NOTHING


def _state_style(row: Figures) -> str:
    """The colour of a row's task count: red with failures, yellow if unfinished."""
    if row.failed or row.cut_off:
        return "red"
    return "" if row.done == row.total else "yellow"


def _state(row: Row) -> str:
    """A task's state; in the total row, the number of tasks with a result."""
    return row.state if row.category else _tasks_done(row.figures)


def _used(resource: str, row: Row) -> str:
    if row.last:
        return used_words(resource, row.peak(resource)) or NOTHING
    return amount(resource, row.used(resource))


# --- sort keys ---


def _of(resource: str, title: str) -> dict[str, Callable[[Row], Any]]:
    """The sort keys of a resource's columns: largest amounts first, or lowest efficiency first."""
    return {
        f"{title}-asked": lambda row: _falling(row.asked(resource)),
        f"{title}-used": lambda row: _falling(row.used(resource)),
        f"{title}-waste": lambda row: _falling(row.figures.totals[resource].wasted),
        f"{title}-awe": lambda row: _rising(row.figures.totals[resource].awe),
    }


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
    "cores-busy": lambda row: _rising(row.figures.busy),
}
for _resource, (_title, *_) in _COLUMNS.items():
    SORTS |= _of(_resource, _title)
