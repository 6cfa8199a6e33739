"""`QueueTwin`: our copy of the batch queue's schedule, which answers how long a job would wait."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headway.kernels.batch.twin import twin_of, twin_waits
from headway.model.records import QueueRead

Floats = NDArray[np.float64]


class QueueTwin:
    """Predicts queue waits from a snapshot of the queue's plan (see `QueueRead` for what that assumes)."""

    def __init__(self, read: QueueRead) -> None:
        self.read = read
        self._twin = twin_of(read.times, read.free, read.nodes, contiguous=read.contiguous)

    def waits_s(self, nodes: Sequence[int], asked_s: Floats, *, not_before_s: float = 0.0) -> Floats:
        """The wait in seconds for each pair of nodes and walltime; infinite if the machine is too small.

        `not_before_s`: the jobs may start this many seconds from now at the earliest.
        """
        asked_s = np.ascontiguousarray(asked_s, np.float64)
        return twin_waits(self._twin, np.array(nodes, np.float64), asked_s, not_before_s)
