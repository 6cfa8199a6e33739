"""The program of every task in small.nf: it waits, holds memory, and hashes on one or several threads."""

from __future__ import annotations

import argparse
import hashlib
import time
from concurrent.futures import ThreadPoolExecutor

_BLOCK = bytes(1 << 20)


def _hashed(blocks: int) -> str:
    """Hash so many megabytes. Python's threads do this side by side, as hashing releases the interpreter's lock."""
    digest = hashlib.sha256()
    for _ in range(blocks):
        digest.update(_BLOCK)
    return digest.hexdigest()


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--wait", type=float, default=0.0, help="seconds")
    parser.add_argument("--work", type=float, default=0.0, help="megabytes to hash")
    parser.add_argument("--parallel", type=float, default=0.0, help="the share of the work that threads divide")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--hold", type=int, default=0, help="megabytes of memory")
    stated = parser.parse_args()
    held = b"x" * (stated.hold << 20)
    time.sleep(stated.wait)
    divided = round(stated.work * stated.parallel)
    print(_hashed(round(stated.work) - divided))
    shares = [divided // stated.threads + (number < divided % stated.threads) for number in range(stated.threads)]
    with ThreadPoolExecutor(stated.threads) as threads:
        print(*threads.map(_hashed, shares))
    del held


if __name__ == "__main__":
    main()
