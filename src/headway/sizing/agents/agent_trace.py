"""`Trace`: the newest of what an agent did, and what it got for it, for people to look at (003, Figure A.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEPT = 200


class Trace:
    """Steps of one agent: its action, the allocation that it led to, and the reward. Sums are over all steps."""

    def __init__(self) -> None:
        self.count = 0
        self.reward_sum = 0.0
        self.steps: list[list[Any]] = []  # action, cores, memory in bytes, reward

    @property
    def mean_reward(self) -> float:
        """0 before there is one."""
        return self.reward_sum / self.count if self.count else 0.0

    def add(self, action: str, cores: float, memory_bytes: float, reward: float) -> None:
        """One more step."""
        self.count += 1
        self.reward_sum += reward
        self.steps.append([action, cores, memory_bytes, reward])
        del self.steps[:-KEPT]

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {"count": self.count, "reward_sum": self.reward_sum, "steps": [list(step) for step in self.steps]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up where `state` left off."""
        self.count, self.reward_sum = int(state["count"]), float(state["reward_sum"])
        self.steps = [list(step) for step in state["steps"]]
