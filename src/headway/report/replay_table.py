"""The cost of sizers on a recorded log, as tables with the best first and as a sentence."""

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
    """The cost of one resource; `awe` is the efficiency of Phung and Thain 2024, `maq` that of Witt et al. 2019."""

    awe: float | None
    maq: float | None
    waste: float
    failed: int  # attempts that exceeded this resource
    unit: str  # of the waste


class SizerCost(Struct, frozen=True):
    """The cost of one sizer on a log, by resource: memory, disk, cores."""

    name: str
    tasks: int
    attempts: int
    impossible: int
    resources: dict[str, ResourceCost]

    def waste(self, resource: str = MEMORY) -> float:
        """The waste of a resource in its unit."""
        return self.resources[resource].waste if resource in self.resources else 0.0


def best_first(sizers: Sequence[SizerCost]) -> list[SizerCost]:
    """Sort sizers by unfinished tasks, then by wasted memory."""
    return sorted(sizers, key=lambda sizer: (sizer.impossible, sizer.waste(), sizer.name))


def replay_table(sizers: Sequence[SizerCost], asked: SizerCost | None, width: int) -> list[Text]:
    """One line per sizer, best first; the last line is what users requested in the log."""
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
    """One sentence: the sizer that wastes least memory, and its saving over the requests if all tasks had one."""
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
    """Three significant digits, or all digits of a large number: `1,780`, `12.3`, `0.045`."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


# --- several logs ---


class _Total(Struct, frozen=True):
    """One sizer's costs on all logs."""

    name: str
    costs: list[SizerCost]
    times_best: float | None

    def mean_awe(self, resource: str) -> float | None:
        """The mean AWE over logs, with equal weights."""
        found = [cost.resources[resource].awe for cost in self.costs if resource in cost.resources]
        known = [awe for awe in found if awe is not None]
        return fmean(known) if known else None

    def failed(self, resource: str) -> int:
        """Attempts that exceeded the resource."""
        return sum(cost.resources[resource].failed for cost in self.costs if resource in cost.resources)


def summary_table(logs: Sequence[Sequence[SizerCost]], width: int) -> list[Text]:
    """One line per sizer; `to best` is the geometric mean over logs of its waste relative to the least waste."""
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
        fields += _total_fields(name)
    fields.sort(key=lambda field: ("", MEMORY, "mean AWE", "failed").index(field.group))
    return table_lines("sizer", [total.name for total in totals], totals, fields, width, total=False)


def _total_fields(name: str) -> list[Field]:
    dear = _DEAR.get(name, 20)
    return [
        Field("mean AWE", name, lambda row: share(row.mean_awe(name)), dear),
        Field("failed", name, lambda row: f"{row.failed(name):,}", dear - 5),
    ]


def _total(name: str, logs: Sequence[Sequence[SizerCost]], least: Sequence[float]) -> _Total:
    costs = [sizer for sizers in logs for sizer in sizers if sizer.name == name]
    ratios = [cost.waste() / low for cost, low in zip(costs, least, strict=True) if cost.waste() > 0 and low > 0]
    return _Total(name, costs, exp(fmean(map(log, ratios))) if ratios else None)
