"""What estimators gain by learning from attempts that ran out, where many tasks run at a time.

`python -m benchmarks.failed_attempts` replays task logs in HEADWAY_DATA in virtual time: a failure is known when it
happens, the peak of its task only when a later attempt has succeeded. Prints waste and failures with that knowledge,
as shares of those without it.
"""

from __future__ import annotations

import heapq
import math
import os
from pathlib import Path
from typing import NamedTuple

from headway.drivers.assemble import sizers
from headway.formats.read_task_log import read_task_log
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.task import Task
from headway.model.task_log import LoggedTask, TaskLog
from headway.simulation.replay import START
from headway.sizing.base import CannotFit, Context, Sizer
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.censored import Censored
from headway.sizing.per_resource import PerResource
from headway.sizing.ways import MakeSizer

MEMORY = "memory_bytes"
FOLDERS = ("sizey-nextflow-traces", "cws-nextflow-runs")
AT_A_TIME = 100
FAILS_AFTER = 0.5  # of its run time
MOST_TASKS = 3000  # of a log


class Running(NamedTuple):
    """An attempt, in the order of its end."""

    ends_at: float
    number: int
    logged: LoggedTask
    failures: tuple[float, ...]
    given: float


def main() -> None:
    data = Path(os.environ["HEADWAY_DATA"])
    logs = [read_task_log(path) for folder in FOLDERS for path in sorted((data / folder).glob("*.gz"))]
    print(f"{len(logs)} logs, {AT_A_TIME} tasks at a time; with failed attempts, as shares of without:")
    for name, make in sizers().items():
        sizer = make(MEMORY)
        if isinstance(sizer, EstimatedSizer) and isinstance(sizer.estimator, Censored):
            pairs = [(in_time(log, make), in_time(log, _blind(make))) for log in logs]
            ratios = [math.log(with_them[0] / without[0]) for with_them, without in pairs]
            failed, failed_before = (sum(pair[which][1] for pair in pairs) for which in (0, 1))
            waste = math.exp(sum(ratios) / len(ratios))
            print(f"{name:30} waste {waste:.2f}, failures {failed / failed_before:.2f} ({failed_before:,})", flush=True)


def _blind(make: MakeSizer) -> MakeSizer:
    """Return a maker of the same sizers, which do not learn from failed attempts."""

    def made(resource: str) -> Sizer:
        sizer = make(resource)
        assert isinstance(sizer, EstimatedSizer) and isinstance(sizer.estimator, Censored)
        return EstimatedSizer(sizer.estimator.known, resource, sizer.name)

    return made


def in_time(log: TaskLog, make: MakeSizer) -> tuple[float, int]:
    """Return the waste in GB·h and the number of failed attempts."""
    allocator = PerResource(make, 0, [MEMORY])
    waiting: list[tuple[LoggedTask, tuple[float, ...]]] = [
        (task, ()) for task in reversed(log.tasks[:MOST_TASKS]) if MEMORY in task.used
    ]
    running: list[Running] = []
    now, number, waste, failed = 0.0, 0, 0.0, 0
    while waiting or running:
        while waiting and len(running) < AT_A_TIME:
            logged, failures = waiting.pop()
            number += 1
            context = Context(log.machine, (0, "", logged.id, len(failures) + 1), START, frozenset({MEMORY}))
            answer = allocator.allocate(_task(logged), {MEMORY: failures}, context)
            if not isinstance(answer, CannotFit):
                given = float(answer.resources.memory_bytes)
                lasts = logged.run_s * (FAILS_AFTER if logged.used[MEMORY] > given else 1.0)
                heapq.heappush(running, Running(now + lasts, number, logged, failures, given))
        if not running:
            break
        now, _, logged, failures, given = heapq.heappop(running)
        short = logged.used[MEMORY] > given
        lasted, quality = (logged.run_s * FAILS_AFTER, Quality.LOWER_BOUND) if short else (logged.run_s, Quality.EXACT)
        used = given if short else logged.used[MEMORY]
        usage = Usage(wall_s=Measured(lasted, quality), memory_bytes=Measured(used, quality))
        ending = Ending.MEMORY if short else Ending.SUCCESS
        allocator.observe(_task(logged), {}, Outcome(logged.id, len(failures) + 1, ending, now - lasted, now, usage))
        waste += lasted * (given if short else given - used)
        if short:
            failed += 1
            waiting.append((logged, (*failures, given)))
    return waste / 3600e9, failed


def _task(logged: LoggedTask) -> Task:
    hints = {MEMORY: logged.asked[MEMORY]} if MEMORY in logged.asked else {}
    return Task(logged.id, logged.category, "-", outputs=("-",), hints=hints, input_bytes=logged.input_bytes)


if __name__ == "__main__":
    main()
