"""Table I: the time to learn one outcome and answer one question, on this machine."""

from __future__ import annotations

import time
from statistics import median

from msgspec import Struct

from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.task import Task
from headway.sizing.base import Context, Sizer
from headway_papers.bucketing.allocators import ENTRANTS, OURS
from headway_papers.bucketing.published import TABLE_I_US
from headway_papers.synthetic_logs import MACHINE, synthetic_log

RECORDS = (10, 200, 1_000, 2_000, 5_000)
TIMED = (*TABLE_I_US, OURS)
_ROUNDS = 50


class Timing(Struct, frozen=True):
    """The median time of an outcome and a question with that many records, and the paper's average."""

    allocator: str
    records: int
    us: float
    paper_us: float | None


def table_i(rounds: int = _ROUNDS) -> list[Timing]:
    """Time the two algorithms of the paper's table, and ours, on the memory of the Normal workflow.

    The largest number of records comes first, so that everything is compiled before the smaller ones.
    """
    peaks = [task.used["memory_bytes"] for task in synthetic_log("Normal", 0, RECORDS[-1] + rounds).tasks]
    found = []
    for name in TIMED:
        for records in reversed(RECORDS):
            us = _median_us(ENTRANTS[name].make("memory_bytes"), peaks, records, rounds)
            found.append(Timing(name, records, us, TABLE_I_US.get(name, {}).get(records)))
    return sorted(found, key=lambda timing: (TIMED.index(timing.allocator), timing.records))


def _median_us(sizer: Sizer, peaks: list[float], records: int, rounds: int) -> float:
    for number in range(records):
        sizer.observe(*_happened(number, peaks[number]))
    spans_s = []
    for number in range(records, records + min(rounds, records)):  # so that there are still about that many records
        task, outcome = _happened(number, peaks[number])
        context = Context(MACHINE, (0, sizer.name, task.id, 1))
        began = time.perf_counter()
        sizer.observe(task, outcome)
        sizer.predict(task, (), context)
        spans_s.append(time.perf_counter() - began)
    return median(spans_s) * 1e6


def _happened(number: int, peak: float) -> tuple[Task, Outcome]:
    usage = Usage(wall_s=Measured(150.0, Quality.EXACT), memory_bytes=Measured(peak, Quality.EXACT))
    task = Task(str(number + 1), "default", "-", outputs=("-",))
    return task, Outcome(task.id, 1, Ending.SUCCESS, 0.0, 150.0, usage)
