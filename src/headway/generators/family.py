"""`Family`: a kind of workflow that can be generated."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

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


def nearest_split(
    tasks: int, fewest: int, wanted: Callable[[int], int], fits: Callable[[int, int], bool]
) -> tuple[int, int]:
    """Return the number nearest to `tasks` that the shape allows (of two equally near, the smaller), and its parts.

    A number is allowed if `fits(number, parts)` for the wanted number of parts, for one more, or for one less.
    """
    for distance in count():
        for number in (tasks - distance, tasks + distance):
            for parts in (wanted(number), wanted(number) + 1, wanted(number) - 1):
                if number >= fewest and fits(number, parts):
                    return number, parts
    raise AssertionError("some number fits")
