"""What sizers would have cost on a log, as a table with the best first, and in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, fsum, log
from statistics import fmean

from msgspec import Struct
from rich.text import Text

from headway.report.columns import Field, table_lines
from headway.report.words import NOTHING, count, share

ASKED = "asked"
MEMORY = "memory"
_DEAR = {MEMORY: 60, "cores": 40, "disk": 30}


class ResourceCost(Struct, frozen=True):
    """What one resource cost. `maq` is 004's name for what 001 calls `awe`."""

    awe: float | None
    maq: float | None
    waste: float
    failed: int  # attempts that this resource ended
    unit: str  # of the waste


class SizerCost(Struct, frozen=True):
    """What one sizer cost on a log, by resource: memory, disk, cores."""

    name: str
    tasks: int
    attempts: int
    impossible: int
    resources: dict[str, ResourceCost]

    def waste(self, resource: str = MEMORY) -> float:
        """What it wasted, in the resource's unit."""
        return self.resources[resource].waste if resource in self.resources else 0.0


def best_first(sizers: Sequence[SizerCost]) -> list[SizerCost]:
    """By memory wasted; one that left tasks unfinished saved nothing by that."""
    return sorted(sizers, key=lambda sizer: (sizer.impossible, sizer.waste(), sizer.name))


def replay_table(sizers: Sequence[SizerCost], asked: SizerCost | None, width: int) -> list[Text]:
    """A line a sizer, the best first; below them what the log's tasks had asked for."""
    rows = [*best_first(sizers), *([asked] if asked else [])]
    fields = [Field("attempts", "per task", lambda row: f"{row.attempts / max(1, row.tasks):.2f}", 50)]
    if any(row.impossible for row in rows):
        fields.append(Field("", "impossible", lambda row: f"{row.impossible:,}", 70, lambda row: "red"))
    for name in dict.fromkeys(name for row in rows for name in row.resources):
        fields += _resource_fields(name, rows)
    return table_lines("sizer", [row.name for row in rows], rows, fields, width, total=asked is not None)


def _resource_fields(name: str, rows: Sequence[SizerCost]) -> list[Field]:
    unit = next(row.resources[name].unit for row in rows if name in row.resources)
    dear = _DEAR.get(name, 20)
    return [
        Field(name, "AWE", _of(name, lambda cost: share(cost.awe)), dear + 8),
        Field(name, f"waste {unit}", _of(name, lambda cost: number(cost.waste)), dear + 6),
        Field(name, "failed", _of(name, lambda cost: f"{cost.failed:,}"), dear + 4),
    ]


def _of(name: str, say: Callable[[ResourceCost], str]) -> Callable[[SizerCost], str]:
    return lambda row: say(row.resources[name]) if name in row.resources else NOTHING


def verdict(sizers: Sequence[SizerCost], asked: SizerCost | None) -> str:
    """Which sizer wasted the least memory, and what it saves against what was asked for, if all tasks asked."""
    best = best_first(sizers)[0]
    least = " least:" if len(sizers) > 1 else ""
    words = f"{best.name} wastes{least} {number(best.waste())} GB·h of memory"
    if best.impossible:
        return f"{words}; {count(best.impossible, 'task')} would need a larger machine (--machine)"
    if asked is None or MEMORY not in asked.resources or asked.tasks != best.tasks or not asked.waste():
        return words
    saved = asked.waste() - best.waste()
    less = "less" if saved >= 0 else "more"
    return f"{words}, {number(abs(saved))} GB·h ({share(abs(saved) / asked.waste())}) {less} than what was asked for"


def number(value: float) -> str:
    """Three digits, or all of a great number: `1,780`, `12.3`, `0.045`."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


# --- several logs ---


class _Total(Struct, frozen=True):
    """One sizer over all logs."""

    name: str
    costs: list[SizerCost]
    times_best: float | None

    def mean_awe(self, resource: str) -> float | None:
        """Each log counts the same."""
        found = [cost.resources[resource].awe for cost in self.costs if resource in cost.resources]
        known = [awe for awe in found if awe is not None]
        return fmean(known) if known else None


def summary_table(logs: Sequence[Sequence[SizerCost]], width: int) -> list[Text]:
    """A line a sizer over all logs. `to best`: its waste to the least of any on a log, the geometric mean."""
    least = [best_first(sizers)[0].waste() for sizers in logs]
    names = list(dict.fromkeys(sizer.name for sizers in logs for sizer in sizers))
    totals = [_total(name, logs, least) for name in names]
    totals.sort(key=lambda total: (sum(cost.impossible for cost in total.costs), total.times_best or 0.0, total.name))
    fields = [
        Field(MEMORY, "to best", lambda row: NOTHING if row.times_best is None else f"{row.times_best:.2f}", 70),
        Field(MEMORY, "waste GB·h", lambda row: number(fsum(cost.waste() for cost in row.costs)), 69),
    ]
    if any(cost.impossible for total in totals for cost in total.costs):
        impossible = Field("", "impossible", lambda row: f"{sum(cost.impossible for cost in row.costs):,}", 80)
        fields.insert(0, impossible)
    for name in dict.fromkeys(name for sizers in logs for sizer in sizers for name in sizer.resources):
        fields.append(Field("mean AWE", name, _mean(name), _DEAR.get(name, 20)))
        fields.append(Field("failed", name, _failed(name), _DEAR.get(name, 20) - 5))
    fields.sort(key=lambda field: ("", MEMORY, "mean AWE", "failed").index(field.group))
    return table_lines("sizer", [total.name for total in totals], totals, fields, width, total=False)


def _total(name: str, logs: Sequence[Sequence[SizerCost]], least: Sequence[float]) -> _Total:
    costs = [sizer for sizers in logs for sizer in sizers if sizer.name == name]
    ratios = [cost.waste() / low for cost, low in zip(costs, least, strict=True) if cost.waste() > 0 and low > 0]
    return _Total(name, costs, exp(fmean(map(log, ratios))) if ratios else None)


def _mean(name: str) -> Callable[[_Total], str]:
    return lambda row: share(row.mean_awe(name))


def _failed(name: str) -> Callable[[_Total], str]:
    return lambda row: f"{sum(cost.resources[name].failed for cost in row.costs if name in cost.resources):,}"
