"""A batch job: a request for nodes, and what the queue says of it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from headway.model.resources import Resources


class JobRequest(Struct, frozen=True):
    """An allocation to ask for: `per_node.nodes` nodes with that much on each, for `per_node.walltime_s`."""

    per_node: Resources


class JobPhase(StrEnum):
    """Where a job is. UNKNOWN is not an end: the scheduler could not say."""

    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"
    UNKNOWN = "unknown"
