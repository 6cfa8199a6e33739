"""What the queue's own plan says: everybody takes as long as they asked for, and nobody comes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headway.kernels.batch.answers import starts_by_count
from headway.model.records import QueueRead


def waits_s(queue: QueueRead, nodes: Sequence[int], asked_s: Sequence[float]) -> list[float]:
    """How long jobs of these shapes would wait if they were submitted when the queue was read. Only counts nodes."""
    starts = np.empty(len(nodes))
    plan = np.array([queue.times, queue.free], np.float64)
    starts_by_count(plan, np.array(nodes, np.float64), np.array(asked_s, np.float64), queue.at, starts)
    waits: list[float] = (starts - queue.at).tolist()
    return waits
