"""What rules for run times would have asked for on a log, and how often their quantiles held, as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from rich.text import Text

from headway.report.columns import Field, table_lines
from headway.report.replay_table import ASKED, number
from headway.report.words import NOTHING, share

HOUR_S = 3600.0


class Cost(Protocol):
    """What the table shows of a rule."""

    tasks: int
    attempts: int
    timeouts: int
    known_attempts: int
    known_timeouts: int
    impossible: int
    used_s: float
    asked_s: float
    lost_s: float

    @property
    def delay_s(self) -> float: ...

    def coverage(self) -> dict[float, float]: ...


def cheapest_first(rules: Mapping[str, Cost]) -> list[str]:
    """Sort rules by unfinished tasks, then by the delay that their requests cause."""
    return sorted(rules, key=lambda name: (rules[name].impossible, rules[name].delay_s, name))


def times_table(rules: Mapping[str, Cost], asked: Cost | None, width: int) -> list[Text]:
    """One line per rule, the least delay first; the last line is what users requested in the log."""
    names = [*cheapest_first(rules), *([ASKED] if asked else [])]
    rows = [asked if asked and name == ASKED else rules[name] for name in names]
    levels = list(dict.fromkeys(level for row in rows for level in row.coverage()))
    fields = [Field("ended within", f"{level:.0%}", _within(level), 60) for level in levels]
    fields += [
        Field("time-outs", "number", lambda row: f"{row.timeouts:,}", 70),
        Field("time-outs", "of known", lambda row: share(_ratio(row.known_timeouts, row.known_attempts)), 65),
        Field("time, h", "asked", lambda row: number(row.asked_s / HOUR_S), 55),
        Field("time, h", "used", lambda row: number(row.used_s / HOUR_S), 40),
        Field("time, h", "lost", lambda row: number(row.lost_s / HOUR_S), 50),
        Field("time, h", "delay", lambda row: number(row.delay_s / HOUR_S), 80),
    ]
    if any(row.impossible for row in rows):
        fields.append(Field("", "impossible", lambda row: f"{row.impossible:,}", 75, lambda row: "red"))
    return table_lines("rule", names, rows, fields, width, total=asked is not None)


def _within(level: float) -> Callable[[Cost], str]:
    def text(row: Cost) -> str:
        found = row.coverage().get(level)
        return NOTHING if found is None else f"{found:.1%}"

    return text


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
