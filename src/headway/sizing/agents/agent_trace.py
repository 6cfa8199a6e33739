"""`Trace`: the latest steps of an agent and their rewards, as in Figure A.1 of Zunker 2021."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEPT = 200


class Trace:
    """The last 200 steps of one agent: action, allocation and reward. Counts and sums are over all steps."""

    def __init__(self) -> None:
        self.count = 0
        self.reward_sum = 0.0
        self.steps: list[list[Any]] = []  # action, cores, memory in bytes, reward

    @property
    def mean_reward(self) -> float:
        """The mean over all steps; 0 before the first."""
        return self.reward_sum / self.count if self.count else 0.0

    def add(self, action: str, cores: float, memory_bytes: float, reward: float) -> None:
        """Add a step."""
        self.count += 1
        self.reward_sum += reward
        self.steps.append([action, cores, memory_bytes, reward])
        del self.steps[:-KEPT]

    def state(self) -> dict[str, Any]:
        """Return the trace as JSON."""
        return {"count": self.count, "reward_sum": self.reward_sum, "steps": [list(step) for step in self.steps]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.count, self.reward_sum = int(state["count"]), float(state["reward_sum"])
        self.steps = [list(step) for step in state["steps"]]
