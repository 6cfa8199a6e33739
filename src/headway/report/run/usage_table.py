"""Asked against used, as a table with as many columns as the screen has room for, and a sentence a resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.text import Text

from headway.model.units import format_duration
from headway.report.columns import Field, table_lines
from headway.report.run.figures import MEASURED
from headway.report.run.story_text import used_words
from headway.report.run.table import TITLES, state_style, tasks_done, waste
from headway.report.run.task_usage import By, Row
from headway.report.words import NOTHING, amount, held, share

_STATES = {"failed": "red", "cut off": "red", "running": "cyan", "reused": "blue", "succeeded": "green"}
_STATE_RANKS = ("failed", "cut off", "to be retried", "running", "waiting", "succeeded", "reused")


def usage_table(rows: list[Row], total: Row, by: By, width: int) -> list[Text]:
    """A line a row, and the total where there are several."""
    shown = [*rows, total] if len(rows) > 1 or total.figures.total > 1 else rows
    names = [row.name for row in shown]
    return table_lines(by, names, shown, _fields(total, by), width, total=len(shown) > len(rows))


def sentences(total: Row) -> list[str]:
    """What it comes to, resource by resource."""
    found = []
    for resource in MEASURED:
        ledger = total.figures.ledgers[resource]
        if not ledger.used_count:
            continue
        asked, used = amount(resource, ledger.asked_mean), amount(resource, ledger.used_mean)
        words = f"{TITLES[resource]}: asked {asked} on average, used {used} (AWE {share(ledger.awe)})"
        if resource == "cores" and total.busy is not None:
            words += f"; busy {share(total.busy)} of the time"
        elif ledger.wasted > 0:
            words += f"; {held(resource, ledger.wasted)} given and not used"
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
        if figures.ledgers[resource].asked_count:
            fields += _resource_fields(resource, dear, with_most=by == "category")
    return fields


def _resource_fields(resource: str, dear: int, *, with_most: bool) -> list[Field]:
    group = TITLES[resource]
    fields = [
        Field(group, "asked", lambda row: amount(resource, row.asked(resource)), dear + 8),
        Field(group, "used", lambda row: _used(resource, row), dear + 8),
        Field(group, "waste", lambda row: waste(resource, row.figures), dear + 6 if resource == "memory_bytes" else 5),
        Field(group, "AWE", lambda row: share(row.figures.ledgers[resource].awe), dear + 7),
    ]
    if with_most:
        fields.insert(
            2, Field(group, "most", lambda row: _most(resource, row), 12 if resource == "memory_bytes" else 1)
        )
    if resource == "cores":
        fields.insert(-1, Field(group, "busy", lambda row: share(row.busy), dear + 8))
    return fields


def _state(row: Row) -> str:
    """A task's state; in the total, how many have a result."""
    return row.state if row.category else tasks_done(row.figures)


def _used(resource: str, row: Row) -> str:
    if row.last:
        return used_words(resource, row.peak(resource)) or NOTHING
    return amount(resource, row.used(resource))


def _most(resource: str, row: Row) -> str:
    ledger = row.figures.ledgers[resource]
    return amount(resource, ledger.used_max if ledger.used_count else None)


# --- which row first ---


def _of(resource: str, column: str) -> Callable[[Row], Any]:
    """What a resource's column sorts by: the greatest first, but the lowest efficiency."""
    match column:
        case "asked":
            return lambda row: _falling(row.asked(resource))
        case "used":
            return lambda row: _falling(row.used(resource))
        case "waste":
            return lambda row: _falling(row.figures.ledgers[resource].wasted)
        case _:
            return lambda row: _rising(row.figures.ledgers[resource].awe)


def _falling(value: float | None) -> tuple[bool, float]:
    return value is None, -(value or 0)


def _rising(value: float | None) -> tuple[bool, float]:
    return value is None, value or 0


DEFAULT_SORT = "memory-waste"
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
