"""Run real logs on a simulated node, with and without a canary; write what it changes into docs/failures.md.

A canary is the first task of a category, for which the other tasks of the category wait. `last`: they go behind the
tasks of all other categories. `wait`: they wait even if nothing else can run. `python -m benchmarks.first_tasks`.
"""

from __future__ import annotations

import datetime
import heapq
import math
import os
import re
from collections import Counter
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks.failures import MEMORY, PAGE, amount, read_logs
from headway.drivers.assemble import sizers
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.task_log import LoggedTask, TaskLog
from headway.sizing.base import Allocation, Context
from headway.sizing.per_resource import PerResource

TABLE = re.compile(r"(<!-- table: python -m benchmarks.first_tasks -->\n).*?(<!-- end -->)", re.DOTALL)
NODE = Resources(cores=32, memory_bytes=128_000_000_000)
READY = 100  # tasks at once, in the order of the log: it does not tell which task waited for which
LOGS = re.compile(r"sizey|cws: \w+_1")

Canary = Literal["none", "last", "wait"]


class Result(NamedTuple):
    waste: float  # GB·h
    makespan_s: float
    failed: int


class Node:
    """A node with a queue of tasks, which start in their order where there is room."""

    def __init__(self, log: TaskLog, canary: Canary) -> None:
        self._allocator = PerResource(sizers()["ladder"], 0, [MEMORY])
        self._allocator.tolerate(0.03)
        self._canary = canary
        self._coming = log.tasks[::-1]
        self._ready: list[LoggedTask] = []
        self._ends: list[tuple[float, int, LoggedTask, float]] = []  # running: end, number, task, memory
        self._failures: dict[str, list[float]] = {}  # by task
        self._running: Counter[str] = Counter()  # by category
        self._known: set[str] = set()  # categories
        self._cores, self._memory = NODE.cores, float(NODE.memory_bytes)
        self._begun = 0

    def run(self) -> Result:
        now = waste = 0.0
        while True:
            while self._coming and len(self._ready) + len(self._ends) < READY:
                self._ready.append(self._coming.pop())
            self._start(now, waiting=self._canary == "none")
            if self._canary == "last" or not self._ends:
                self._start(now, waiting=True)
            if not self._ends:
                return Result(waste / 3600e9, now, sum(map(len, self._failures.values())))
            now, _, task, given = heapq.heappop(self._ends)
            waste += self._end(task, given)

    def _start(self, now: float, waiting: bool) -> None:
        """Start what has room; `waiting`: also tasks whose category waits for its first task."""
        left = []
        full: set[str] = set()
        for task in self._ready:
            failures = self._failures.get(task.id, [])
            waits = task.category not in self._known and self._running[task.category] and not failures
            if (waits and not waiting) or _cores(task) > self._cores or (task.category in full and not failures):
                left.append(task)
                continue
            context = Context(NODE, (0, "", task.id, len(failures) + 1), others=self._running[task.category])
            answer = self._allocator.allocate(_task(task), {MEMORY: failures} if failures else {}, context)
            assert isinstance(answer, Allocation)
            given = answer.resources.memory_bytes
            if given > self._memory:
                full.add(task.category)
                left.append(task)
                continue
            self._cores, self._memory = self._cores - _cores(task), self._memory - given
            self._running[task.category] += 1
            self._begun += 1
            heapq.heappush(self._ends, (now + max(0.01, task.run_s), self._begun, task, given))
        self._ready = left

    def _end(self, task: LoggedTask, given: float) -> float:
        """Free what an attempt held, and learn from it; return what it wasted."""
        self._cores, self._memory = self._cores + _cores(task), self._memory + given
        self._running[task.category] -= 1
        peak = task.used[MEMORY]
        enough = peak <= given
        used = Measured(peak, Quality.EXACT) if enough else Measured(given, Quality.LOWER_BOUND)
        ending = Ending.SUCCESS if enough else Ending.MEMORY
        outcome = Outcome(task.id, 1, ending, 0.0, task.run_s, Usage(memory_bytes=used))
        self._allocator.observe(_task(task), {}, outcome)
        if enough:
            self._known.add(task.category)
            return (given - peak) * task.run_s
        self._failures.setdefault(task.id, []).append(given)
        self._ready.insert(0, task)
        return given * task.run_s


def _cores(task: LoggedTask) -> float:
    return min(NODE.cores, max(1.0, task.asked.get("cores", 1.0)))


def _task(logged: LoggedTask) -> Task:
    hints = {MEMORY: logged.asked[MEMORY]} if MEMORY in logged.asked else {}
    return Task(logged.id, logged.category, "-", outputs=("-",), hints=hints, input_bytes=logged.input_bytes)


def main() -> None:
    kinds: tuple[Canary, ...] = ("none", "last", "wait")
    lines = [
        f"`python -m benchmarks.first_tasks`, {datetime.date.today()}:",
        "",
        f"| log | {' | '.join(f'{kind}, GB·h | hours | failed' for kind in kinds)} |",
        f"|---|{3 * len(kinds) * '--:|'}",
    ]
    ratios: dict[Canary, list[Result]] = {kind: [] for kind in kinds}
    for name, log in read_logs(Path(os.environ["HEADWAY_DATA"])):
        if LOGS.search(name):
            for kind in kinds:
                ratios[kind].append(Node(log, kind).run())
            cells = [
                f"{amount(each[-1].waste)} | {each[-1].makespan_s / 3600:.3g} | {each[-1].failed}"
                for each in ratios.values()
            ]
            lines.append(f"| {name} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    for kind in kinds[1:]:
        pairs = list(zip(ratios[kind], ratios["none"], strict=True))
        waste = math.exp(sum(math.log(with_it.waste / without.waste) for with_it, without in pairs) / len(pairs))
        time = math.exp(
            sum(math.log(with_it.makespan_s / without.makespan_s) for with_it, without in pairs) / len(pairs)
        )
        failed = sum(with_it.failed for with_it, _ in pairs) / sum(without.failed for _, without in pairs)
        lines += [
            "",
            f"`{kind}` to `none`: waste {waste:.2f}, time {time:.2f} (geometric means), failures {failed:.2f}.",
        ]
    page = PAGE.read_text()
    PAGE.write_text(TABLE.sub(lambda match: match[1] + "\n".join(lines) + "\n" + match[2], page))


if __name__ == "__main__":
    main()
