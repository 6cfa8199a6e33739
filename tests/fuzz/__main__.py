"""`python -m tests.fuzz --cases 1000 --reader swf --seed 7`: hostile texts; exit code 1 if one breaks a law."""

from __future__ import annotations

import argparse
import sys
import time
from hashlib import sha256
from pathlib import Path

from tests.fuzz.fuzzing import faults_of
from tests.fuzz.readers import READERS


def main() -> int:
    """Feed each reader its texts, and keep one text for each kind of fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="hostile texts for each reader")
    parser.add_argument("--reader", default="", help=f"only this one of {', '.join(READERS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=None, help="a folder for texts that break the law")
    given = parser.parse_args()
    readers = [READERS[name] for name in given.reader.split(",")] if given.reader else list(READERS.values())
    broken = 0
    for reader in readers:
        began = time.process_time()
        faults = faults_of(reader, given.cases, given.seed)
        broken += len(faults)
        took_s = time.process_time() - began
        print(f"{reader.name:20} {given.cases:>9,} texts {took_s:>8.1f} s   {len(faults)} kinds of faults", flush=True)
        for fault in faults:
            last = fault.story.strip().splitlines()[-1:]
            print(f"    {fault.what} {''.join(last)[:200]}\n      {fault.data[:200]!r}", flush=True)
            if given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                place = given.keep / f"{reader.name}-{sha256(fault.data).hexdigest()[:10]}"
                place.write_bytes(fault.data)
                place.with_suffix(".story").write_text(f"{fault.what}\n{fault.story}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
