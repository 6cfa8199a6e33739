"""Everything that remains as one job."""

from __future__ import annotations

import numpy as np

from headway.grouping.base import Group, Grouper, Levels, Waits, soonest


class OneJob(Grouper):
    """One job for everything, of the width that is expected to be through first (002 §5.2)."""

    name = "one-job"

    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group:
        return soonest(levels, waits, 0, levels.last, delay_s)


class BigJob(Grouper):
    """One job for everything, as wide as the widest level (000 §4.1)."""

    name = "big-job"

    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group:
        return full_width(levels, waits, 0, levels.last)


def full_width(levels: Levels, waits: Waits, first: int, last: int) -> Group:
    """These levels on as many nodes as they can use."""
    nodes, run_s = levels.width(first, last), float(levels.run_s(first, last)[-1])
    return Group(first, last, nodes, run_s, wait_s=float(waits([nodes], np.array([run_s]))[0]))
