"""The rewards of Zunker 2021, equation 4.2: as its prose describes it, as it is printed, and for a killed attempt."""

from __future__ import annotations

from collections.abc import Callable

LEAST_UNUSED_CORES = 0.1
ENOUGH_MEMORY_USE = 0.75

UnusedShare = Callable[[float], float]  # from the share of memory that was used: the share that counts as unused


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


def cores_only_reward(unused_cores: float, slowdown: float) -> float:
    """Equation 4.2 without memory, for an agent of cores alone (section 6.1)."""
    return -max(LEAST_UNUSED_CORES, unused_cores) * slowdown


def memory_only_reward(chunks: float, used: float, unused: UnusedShare) -> float:
    """Equation 4.2 without cores and time, for an agent of memory alone (section 6.1)."""
    return -chunks * unused(used)
