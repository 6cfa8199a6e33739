"""`QueueTwin`: a batch queue as it was read, asked as often as one likes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headway.kernels.batch.twin import twin_of, twin_waits
from headway.model.records import QueueRead

Floats = NDArray[np.float64]


class QueueTwin:
    """Says how long jobs would wait, if everybody takes as long as they asked for and nobody comes."""

    def __init__(self, read: QueueRead) -> None:
        self.read = read
        self._twin = twin_of(read.times, read.free, read.nodes, contiguous=read.contiguous)

    def waits_s(self, nodes: Sequence[int], asked_s: Floats, *, not_before_s: float = 0.0) -> Floats:
        """For each shape; infinite if the machine is too small. `not_before_s`: they may start so long from now."""
        asked_s = np.ascontiguousarray(asked_s, np.float64)
        return twin_waits(self._twin, np.array(nodes, np.float64), asked_s, not_before_s)
