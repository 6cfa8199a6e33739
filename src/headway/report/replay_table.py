"""The cost of sizers on a recorded log, as tables with the best first and as a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
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

    def waste(self) -> float:
        """The wasted memory, in the unit of its cost."""
        return self.resources[MEMORY].waste if MEMORY in self.resources else 0.0


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


def summary_table(logs: Sequence[Sequence[SizerCost]], width: int) -> list[Text]:
    """One line per sizer; `to best` is the geometric mean over logs of its waste relative to the least waste."""
    least = [best_first(sizers)[0].waste() for sizers in logs]
    costs: dict[str, list[SizerCost]] = {}  # of each sizer, on each log
    for sizer in chain.from_iterable(logs):
        costs.setdefault(sizer.name, []).append(sizer)
    to_best = {name: _to_best(own, least) for name, own in costs.items()}
    impossible = {name: sum(cost.impossible for cost in own) for name, own in costs.items()}
    names = sorted(costs, key=lambda name: (impossible[name], to_best[name] or 0.0, name))
    fields = [Field("", "impossible", lambda name: f"{impossible[name]:,}", 80)] if any(impossible.values()) else []
    fields += [
        Field(MEMORY, "to best", lambda name: NOTHING if to_best[name] is None else f"{to_best[name]:.2f}", 70),
        Field(MEMORY, "waste GB·h", lambda name: number(fsum(cost.waste() for cost in costs[name])), 69),
    ]
    for resource in dict.fromkeys(name for sizer in chain.from_iterable(logs) for name in sizer.resources):
        fields += _total_fields(resource, costs)
    fields.sort(key=lambda field: ("", MEMORY, "mean AWE", "failed").index(field.group))
    return table_lines("sizer", names, names, fields, width, total=False)


def runs_table(runs: Sequence[str], logs: Sequence[Sequence[SizerCost]], width: int) -> list[Text]:
    """One line per sizer, the best in the last run first; by run, its failed attempts and its waste of memory."""
    names = [cost.name for cost in best_first(logs[-1])]
    by_name = {name: [next(cost for cost in costs if cost.name == name) for costs in logs] for name in names}
    rows = [by_name[name] for name in names]
    fields = []
    for place, run in enumerate(runs):
        dear = 100 - (0 if place in (0, len(runs) - 1) else 1 + place)  # the first and the last run are kept longest
        fields += [
            Field(run, "failed", _of_run(place, lambda cost: f"{cost.attempts - cost.tasks:,}"), dear),
            Field(run, "waste GB·h", _of_run(place, lambda cost: number(cost.waste())), dear),
        ]
    return table_lines("sizer", names, rows, fields, width, total=False)


def _of_run(place: int, say: Callable[[SizerCost], str]) -> Callable[[Sequence[SizerCost]], str]:
    return lambda row: say(row[place])


def _total_fields(resource: str, costs: Mapping[str, Sequence[SizerCost]]) -> list[Field]:
    """The mean AWE over logs, with equal weights, and the attempts that exceeded the resource."""
    found = {
        name: [cost.resources[resource] for cost in own if resource in cost.resources] for name, own in costs.items()
    }
    known = {name: [cost.awe for cost in own if cost.awe is not None] for name, own in found.items()}
    dear = _DEAR.get(resource, 20)
    return [
        Field("mean AWE", resource, lambda name: share(fmean(known[name]) if known[name] else None), dear),
        Field("failed", resource, lambda name: f"{sum(cost.failed for cost in found[name]):,}", dear - 5),
    ]


def _to_best(costs: Sequence[SizerCost], least: Sequence[float]) -> float | None:
    ratios = [cost.waste() / low for cost, low in zip(costs, least, strict=True) if cost.waste() > 0 and low > 0]
    return exp(fmean(map(log, ratios))) if ratios else None
