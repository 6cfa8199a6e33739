"""How long jobs will wait, as far as the queue's plan and what came of earlier plans can tell."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headway.grouping.base import Group
from headway.model.records import Figure, JobRole, QueueRead, Submit, Why
from headway.planning.base import JobStatus, View
from headway.planning.packing import Packing
from headway.waiting.base import Shape
from headway.waiting.corrected_estimate import CorrectedEstimate
from headway.waiting.twin import QueueTwin

SAFE = 0.9  # the quantile of the wait that plans count on


class Foresight:
    """The queue's own plan, corrected by how far such plans were off before (`CorrectedEstimate`)."""

    def __init__(self, plan: str) -> None:
        self.plan = plan  # its name, for the reasons of its jobs
        self.queue: QueueRead | None = None  # as it was read last
        self._model = CorrectedEstimate()
        self._twin: QueueTwin | None = None

    def learn(self, shape: Shape, waited_s: float) -> None:
        """Learn how long a job waited for which the queue's plan had an estimate."""
        self._model.observe(shape, {}, waited_s)

    def twin(self, queue: QueueRead, packing: Packing) -> QueueTwin:
        """The queue's plan in the units of a packing."""
        read = packing.in_units(queue)
        if self._twin is None or (self._twin.read is not read and self._twin.read != read):
            self._twin = QueueTwin(read)
        return self._twin

    def corrected_s(self, units: int, asked_s: float, planned_s: float) -> float:
        """How long a job most likely waits at most for which the queue plans this wait."""
        return self._model.quantiles(Shape(units, asked_s, planned_s), [SAFE])[0] if planned_s else 0.0

    def wait_s(self, packing: Packing, units: int, asked_s: float) -> float:
        """The same for a job that would be submitted now, by the queue as it was read last."""
        if self.queue is None:
            return math.inf
        planned_s = float(self.twin(self.queue, packing).waits_s([units], np.array([asked_s]))[0])
        return self.corrected_s(units, asked_s, planned_s)

    def longest_s(self, jobs: Sequence[JobStatus]) -> float | None:
        """How long the last of these jobs to start would wait if they were submitted now; None if that is not known."""
        if self.queue is None or not jobs:
            return None
        whole = self.queue.counts == "nodes"
        each = [job.request.per_node for job in jobs]
        units = [part.nodes if whole else math.ceil(part.nodes * part.cores) for part in each]
        asked_s = [part.walltime_s or 0.0 for part in each]
        planned_s = QueueTwin(self.queue).waits_s(units, np.array(asked_s)).tolist()
        longest_s = max(self.corrected_s(*shape) for shape in zip(units, asked_s, planned_s, strict=True))
        return longest_s if math.isfinite(longest_s) else None

    def submit(
        self,
        view: View,
        packing: Packing,
        role: JobRole,
        nodes: int,
        asked_s: float,
        now: float,
        *,
        group: Group | None = None,
        offset: int = 0,
    ) -> Submit:
        """A job, with the wait that the queue plans for it: that is compared with the actual wait later."""
        wait_s, estimate_s = 0.0 if group is None else group.wait_s, None
        figures: dict[str, Figure] = {"wait_s": wait_s}
        if group is not None:
            figures["run_s"] = group.run_s
        if view.queue is not None and packing.node == view.limits.limits:
            estimate_s = float(self.twin(view.queue, packing).waits_s([nodes], np.array([asked_s]))[0])
            figures["estimate_s"] = estimate_s
        return Submit(
            now,
            view.next_tag(offset),
            packing.request(nodes, asked_s),
            Why(self.plan, role, figures),
            expected_s=asked_s,
            role=role,
            expected_wait_s=wait_s,
            wait_estimate_s=estimate_s,
            shares=view.shares,
        )


def seen_wait(job: JobStatus) -> tuple[Shape, float] | None:
    """What a job's start tells of the queue: its shape, and how long it waited.

    A dependent job tells nothing: it is not eligible before its predecessor ends.
    """
    if job.started_at is None or job.ended_at is not None or job.after is not None or job.wait_estimate_s is None:
        return None
    shape = Shape(job.width, job.request.per_node.walltime_s or 0.0, job.wait_estimate_s)
    return shape, job.started_at - job.submitted_at
