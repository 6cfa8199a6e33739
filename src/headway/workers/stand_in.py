"""The program of a synthetic task: uses the time, cores and memory that a real task used, and writes as much output.

It is started as `python -I -S -B stand_in.py` and imports very little, so that it starts within about 10 ms and has a
footprint of about 4 MB.
"""

import math
import os
import sys
import time

_SLICE_S = 0.01  # the length of one period of work or rest
_BLOCK_BYTES = 1 << 18
_PIECE_BYTES = 1 << 28
_PAGE_BYTES = 4096

USAGE = "stand_in.py --run SECONDS --busy CORES --memory BYTES [--list FILE] [NAME=BYTES ...]"


def main(arguments: list[str]) -> int:
    """Write the outputs, hold the memory, and keep the cores busy until the time is over."""
    began_s = time.monotonic()
    try:
        amounts, outputs = _parse(arguments)
    except (ValueError, OSError) as error:
        print(f"{error}\nusage: {USAGE}", file=sys.stderr)
        return 2
    workers, rate = _workers(amounts["--busy"])
    work_s = amounts["--run"] * amounts["--busy"] / workers
    children = [_start_worker(began_s, work_s, rate / workers) for _ in range(workers - 1)]
    held = _hold(int(amounts["--memory"]))
    for path, size_bytes in outputs:
        _write(path, size_bytes)
    _work(began_s, work_s, rate / workers)
    failed = [os.waitpid(child, 0)[1] for child in children]
    time.sleep(max(0.0, began_s + amounts["--run"] - time.monotonic()))
    del held
    return 1 if any(failed) else 0


def _parse(arguments: list[str]) -> tuple[dict[str, float], list[tuple[str, int]]]:
    amounts = {"--run": 0.0, "--busy": 1.0, "--memory": 0.0}
    entries: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in amounts:
            amounts[word] = float(next(words, "nothing"))
        elif word == "--list":
            with open(next(words, ""), encoding="utf-8", errors="surrogateescape") as file:
                entries += file.read().split("\0")[:-1]
        else:
            entries.append(word)
    outputs = []
    for entry in entries:
        path, mark, size = entry.rpartition("=")
        if not mark:
            raise ValueError(f"{entry!r} is not of the form NAME=BYTES")
        outputs.append((path, int(size)))
    return amounts, outputs


def _workers(busy: float) -> tuple[int, float]:
    """Return the number of processes and the cores that they keep busy together, at most $HEADWAY_CORES."""
    given = float(os.environ.get("HEADWAY_CORES") or math.inf)
    workers = max(1, int(min(math.ceil(busy), given)))
    return workers, min(busy, given, workers)


def _start_worker(began_s: float, work_s: float, share: float) -> int:
    """Fork another process that works. Done before memory is allocated, which the child would share."""
    child = os.fork()
    if child:
        return child
    try:
        _work(began_s, work_s, share)
    finally:
        os._exit(0)


def _work(began_s: float, work_s: float, share: float) -> None:
    """Use `work_s` of CPU time in all, including what this process has used before, at a rate of `share` cores."""
    while (left_s := work_s - time.process_time()) > 0:
        ahead_s = time.process_time() / share - (time.monotonic() - began_s)
        if share < 1 and ahead_s > 0:
            time.sleep(max(ahead_s, _SLICE_S))
        until_s = time.process_time() + min(left_s, _SLICE_S)
        while time.process_time() < until_s:
            sum(range(1000))  # user time: reading the clock alone would be system time


def _hold(memory_bytes: int) -> list[bytearray]:
    """Allocate memory and write to each page, so that this process holds `memory_bytes` in all."""
    with open("/proc/self/statm", encoding="ascii") as file:
        _, resident, shared = file.read().split()[:3]
    missing_bytes = memory_bytes - (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    held = []
    while missing_bytes > 0:
        piece = bytearray(min(missing_bytes, _PIECE_BYTES))
        piece[::_PAGE_BYTES] = b"\1" * len(range(0, len(piece), _PAGE_BYTES))
        held.append(piece)
        missing_bytes -= len(piece)
    return held


def _write(path: str, size_bytes: int) -> None:
    """Write a file of this size that repeats its own name: no two outputs are equal, and none is sparse."""
    line = f"{path}\n".encode(errors="surrogateescape")
    block = line * (min(size_bytes, _BLOCK_BYTES) // len(line) + 1)
    with open(path, "wb", buffering=0) as file:
        while size_bytes > 0:
            size_bytes -= file.write(block[:size_bytes])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
