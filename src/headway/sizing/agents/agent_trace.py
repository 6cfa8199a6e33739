"""`Trace`: the latest steps of an agent and their rewards, as in Figure A.1 of Zunker 2021."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

KEPT = 200


class Trace(Struct):
    """The last 200 steps of one agent: action, allocation and reward. Counts and sums are over all steps."""

    count: int = 0
    reward_sum: float = 0.0
    steps: list[list[Any]] = field(default_factory=list)  # action, cores, memory in bytes, reward

    def add(self, action: str, cores: float, memory_bytes: float, reward: float) -> None:
        """Add a step."""
        self.count += 1
        self.reward_sum += reward
        self.steps.append([action, cores, memory_bytes, reward])
        del self.steps[:-KEPT]


def traces(*names: str) -> Any:
    """Return the field of a state that has an empty trace by each of these names."""
    return field(default_factory=lambda: {name: Trace() for name in names})
