"""A batch job: its request for nodes or shares of them, and its phase."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from headway.model.resources import Resources

Asks = Literal["whole", "shared"]  # what jobs ask for where a queue counts cores: whole nodes, or shares of them


class JobRequest(Struct, frozen=True, omit_defaults=True):
    """A request for `per_node.nodes` nodes with these resources on each, for `per_node.walltime_s`."""

    per_node: Resources
    places: int | None = None  # for so many tasks side by side, on a share of each node; None: whole nodes
    at_stake_s: float | None = None  # the most work that one of its tasks loses if the job is taken away; None: unknown

    @property
    def width(self) -> int:
        """The size of the job in units: places, or whole nodes."""
        return self.places or self.per_node.nodes


class JobPhase(StrEnum):
    """The phase of a job. UNKNOWN does not mean ended: the scheduler gave no answer."""

    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"
    UNKNOWN = "unknown"
