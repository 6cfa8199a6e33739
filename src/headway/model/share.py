"""`Share`: what a workflow or a person is entitled to in a pool that many use."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Positive = Annotated[float, Meta(gt=0)]
STEP = 10.0  # one priority higher counts as this many times the weight, so that the lower one still gets a part


class Share(Struct, frozen=True, omit_defaults=True):
    """The terms of one share. The part of the pool that it is entitled to is its weight over all weights.

    `priority` raises or lowers the weight by whole steps. `most_cores` and `most_memory_bytes` limit what its tasks
    hold at the same time, also while the pool has more to give; None means no limit.
    """

    weight: Positive = 1.0
    priority: int = 0
    most_cores: Positive | None = None
    most_memory_bytes: Positive | None = None

    @property
    def entitlement(self) -> float:
        """The weight, with the priority."""
        return self.weight * STEP**self.priority
