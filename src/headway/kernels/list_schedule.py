"""The makespan of a list schedule: a free node always takes the first task that is ready."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headway.kernels.compiled import compiled, inner

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def list_makespans(
    run_s: Floats,
    spans: Ints,
    first_child: Ints,
    children: Ints,
    parents: Ints,
    nodes: Ints,
    keys: Floats,
    work: Ints,
    lengths: Floats,
    ends: Floats,
) -> None:
    """Fill `lengths` with the makespan of a list schedule for each number of nodes, `ends` with the tasks' last ends.

    Tasks are numbered in the order of preference. A task holds `spans` nodes; where there are fewer it holds them all,
    for proportionally longer. A task that waits for nodes blocks those behind it. The children of task i are
    `children[first_child[i]:first_child[i + 1]]`; `parents` has the number of each task's parents within the group.
    `keys` (2 x tasks) and `work` (3 x tasks) are scratch space.
    """
    total = len(run_s)
    ready, running, left = work[0], work[1], work[2]
    for turn in range(len(nodes)):
        n_ready = n_running = held = 0
        now = 0.0
        for task in range(total):
            left[task] = parents[task]
            if not left[task]:
                n_ready = _push(keys[0], ready, n_ready, float(task), task)
        while n_ready or n_running:
            while n_ready and held + min(spans[ready[0]], nodes[turn]) <= nodes[turn]:
                task = ready[0]
                n_ready = _pop(keys[0], ready, n_ready)
                span = min(spans[task], nodes[turn])
                held += span
                ends[task] = now + run_s[task] * (spans[task] / span)
                n_running = _push(keys[1], running, n_running, ends[task], task)
            now = keys[1, 0]
            while n_running and keys[1, 0] == now:
                ended = running[0]
                n_running = _pop(keys[1], running, n_running)
                held -= min(spans[ended], nodes[turn])
                for index in range(first_child[ended], first_child[ended + 1]):
                    child = children[index]
                    left[child] -= 1
                    if not left[child]:
                        n_ready = _push(keys[0], ready, n_ready, float(child), child)
        lengths[turn] = now


@inner
def _push(keys: Floats, items: Ints, size: int, key: float, item: int) -> int:
    place = size
    while place > 0 and keys[(place - 1) // 2] > key:
        keys[place], items[place] = keys[(place - 1) // 2], items[(place - 1) // 2]
        place = (place - 1) // 2
    keys[place], items[place] = key, item
    return size + 1


@inner
def _pop(keys: Floats, items: Ints, size: int) -> int:
    size -= 1
    key, item = keys[size], items[size]
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[place], items[place] = keys[below], items[below]
        place = below
    keys[place], items[place] = key, item
    return size
