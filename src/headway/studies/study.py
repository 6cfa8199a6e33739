"""A study: simulate the runs that are not in the ledger yet, in blocks, and add each as soon as it has ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from itertools import groupby

from msgspec import Struct

from headway.studies.ledger import Ledger
from headway.studies.processes import Block, carry_out, cores
from headway.studies.runs import Row, Run, instance_of

_BLOCKS_A_PROCESS = 8  # small enough to keep all processes busy, large enough to simulate a queue's warm-up rarely
_OVERHEAD_TASKS = 40  # the fixed cost of a run, in tasks


class Progress(Struct, frozen=True):
    """Progress of a study."""

    done: int  # runs, of those that were not in the ledger
    total: int
    left_s: float | None  # None: too early to say


Tell = Callable[[Progress], None]


def study(runs: Iterable[Run], ledger: Ledger, processes: int | None = None, tell: Tell | None = None) -> list[Row]:
    """The rows of all runs, in their order; runs that the ledger has are not simulated again."""
    wanted = list(dict.fromkeys(runs))
    todo = [run for run in wanted if run.key not in ledger.rows]
    processes = processes or cores()
    began = time.monotonic()
    weight = {run.key: _weight(run) for run in todo}
    total, so_far = sum(weight.values()), 0.0
    with closing(carry_out(blocks_of(todo, processes), processes)) as rows:
        for done, row in enumerate(rows, start=1):
            ledger.add(row)
            so_far += weight[row.key]
            if tell:
                spent_s = time.monotonic() - began
                left_s = spent_s / so_far * (total - so_far) if done > processes else None
                tell(Progress(done, len(todo), left_s))
    return [ledger.rows[run.key] for run in wanted]


def blocks_of(runs: Sequence[Run], processes: int) -> list[Block]:
    """Divide runs into blocks of one queue, in the order of starts, small enough to share the work evenly."""
    if not runs:
        return []
    most = max(1, sum(map(_weight, runs)) / (processes * _BLOCKS_A_PROCESS))
    blocks: list[list[Run]] = []
    by_queue = sorted(runs, key=lambda run: (str(run.queue), run.start_s))
    for _, together in groupby(by_queue, key=lambda run: run.queue):
        size = float("inf")
        for run in together:
            if size >= most:
                blocks.append([])
                size = 0
            blocks[-1].append(run)
            size += _weight(run)
    return list(blocks)


def _weight(run: Run) -> float:
    return len(instance_of(run.workflow).workflow) + _OVERHEAD_TASKS
