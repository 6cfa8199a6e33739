"""Advice as a table for the terminal."""

from __future__ import annotations

from rich.text import Text

from headway.model.advice import Advice, CategoryAdvice
from headway.report.columns import Field, table_lines
from headway.report.replay_table import number
from headway.report.words import NOTHING, amount, share


def advice_fields(advice: Advice) -> list[Field]:
    """The columns: what was asked and used, what to ask now, and what that would have done."""
    fields = [
        Field("", "records", lambda row: f"{row.records:,}", 60),
        Field("memory", "asked", lambda row: amount("memory_bytes", row.asked_memory_bytes), 70),
        Field("memory", "used", lambda row: _last("memory_bytes", row.used_memory_bytes), 65),
        Field("memory", "first", lambda row: _nth("memory_bytes", row.memory_bytes, 0), 90),
    ]
    for retry in range(1, advice.attempts):
        title = "retry" if retry == 1 else f"retry {retry}"
        fields.append(Field("memory", title, lambda row, n=retry: _nth("memory_bytes", row.memory_bytes, n), 50 - retry))
    fields += [
        Field("time", "used", lambda row: _last("time_s", row.used_time_s), 20),
        Field("time", "first", lambda row: _nth("time_s", row.time_s, 0), 55),
    ]
    if any(each.cpus is not None for each in advice.categories):
        fields.append(Field("cpus", "asked", lambda row: amount("cpus", row.asked_cpus), 30))
        fields.append(Field("cpus", "now", lambda row: amount("cpus", row.cpus), 52))
    fields += [
        Field("", "failed", lambda row: f"{row.failed:,}/{row.attempts:,}", 80, lambda row: "red" if row.failed else ""),
        Field("", "saved GB·h", lambda row: NOTHING if row.saved_gb_h is None else _signed(row.saved_gb_h), 85),
        Field("", "", lambda row: _saved_share(row), 58),
    ]
    return fields


def advice_table(advice: Advice, width: int) -> list[Text]:
    """One line per category, the greatest saving first, and their sum; at most `width` cells wide."""
    rows = [*advice.categories, advice.total()]
    names = [*(each.category for each in advice.categories), "all"]
    return table_lines("category", names, rows, advice_fields(advice), width, total=True)


def _signed(value: float) -> str:
    return number(value) if value >= 0 else f"-{number(-value)}"


def _saved_share(row: CategoryAdvice) -> str:
    return NOTHING if row.saved_gb_h is None else share(row.saved_gb_h / row.asked_gb_h)


def _nth(resource: str, amounts: tuple[float, ...], place: int) -> str:
    return amount(resource, amounts[place]) if place < len(amounts) else NOTHING


def _last(resource: str, amounts: tuple[float, ...]) -> str:
    return amount(resource, amounts[-1]) if amounts else NOTHING
