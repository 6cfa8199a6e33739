"""Replay every task log in HEADWAY_DATA with `ladder` and nine rivals; write waste and failures into docs/failures.md.

`python -m benchmarks.failures`. The table of first tasks comes from `python -m benchmarks.first_tasks`.
"""

from __future__ import annotations

import datetime
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.drivers.assemble import sizers
from headway.formats.read_task_log import read_task_log
from headway.model.errors import InputError
from headway.model.outcome import Outcome
from headway.model.task import Task
from headway.model.task_log import TaskLog
from headway.simulation.replay import World, replay
from headway.sizing.base import Allocation, CannotFit, Context
from headway.sizing.failure_price import KNOWN
from headway.sizing.per_resource import PerResource
from headway.sizing.ways import MakeSizer

PAGE = Path(__file__).parents[1] / "docs" / "failures.md"
TABLES = re.compile(r"(<!-- table: python -m benchmarks.failures -->\n).*?(<!-- end -->)", re.DOTALL)
FOLDERS = (
    "sizey-nextflow-traces",
    "ksegments-traces",
    "cws-nextflow-runs",
    "ccl-task-resources",
    "ipdps2024-bucketing",
)
ONE_OF_EACH = re.compile(r"_(greedy|exhaust|max-seen|max-xput|min-waste)\.|_txn\.")  # the same tasks as in other logs
RIVALS = (
    "percentile-95", "linear-regression", "greedy-bucketing", "exhaustive-bucketing", "per-process-max", "peak-plus-20",
    "ponder", "max-seen", "min-waste",
)  # fmt: skip
DIAL = {
    "ladder, 0": 0.0, "ladder, 1%": 0.01, "ladder": 0.03, "ladder, 10%": 0.1, "ladder, 30%": 0.3, "ladder, any": 1.0,
}  # fmt: skip
PIPELINES = ("ampliseq", "nanoseq", "sarek", "viralrecon")  # of which there are three runs each
BOUND = 0.03  # of the default
MEMORY = "memory_bytes"
Numbers = NDArray[np.float64]


class Found(NamedTuple):
    """What a sizer costs on a log."""

    waste: float  # GB·h
    failed: int
    known_share: float  # of the attempts after the first tasks of each category that failed
    share: float  # of all attempts


class Counting(PerResource):
    """Counts failures, and those after the first tasks of each category."""

    def __init__(self, make: MakeSizer) -> None:
        super().__init__(make, 0, [MEMORY])
        self._number: dict[str, int] = {}  # of a task in its category
        self._begun: dict[str, int] = {}
        self.known = self.failed_known = 0

    def allocate(self, task: Task, failures: Mapping[str, Sequence[float]], context: Context) -> Allocation | CannotFit:
        if task.id not in self._number:
            self._begun[task.category] = self._number[task.id] = self._begun.get(task.category, 0) + 1
        return super().allocate(task, failures, context)

    def observe(self, task: Task, ticket: Mapping[str, Any], outcome: Outcome) -> None:
        if self._number[task.id] > KNOWN:
            self.known += 1
            self.failed_known += outcome.ending.exhausted is not None
        super().observe(task, ticket, outcome)


def main() -> None:
    logs = dict(read_logs(Path(os.environ["HEADWAY_DATA"])))
    found: dict[str, dict[str, Found]] = {}
    for name, log in logs.items():
        print(f"{name}: {len(log.tasks):,} tasks", flush=True)
        found[name] = {sizer: cost(log, sizers()[sizer], 1.0) for sizer in RIVALS}
        found[name] |= {dial: cost(log, sizers()["ladder"], tolerated) for dial, tolerated in DIAL.items()}
    lines = [f"`python -m benchmarks.failures`, seed 0, {datetime.date.today()}:", "", *summary(logs, found)]
    lines += ["", "### The dial", "", *dial(found), "", "### Runs of one pipeline", "", *together(logs)]
    for name in logs:
        lines += ["", f"### {name}", "", *table(found[name])]
    page = PAGE.read_text()
    PAGE.write_text(TABLES.sub(lambda match: match[1] + "\n".join(lines) + "\n" + match[2], page))


def read_logs(data: Path) -> Iterator[tuple[str, TaskLog]]:
    """Read the logs with figures of memory, each set of tasks once."""
    for folder in FOLDERS:
        for path in sorted((data / folder).glob("*.gz")):
            if ONE_OF_EACH.search(path.name) or "series" in path.name:
                continue
            try:
                log = read_task_log(path)
            except InputError as problem:
                print(f"left out: {problem}")
                continue
            if MEMORY in log.resources:
                log.resources = log.kills = (MEMORY,)
                yield f"{folder.partition('-')[0]}: {path.name.partition('.')[0]}", log


def cost(log: TaskLog, make: MakeSizer, tolerated: float) -> Found:
    allocator = Counting(make)
    allocator.tolerate(tolerated)
    result = replay(log, allocator, World(log.machine))
    spent = result.costs[MEMORY]
    known = allocator.failed_known / allocator.known if allocator.known else 0.0
    return Found(spent.waste / 3600e9, spent.failures, known, spent.failures / result.attempts)


def summary(logs: Mapping[str, TaskLog], found: Mapping[str, Mapping[str, Found]]) -> Iterator[str]:
    yield (
        "| log | tasks | ladder, GB·h | failed | of known | of all | best rival | its GB·h | failed | of known | ratio "
        f"| best rival up to {BOUND:.0%} | ratio | in hindsight |"
    )
    yield "|---|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|---|--:|--:|"
    ratios: list[float] = []
    equal: list[float] = []
    for name, costs in found.items():
        best = min(RIVALS, key=lambda rival: costs[rival].waste)
        within = [rival for rival in RIVALS if costs[rival].known_share <= BOUND]
        like = min(within, key=lambda rival: costs[rival].waste)  # peak-plus-20 hardly ever fails
        ours, theirs = costs["ladder"], costs[best]
        ratios.append(ours.waste / theirs.waste)
        equal.append(ours.waste / costs[like].waste)
        yield (
            f"| {name} | {len(logs[name].tasks):,} | {amount(ours.waste)} | {ours.failed:,} | {ours.known_share:.1%} "
            f"| {ours.share:.1%} | {best} | {amount(theirs.waste)} | {theirs.failed:,} | {theirs.known_share:.1%} "
            f"| {ratios[-1]:.2f} | {like} | {equal[-1]:.2f} | {in_hindsight(logs[name]) / theirs.waste:.2f} |"
        )
    yield (
        f"\nGeometric mean over {len(found)} logs: {mean(ratios):.2f} of the best rival, {mean(equal):.2f} of the best "
        f"rival with at most {BOUND:.0%} failures of known categories."
    )


def dial(found: Mapping[str, Mapping[str, Found]]) -> Iterator[str]:
    """What each setting of `--failures` wastes, as a share of the best rival."""
    yield "| `--failures` | waste to the best rival | highest share of known that failed | logs with > 5% more waste |"
    yield "|---|--:|--:|--:|"
    before: Mapping[str, float] = {}
    for label, tolerated in DIAL.items():
        waste = {name: costs[label].waste for name, costs in found.items()}
        ratios = [waste[name] / min(costs[rival].waste for rival in RIVALS) for name, costs in found.items()]
        highest = max(costs[label].known_share for name, costs in found.items() if not name.startswith("cws"))
        worse = sum(waste[name] > 1.05 * before.get(name, math.inf) for name in found)
        shown = "any" if tolerated == 1 else f"{tolerated:.0%}"
        yield f"| {shown} | {mean(ratios):.2f} | {highest:.1%} | {worse} |"
        before = waste


def together(logs: Mapping[str, TaskLog]) -> Iterator[str]:
    """What later runs of a pipeline waste, with what earlier ones taught."""
    yield "| pipeline | run 1, GB·h | failed | run 2, GB·h | failed | to run 1 | run 3, GB·h | failed | to run 1 |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for tolerated in (0.03, 0.01):
        for pipeline in PIPELINES:
            allocator = PerResource(sizers()["ladder"], 0, [MEMORY])
            allocator.tolerate(tolerated)
            cells, first = [f"{pipeline}, {tolerated:.0%}"], 0.0
            for run in (1, 2, 3):
                log = logs[f"cws: {pipeline}_{run}"]
                result = replay(log, allocator, World(log.machine))
                spent = result.costs[MEMORY]
                cells += [amount(spent.waste / 3600e9), f"{spent.failures} ({spent.failures / result.attempts:.1%})"]
                cells += [f"{spent.waste / first:.0%}"] if run > 1 else []
                first = first or spent.waste
            yield f"| {' | '.join(cells)} |"


def in_hindsight(log: TaskLog) -> float:
    """Return the GB·h that the best ladder of each category wastes if all peaks are known and 3% of attempts may fail.

    A ladder is the same for all tasks of its category; those of `ladder` change, and differ by input size.
    """
    peaks: dict[str, list[tuple[float, float]]] = {}
    for task in log.tasks:
        peaks.setdefault(task.category, []).append((math.log(max(1.0, task.used[MEMORY])), max(1e-9, task.run_s)))
    low, high, least = -40.0, 60.0, math.inf
    for _ in range(30):
        middle = (low + high) / 2
        waste = failed = 0.0
        for records in peaks.values():
            logs, seconds = np.array(records).T
            spent, failures = _best_fixed(np.exp(logs), seconds, math.exp(middle))
            waste, failed = waste + spent, failed + failures
        if failed / (failed + len(log.tasks)) > BOUND:
            low = middle
        else:
            high, least = middle, waste
    return least / 3600e9


def _best_fixed(peaks: Numbers, seconds: Numbers, fine: float) -> tuple[float, float]:
    """Return waste and failures of the ladder over bins of peaks that costs least with a fine for each failure."""
    bins = np.unique(np.floor(np.log(peaks) / 0.01), return_inverse=True)[1]
    tops = np.zeros(bins.max() + 1)
    np.maximum.at(tops, bins, peaks)
    mass = np.append(np.bincount(bins, seconds)[::-1].cumsum()[::-1], 0.0)
    count = np.append(np.bincount(bins)[::-1].cumsum()[::-1], 0)
    size = len(tops)
    cost, held, failed = np.zeros(size + 1), np.zeros(size + 1), np.zeros(size + 1)
    for place in range(size - 1, -1, -1):
        each = tops[place:] * mass[place] + fine * count[place + 1 :] + cost[place + 1 :]
        best = place + int(each.argmin())
        cost[place] = each.min()
        held[place] = tops[best] * mass[place] + held[best + 1]
        failed[place] = count[best + 1] + failed[best + 1]
    return float(held[0] - peaks @ seconds), float(failed[0])


def mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(costs: Mapping[str, Found]) -> Iterator[str]:
    yield "| | GB·h | failed | of known | of all |"
    yield "|---|--:|--:|--:|--:|"
    for name, each in sorted(costs.items(), key=lambda item: item[1].waste):
        shown = f"**{name}**" if name == "ladder" else name
        yield f"| {shown} | {amount(each.waste)} | {each.failed:,} | {each.known_share:.1%} | {each.share:.1%} |"


def amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
