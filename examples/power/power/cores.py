"""How many cores a task uses: as many as it was given."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence

from power.period import Array

Block = Callable[..., Array]


def given() -> int:
    """Headway says so in HEADWAY_CORES, which may be a part of a core; POWER_CORES overrules it; without both, one."""
    return max(1, int(float(os.environ.get("POWER_CORES") or os.environ.get("HEADWAY_CORES") or "1")))


work: list[Block] = []  # in a worker process: what it was forked for


def do_work(block: object) -> Array:
    return work[0](block)


def map_blocks(function: Block, blocks: Sequence[object], cores: int) -> list[Array]:
    """``function`` of every block, in order, by forked processes: they see the data without a copy.

    The blocks do not depend on the number of cores, so the result is the same to the last bit.
    """
    if cores == 1:
        return [function(block) for block in blocks]
    with multiprocessing.get_context("fork").Pool(cores, work.append, (function,)) as workers:
        return workers.map(do_work, blocks, chunksize=1)
