"""A batch job: its request for nodes, and its phase."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from headway.model.resources import Resources


class JobRequest(Struct, frozen=True):
    """A request for `per_node.nodes` nodes with these resources on each, for `per_node.walltime_s`."""

    per_node: Resources


class JobPhase(StrEnum):
    """The phase of a job. UNKNOWN does not mean ended: the scheduler gave no answer."""

    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"
    UNKNOWN = "unknown"
