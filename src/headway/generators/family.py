"""`Family`: a kind of workflow that can be generated."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from headway.model.instance import Instance


class Family(Struct, frozen=True):
    """A kind of workflow that papers use.

    `make(name, tasks, seed)` generates one with exactly `tasks` tasks if the family's shape allows it, and otherwise
    with the nearest number that it allows.
    """

    about: str
    fewest_tasks: int
    make: Callable[[str, int, int], Instance]
    aliases: tuple[str, ...] = ()


def nearest_possible(tasks: int, fewest: int, possible: Callable[[int], bool]) -> int:
    """Return the number nearest to `tasks` that is `possible`; of two equally near, the smaller."""
    distance = 0
    while True:
        for candidate in (tasks - distance, tasks + distance):
            if candidate >= fewest and possible(candidate):
                return candidate
        distance += 1
