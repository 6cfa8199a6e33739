"""What long-lived processes hold, looked at again and again, and whether that grows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from msgspec import Struct, structs

# How much more the last quarter may hold than the second one: a share, and so much in any case.
SHARE = 0.10
SLACK = {"descriptors": 3, "threads": 2, "memory_bytes": 8_000_000, "children": 1}
FEWEST = 12  # looks that say something


class Held(Struct, frozen=True):
    """What one process holds at a moment."""

    descriptors: int
    threads: int
    memory_bytes: int
    children: int


def held_by(pid: int) -> Held:
    """Look at a process."""
    place = Path(f"/proc/{pid}")
    threads = os.listdir(place / "task")
    children = sum(len((place / "task" / thread / "children").read_text().split()) for thread in threads)
    pages = int((place / "statm").read_text().split()[1])
    return Held(len(os.listdir(place / "fd")), len(threads), pages * os.sysconf("SC_PAGE_SIZE"), children)


def growth(looks: Sequence[Held]) -> dict[str, tuple[float, float]]:
    """What grew from the second quarter of the looks to the last one, and from how much to how much.

    In the first quarter a process still fills its caches.
    """
    if len(looks) < FEWEST:
        raise ValueError(f"{len(looks)} looks are too few to tell: at least {FEWEST}")
    quarter = len(looks) // 4
    found: dict[str, tuple[float, float]] = {}
    for name, slack in SLACK.items():
        amounts = [structs.asdict(look)[name] for look in looks]
        before, after = median(amounts[quarter : 2 * quarter]), median(amounts[-quarter:])
        if after > before * (1 + SHARE) + slack:
            found[name] = (before, after)
    return found
