"""Reward 4.2 of 003, as its prose wants it and as it is printed, and what a kill is rewarded."""

from __future__ import annotations

from collections.abc import Callable

LEAST_UNUSED_CORES = 0.1
ENOUGH_MEMORY_USE = 0.75

UnusedShare = Callable[[float], float]  # of the share of memory that was used, the share that is held against it


def unused_with_floor(used: float) -> float:
    """As the prose of section 4.3 has it: who uses more than three quarters is rewarded as if it were three quarters,
    so that nobody is tempted to give so little that tasks are killed.

    >>> unused_with_floor(0.25), unused_with_floor(0.75), unused_with_floor(1.0)
    (0.75, 0.25, 0.25)
    """
    return 1.0 - min(ENOUGH_MEMORY_USE, used)


def unused_as_printed(used: float) -> float:
    """As equation 4.2 is printed: never more than a quarter counts, and a task that fills its memory costs nothing.

    >>> unused_as_printed(0.25), unused_as_printed(0.75), unused_as_printed(1.0)
    (0.25, 0.25, 0.0)
    """
    return 1.0 - max(ENOUGH_MEMORY_USE, min(1.0, used))


def joint_reward(unused_cores: float, slowdown: float, chunks: float, used: float, unused: UnusedShare) -> float:
    """Equation 4.2: unused cores, times how long it took against the mean, times unused memory, in chunks.

    >>> joint_reward(2.0, 1.5, 2.0, 0.5, unused_with_floor)   # -2 * 1.5 * (2 * 0.5)
    -3.0
    """
    return -max(LEAST_UNUSED_CORES, unused_cores) * slowdown * chunks * unused(used)


def joint_kill_reward(unused_cores: float, slowdown: float, chunks: float) -> float:
    """The thesis does not say. As its memory bandit's: twice all that was given; and it counts as no shorter than the
    mean run, since it has to be done again."""
    return -2.0 * max(LEAST_UNUSED_CORES, unused_cores) * max(1.0, slowdown) * chunks


def cores_only_reward(unused_cores: float, slowdown: float) -> float:
    """Equation 4.2 without memory, for an agent of cores alone (section 6.1)."""
    return -max(LEAST_UNUSED_CORES, unused_cores) * slowdown


def memory_only_reward(chunks: float, used: float, unused: UnusedShare) -> float:
    """Equation 4.2 without cores and time, for an agent of memory alone (section 6.1)."""
    return -chunks * unused(used)
