"""`python -m tests.world --seeds 10000`: tell many stories, on all cores; a story that went wrong is told in short.

With `--pools` they are stories of workflows that share a pool.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from msgspec import Struct

from tests.world.faults import faults_of
from tests.world.sharing import Sharing, faults_of_pool
from tests.world.story import Story, shortest, tell


class Told(Struct):
    """How many stories were told, and what came of them."""

    seeds: int = 0
    faults: int = 0
    wrong: int = 0
    again: int = 0
    took_s: float = 0.0

    def __str__(self) -> str:
        minutes, end = self.took_s / 60, f"{self.wrong} wrong; {self.again} commands ran again"
        return f"{self.seeds} seeds with {self.faults} faults in {minutes:.1f} minutes: {end}"


def tell_all(first: int, seeds: int, *, show: bool = False, pools: bool = False) -> Told:
    """Tell the stories of so many seeds, on all cores; print those that went wrong, or all."""
    one = _told_of_pool if pools else _told
    began, told = time.monotonic(), Told()
    with ProcessPoolExecutor() as pool:
        for story in pool.map(one, range(first, first + seeds), chunksize=8):
            told.seeds += 1
            told.again += story.again
            told.faults += len(story.faults)
            told.wrong += bool(story.wrong)
            if story.wrong or show:
                print(story, end="\n\n", flush=True)
            if sys.stderr.isatty() or not told.seeds % 1000:
                end = "\r" if sys.stderr.isatty() else "\n"
                print(f"{told.seeds} stories, {told.wrong} wrong", file=sys.stderr, end=end)
    told.took_s = time.monotonic() - began
    return told


def _told(seed: int) -> Story:
    story = tell(seed, faults_of(seed))
    return shortest(story) if story.wrong else story


def _told_of_pool(seed: int) -> Story:
    story = tell(seed, faults_of_pool(seed), Sharing)
    return shortest(story, Sharing) if story.wrong else story


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="also tell stories in which all is well")
    parser.add_argument("--pools", action="store_true", help="tell stories of workflows that share a pool")
    options = parser.parse_args()
    told = tell_all(options.first, options.seeds, show=options.show, pools=options.pools)
    print(told)
    sys.exit(bool(told.wrong))


if __name__ == "__main__":
    main()
