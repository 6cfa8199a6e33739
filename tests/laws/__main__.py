"""`python -m tests.laws --seeds 20000`: live through many histories, and tell those in which the law was broken."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from msgspec import Struct

from tests.laws.flows import Switches
from tests.laws.story import Verdict, live, shortest


class Lived(Struct):
    """How many histories there were, and what came of them."""

    seeds: int = 0
    runs: int = 0
    checked: int = 0
    wrong: int = 0
    took_s: float = 0.0

    def __str__(self) -> str:
        done = f"{self.seeds} histories with {self.runs} runs, {self.checked} of them compared with a clean one"
        return f"{done}, in {self.took_s / 60:.1f} minutes: {self.wrong} wrong"


def live_all(
    first: int, seeds: int, switches: Switches | None = None, workers: int | None = None, *, shrink: bool = True
) -> Lived:
    """Live through the histories of so many seeds; print those that went wrong."""
    began, lived = time.monotonic(), Lived()
    one = partial(_lived, switches or Switches(), shrink)
    with ProcessPoolExecutor(workers) as pool:
        for verdict in pool.map(one, range(first, first + seeds), chunksize=4):
            lived.seeds += 1
            lived.runs += verdict.runs
            lived.checked += verdict.checked
            if verdict.wrong:
                lived.wrong += 1
                print(verdict, end="\n\n", flush=True)
            if not lived.seeds % 1000:
                print(f"{lived.seeds} histories, {lived.wrong} wrong", file=sys.stderr)
    lived.took_s = time.monotonic() - began
    return lived


def _lived(switches: Switches, shrink: bool, seed: int) -> Verdict:
    verdict = live(seed, None, switches)
    return shortest(verdict, switches) if shrink and verdict.wrong else verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--whole", action="store_true", help="do not shorten histories that went wrong")
    for name in Switches.__struct_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true")
    options = parser.parse_args()
    switches = Switches(**{name: getattr(options, name) for name in Switches.__struct_fields__})
    lived = live_all(options.start, options.seeds, switches, options.workers, shrink=not options.whole)
    print(lived)
    sys.exit(bool(lived.wrong))


if __name__ == "__main__":
    main()
