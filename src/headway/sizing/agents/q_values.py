"""`QValues`: one-step Q-learning over a grid of allocations (003, section 2.3.3, after Watkins and Dayan)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

ALPHA = 0.1  # section 4.3
GAMMA = 1.0

State = tuple[int, ...]  # an allocation: a number for each dimension of the grid


class Grid(Struct, frozen=True):
    """The allocations that an agent may visit: along each dimension from 1 to `most`.

    Actions are named for what they change; one that would leave the grid is not to be had (section 4.3).

    >>> Grid(("cores", "memory"), (4, 3)).actions((1, 2))
    ['stay', 'more-cores', 'less-memory', 'more-memory']
    """

    names: tuple[str, ...]
    most: tuple[int, ...]

    def actions(self, state: State) -> list[str]:
        """What can be done in a state."""
        found = ["stay"]
        for name, place, most in zip(self.names, state, self.most, strict=True):
            found += [f"less-{name}"] if place > 1 else []
            found += [f"more-{name}"] if place < most else []
        return found

    def after(self, state: State, action: str) -> State:
        """Where an action leads."""
        change = {"less": -1, "more": 1}.get(action.partition("-")[0], 0)
        changed = action.partition("-")[2]
        return tuple(place + (change if name == changed else 0) for name, place in zip(self.names, state, strict=True))

    def nearest(self, state: Sequence[int]) -> State:
        """A state of the grid: the machine may have shrunk since."""
        return tuple(min(max(1, place), most) for place, most in zip(state, self.most, strict=True))


class QValues:
    """What each action in each state is worth; what was never tried is worth 0, and comes first."""

    def __init__(self) -> None:
        self.values: dict[State, dict[str, float]] = {}
        self.updates = 0

    def choose(self, grid: Grid, state: State, epsilon: float, draw: float) -> tuple[str, str]:
        """An action, and by which rule: untried ones first, then at random with probability epsilon, else the best.

        One number from [0, 1) serves for both draws.
        """
        known = self.values.get(state, {})
        actions = grid.actions(state)
        untried = [action for action in actions if action not in known]
        if untried:
            return untried[int(draw * len(untried))], "untried"
        if draw < epsilon:
            return actions[int(draw / epsilon * len(actions))], "explored"
        return max(actions, key=lambda action: known[action]), "best"

    def learn(self, grid: Grid, state: State, action: str, reward: float, alpha: float = ALPHA) -> None:
        """Equation 2.5."""
        there = grid.after(state, action)
        ahead = self.values.get(there, {})
        best = max(ahead.get(next_action, 0.0) for next_action in grid.actions(there))
        known = self.values.setdefault(state, {})
        before = known.get(action, 0.0)
        known[action] = before + alpha * (reward + GAMMA * best - before)
        self.updates += 1

    def state(self) -> dict[str, Any]:
        """As JSON."""
        values = [[list(place), dict(sorted(known.items()))] for place, known in sorted(self.values.items())]
        return {"values": values, "updates": self.updates}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up where `state` left off."""
        self.values = {tuple(place): dict(known) for place, known in state["values"]}
        self.updates = int(state["updates"])


def epsilon_in_steps(updates: int) -> float:
    """Section 4.3: half of the time at first, a quarter after 50 runs, a tenth after 100."""
    return 0.5 if updates < 50 else 0.25 if updates < 100 else 0.1


def epsilon_harmonic(updates: int) -> float:
    """Section 6.1: 1/t."""
    return 1.0 / max(1, updates)
