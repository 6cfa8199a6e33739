"""One-step Q-learning over a grid of allocations (Zunker 2021, section 2.3.3, after Watkins and Dayan), its rewards.

The rewards are those of equation 4.2: as its prose describes it, as it is printed, and for a killed attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

ALPHA = 0.1  # step size and discount of section 4.3
GAMMA = 1.0
LEAST_UNUSED_CORES = 0.1
ENOUGH_MEMORY_USE = 0.75

UnusedShare = Callable[[float], float]  # from the share of memory that was used: the share that counts as unused
State = tuple[int, ...]  # an allocation: a coordinate for each dimension of the grid


class Grid(Struct, frozen=True):
    """The allocations that an agent may visit: along each dimension from 1 to `most`.

    Actions are named for what they change; none leads out of the grid (section 4.3).

    >>> Grid(("cores", "memory"), (4, 3)).actions((1, 2))
    ['stay', 'more-cores', 'less-memory', 'more-memory']
    """

    names: tuple[str, ...]
    most: tuple[int, ...]

    def actions(self, state: State) -> list[str]:
        """Return the actions of a state."""
        found = ["stay"]
        for name, place, most in zip(self.names, state, self.most, strict=True):
            found += [f"less-{name}"] if place > 1 else []
            found += [f"more-{name}"] if place < most else []
        return found

    def after(self, state: State, action: str) -> State:
        """Return the state that an action leads to."""
        change = {"less": -1, "more": 1}.get(action.partition("-")[0], 0)
        changed = action.partition("-")[2]
        return tuple(place + (change if name == changed else 0) for name, place in zip(self.names, state, strict=True))

    def nearest(self, state: Sequence[int]) -> State:
        """Return the nearest state of the grid, which may have become smaller with the machine."""
        return tuple(min(max(1, place), most) for place, most in zip(state, self.most, strict=True))


class QValues:
    """The value of each action in each state; actions that were never tried have the value 0 and are chosen first."""

    def __init__(self) -> None:
        self.values: dict[State, dict[str, float]] = {}
        self.updates = 0

    def choose(self, grid: Grid, state: State, epsilon: float, draw: float) -> tuple[str, str]:
        """Return an action and the rule that chose it: untried, at random with probability epsilon, or the best.

        `draw` is a number from [0, 1); it serves for both draws.
        """
        known = self.values.get(state, {})
        actions = grid.actions(state)
        untried = [action for action in actions if action not in known]
        if untried:
            return untried[int(draw * len(untried))], "untried"
        if draw < epsilon:
            return actions[int(draw / epsilon * len(actions))], "explored"
        return max(actions, key=lambda action: known[action]), "best"

    def move(self, grid: Grid, state: State, failed: int | None, epsilon: float, draw: float) -> tuple[State, str, str]:
        """Return the state to move from, an action, and the rule that chose it.

        `failed` is what ran out in the grid's last dimension, from where the next attempt moves up; None: nothing did.
        """
        if failed is None:
            return state, *self.choose(grid, state, epsilon, draw)
        state = grid.nearest((*state[:-1], failed))
        return state, f"more-{grid.names[-1]}" if state[-1] < grid.most[-1] else "stay", "after-kill"

    def learn(self, grid: Grid, state: State, action: str, reward: float) -> None:
        """Update a value by equation 2.5."""
        there = grid.after(state, action)
        ahead = self.values.get(there, {})
        best = max(ahead.get(next_action, 0.0) for next_action in grid.actions(there))
        known = self.values.setdefault(state, {})
        before = known.get(action, 0.0)
        known[action] = before + ALPHA * (reward + GAMMA * best - before)
        self.updates += 1

    def state(self) -> dict[str, Any]:
        """Return the values as JSON."""
        values = [[list(place), dict(sorted(known.items()))] for place, known in sorted(self.values.items())]
        return {"values": values, "updates": self.updates}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.values = {tuple(place): dict(known) for place, known in state["values"]}
        self.updates = int(state["updates"])


def epsilon_in_steps(updates: int) -> float:
    """Return the probability of exploring by section 4.3: 0.5 at first, 0.25 after 50 runs, 0.1 after 100."""
    return 0.5 if updates < 50 else 0.25 if updates < 100 else 0.1


def epsilon_harmonic(updates: int) -> float:
    """Return the probability of exploring by section 6.1: 1/t."""
    return 1.0 / max(1, updates)


def unused_with_floor(used: float) -> float:
    """Return the unused share as the prose of section 4.3 describes it.

    Using more than three quarters is rewarded as three quarters, so that an agent gains nothing from giving so little
    that tasks are killed.

    >>> unused_with_floor(0.25), unused_with_floor(0.75), unused_with_floor(1.0)
    (0.75, 0.25, 0.25)
    """
    return 1.0 - min(ENOUGH_MEMORY_USE, used)


def unused_as_printed(used: float) -> float:
    """Return the unused share as equation 4.2 is printed: at most a quarter, and nothing for full memory.

    >>> unused_as_printed(0.25), unused_as_printed(0.75), unused_as_printed(1.0)
    (0.25, 0.25, 0.0)
    """
    return 1.0 - max(ENOUGH_MEMORY_USE, min(1.0, used))


def joint_reward(unused_cores: float, slowdown: float, chunks: float, used: float, unused: UnusedShare) -> float:
    """Equation 4.2: unused cores, times run time over the mean, times unused memory in chunks.

    >>> joint_reward(2.0, 1.5, 2.0, 0.5, unused_with_floor)   # -2 * 1.5 * (2 * 0.5)
    -3.0
    """
    return -max(LEAST_UNUSED_CORES, unused_cores) * slowdown * chunks * unused(used)


def joint_kill_reward(unused_cores: float, slowdown: float, chunks: float) -> float:
    """Reward a killed attempt, which the thesis leaves open.

    As for its memory bandit, twice all that was given counts; and the run counts as no shorter than the mean, since it
    has to be repeated.
    """
    return -2.0 * max(LEAST_UNUSED_CORES, unused_cores) * max(1.0, slowdown) * chunks
