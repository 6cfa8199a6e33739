"""The little program that a synthetic task runs: it takes the time, processors and memory that a real task took, and
writes as much.

It is started as `python -I -S -B stand_in.py`, imports next to nothing and nothing of ours, so that it is there in some
10 ms and weighs some 4 MB of its own.
"""

import math
import os
import sys
import time

_LOOK_S = 0.01  # how finely work and rest alternate
_BLOCK_BYTES = 1 << 18
_PIECE_BYTES = 1 << 28
_PAGE_BYTES = 4096

USAGE = "stand_in.py --run SECONDS --busy CORES --memory BYTES [--list FILE] [NAME=BYTES ...]"


def main(arguments: list[str]) -> int:
    """Write the outputs, hold the memory, and be busy until the time is over."""
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
            raise ValueError(f"{entry!r} is not an output with its size")
        outputs.append((path, int(size)))
    return amounts, outputs


def _workers(busy: float) -> tuple[int, float]:
    """How many processes share the work, and how many cores they keep busy together: no more than were given."""
    given = float(os.environ.get("HEADWAY_CORES") or math.inf)
    workers = max(1, int(min(math.ceil(busy), given)))
    return workers, min(busy, given, workers)


def _start_worker(began_s: float, work_s: float, share: float) -> int:
    """Fork one more process that works; before the memory is taken, of which it would show a share."""
    child = os.fork()
    if child:
        return child
    try:
        _work(began_s, work_s, share)
    finally:
        os._exit(0)


def _work(began_s: float, work_s: float, share: float) -> None:
    """Use `work_s` of processor time, what this process has used already included, never ahead of its share."""
    while (left_s := work_s - time.process_time()) > 0:
        ahead_s = time.process_time() / share - (time.monotonic() - began_s)
        if share < 1 and ahead_s > 0:
            time.sleep(max(ahead_s, _LOOK_S))
        until_s = time.process_time() + min(left_s, _LOOK_S)
        while time.process_time() < until_s:
            sum(range(1000))  # a look at the clock is the kernel's work: do some of our own in between


def _hold(memory_bytes: int) -> list[bytearray]:
    """Memory whose every page was written to, so much that the process has `memory_bytes` of its own."""
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
    """A file of that size whose every line is its own name: no two outputs are alike, and none has holes."""
    line = f"{path}\n".encode(errors="surrogateescape")
    block = line * (min(size_bytes, _BLOCK_BYTES) // len(line) + 1)
    with open(path, "wb", buffering=0) as file:
        while size_bytes > 0:
            size_bytes -= file.write(block[:size_bytes])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
