"""How long nodes without work are kept for the next that comes: the ski-rental question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

UNKNOWN_S = 300.0  # where no plan says how long other nodes would have to be waited for
START_S = 120.0  # a new job costs that much even if it would not wait: its start, and the batch system's work
MOST_SEEN = 100  # times without work that are remembered


def keep_s(wait_s: float, idle_s: Sequence[float]) -> float:
    """For how long to keep idle nodes, if others would have to be waited for `wait_s` seconds.

    To keep them costs a second for each second until work comes; to give them back costs the wait for others when it
    comes. `idle_s` has how long it took until work came, each time so far. The answer is the time with the lowest mean
    cost over these (Karlin et al. 1994), never more than the wait. The wait itself counts as one more time that was
    seen: so without any, nodes are kept for as long as others would be waited for, which costs at most twice as much
    as to know when work comes (Karlin et al. 1988).

    >>> keep_s(600.0, [])
    600.0
    >>> keep_s(600.0, [30.0, 40.0, 45.0, 4_000.0, 5_000.0]), keep_s(600.0, [4_000.0, 5_000.0])
    (45.0, 0.0)
    """
    seen = np.array([*idle_s, wait_s])
    tried = np.unique(np.append(np.minimum(seen, wait_s), 0.0))
    costs = np.minimum(seen, tried[:, None]).mean(axis=1) + wait_s * (seen > tried[:, None]).mean(axis=1)
    least = costs.min()
    return float(tried[costs <= least + 1e-9 * wait_s][-1])
