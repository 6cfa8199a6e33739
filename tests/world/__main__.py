"""`python -m tests.world --seeds 10000`: tell many stories, on all cores; a story that went wrong is told in short."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.world.faults import faults_of
from tests.world.story import Story, shortest, tell


def told(seed: int) -> Story:
    story = tell(seed, faults_of(seed))
    return shortest(story) if story.wrong else story


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="also tell stories in which all is well")
    options = parser.parse_args()
    began, wrong, again, faults = time.monotonic(), 0, 0, 0
    with ProcessPoolExecutor() as pool:
        for number, story in enumerate(
            pool.map(told, range(options.first, options.first + options.seeds), chunksize=8), 1
        ):
            again += story.again
            faults += len(story.faults)
            if story.wrong or options.show:
                print(story, end="\n\n", flush=True)
            wrong += bool(story.wrong)
            if sys.stderr.isatty() or not number % 1000:
                print(f"{number} stories, {wrong} wrong", file=sys.stderr, end="\r" if sys.stderr.isatty() else "\n")
    minutes = (time.monotonic() - began) / 60
    end = f"{wrong} wrong; {again} commands ran again"
    print(f"{options.seeds} seeds with {faults} faults in {minutes:.1f} minutes: {end}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
