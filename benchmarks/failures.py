"""Replay every task log in HEADWAY_DATA with `ladder` and nine rivals; write waste and failures into docs/failures.md.

`python -m benchmarks.failures`
"""

from __future__ import annotations

import datetime
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
TABLES = re.compile(r"(<!-- table: python -m benchmarks.failures -->\n).*(<!-- end -->)", re.DOTALL)
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
DIAL = {"ladder": 0.03, "ladder, 1%": 0.01, "ladder, 10%": 0.1, "ladder, any": 1.0}
MEMORY = "memory_bytes"


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
    yield "| log | tasks | best rival | its GB·h | failed | ladder, GB·h | to the best | failed | of known | of all |"
    yield "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|"
    logarithms = []
    for name, costs in found.items():
        best = min(RIVALS, key=lambda rival: costs[rival].waste)
        ours, theirs = costs["ladder"], costs[best]
        logarithms.append(math.log(ours.waste / theirs.waste))
        yield (
            f"| {name} | {len(logs[name].tasks):,} | {best} | {amount(theirs.waste)} | {theirs.failed:,} "
            f"| {amount(ours.waste)} | {ours.waste / theirs.waste:.2f} "
            f"| {ours.failed:,} | {ours.known_share:.1%} | {ours.share:.1%} |"
        )
    yield f"\nGeometric mean of `ladder` to the best rival: {math.exp(sum(logarithms) / len(logarithms)):.2f}."


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
