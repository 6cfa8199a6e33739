"""`python -m tests.fuzz --cases 1000 --reader swf --seed 7`: hostile texts; exit code 1 if one breaks a law."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from tests.fuzz.fuzzing import faults_of, one_of_each
from tests.fuzz.law import Fault
from tests.fuzz.readers import READERS

PART = 2000  # texts of one reader that one process reads in one go

Part = tuple[str, range, int]  # a reader, the numbers of texts, the seed
Done = tuple[str, int, float, list[Fault]]  # a reader, how many texts, seconds of processor time, faults


def main() -> int:
    """Feed each reader its texts, on all cores, and keep one text for each kind of fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="hostile texts for each reader")
    parser.add_argument("--reader", default="", help=f"only this one of {', '.join(READERS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--keep", type=Path, default=None, help="a folder for texts that break the law")
    given = parser.parse_args()
    names = given.reader.split(",") if given.reader else list(READERS)
    parts = [
        (name, range(begin, min(begin + PART, given.cases)), given.seed)
        for name in names
        for begin in range(0, given.cases, PART)
    ]
    began = time.monotonic()
    texts = broken = 0
    spent_s = 0.0
    for name, cases, took_s, faults in by_reader(parts, given.jobs):
        texts, spent_s, broken = texts + cases, spent_s + took_s, broken + len(faults)
        print(f"{name:20} {cases:>9,} texts {took_s:>8.1f} s   {len(faults)} kinds of faults", flush=True)
        for fault in faults:
            tell(name, fault, given.keep)
    passed_s = time.monotonic() - began
    print(f"{texts:,} texts for {len(names)} readers in {passed_s:.0f} s ({spent_s:.0f} s of processor time), ", end="")
    print(f"seed {given.seed}: {broken} kinds of faults")
    return 1 if broken else 0


def by_reader(parts: Sequence[Part], jobs: int) -> Iterator[Done]:
    """What was found for each reader, as soon as all of its parts are read."""
    with get_context("fork").Pool(jobs) as pool:
        for name, each in groupby(pool.imap(read_part, parts), key=lambda done: done[0]):
            done = list(each)
            faults = one_of_each(fault for part in done for fault in part[3])
            yield name, sum(part[1] for part in done), sum(part[2] for part in done), faults


def read_part(part: Part) -> Done:
    """Give texts to a reader, in a process of the pool."""
    name, numbers, seed = part
    began = time.process_time()
    faults = faults_of(READERS[name], numbers, seed)
    return name, len(numbers), time.process_time() - began, faults


def tell(name: str, fault: Fault, keep: Path | None) -> None:
    """Print a fault, and keep its text."""
    last = fault.story.strip().splitlines()[-1:]
    print(f"    {fault.what} {''.join(last)[:200]}\n      {fault.data[:200]!r}", flush=True)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        place = keep / f"{name}-{sha256(fault.data).hexdigest()[:10]}"
        place.write_bytes(fault.data)
        place.with_suffix(".story").write_text(f"{fault.what}\n{fault.story}")


if __name__ == "__main__":
    sys.exit(main())
