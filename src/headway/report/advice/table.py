"""Advice as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.text import Text

from headway.model.advice import Advice, CategoryAdvice
from headway.model.units import format_duration
from headway.report.advice.words import memory, preface, short_names
from headway.report.columns import Field, table_lines
from headway.report.replay_table import number
from headway.report.words import NOTHING, amount, share

_WIDTH = 150
_LETTERS = 32


def config(advice: Advice, logs: Sequence[str]) -> str:
    """The table as text, below the sentences about it."""
    lines = [line.plain.rstrip() for line in advice_table(advice, _WIDTH)] if advice.categories else []
    return "\n".join([*preface(advice, logs), "", *lines]) + "\n"


def advice_fields(advice: Advice) -> list[Field]:
    """The columns: what was asked and used, what to ask now, and what that would have done."""
    megabyte = advice.megabyte
    fields = [
        Field("", "records", lambda row: f"{row.records:,}", 60),
        Field("memory", "asked", lambda row: memory(row.asked_memory_bytes, megabyte), 70),
        Field(
            "memory",
            "used",
            lambda row: memory(row.used_memory_bytes[-1], megabyte) if row.used_memory_bytes else NOTHING,
            65,
        ),
        Field("memory", "first", partial(_memory_of_attempt, place=0, megabyte=megabyte), 90),
    ]
    for retry in range(1, advice.attempts):
        title = "retry" if retry == 1 else f"retry {retry}"
        fields.append(Field("memory", title, partial(_memory_of_attempt, place=retry, megabyte=megabyte), 50 - retry))
    fields += [
        Field("time", "used", lambda row: _time(row.used_time_s, -1), 20),
        Field("time", "first", lambda row: _time(row.time_s, 0), 55),
    ]
    if any(each.cpus is not None for each in advice.categories):
        fields += [
            Field("cpus", "asked", lambda row: amount("cpus", row.asked_cpus), 40),
            Field("cpus", "busy", lambda row: amount("cpus", row.used_cpus), 30),
            Field("cpus", "now", lambda row: amount("cpus", row.cpus), 52),
        ]
    fields += [
        Field(
            "",
            "failed",
            lambda row: f"{row.trial.failed:,}/{row.trial.attempts:,}",
            80,
            lambda row: "red" if row.trial.failed else "",
        ),
        Field("saved", "GB·h", _saved, 85),
        Field("saved", "share", _saved_share, 58),
    ]
    return fields


def advice_table(advice: Advice, width: int) -> list[Text]:
    """One line per category, the greatest saving first, and their sum; at most `width` cells wide."""
    rows = [*advice.categories, advice.total()]
    names = [*short_names([each.category for each in advice.categories], _LETTERS), advice.total().category]
    return table_lines("category", names, rows, advice_fields(advice), width, total=True)


def _saved(row: CategoryAdvice) -> str:
    saved = row.trial.saved_gb_h
    return NOTHING if saved is None else f"{'-' if saved < 0 else ''}{number(abs(saved))}"


def _saved_share(row: CategoryAdvice) -> str:
    saved = row.trial.saved_gb_h
    return NOTHING if saved is None else f"{'-' if saved < 0 else ''}{share(abs(saved) / row.trial.asked_gb_h)}"


def _memory_of_attempt(row: CategoryAdvice, place: int, megabyte: float) -> str:
    if place == 0 and row.asked_memory_bytes is not None and not row.memory_bytes:
        return "as asked"
    return memory(row.memory_bytes[place], megabyte) if place < len(row.memory_bytes) else NOTHING


def _time(amounts: tuple[float, ...], place: int) -> str:
    return format_duration(amounts[place]) if amounts else NOTHING
