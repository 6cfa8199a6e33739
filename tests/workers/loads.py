"""Known loads: commands that use a known amount of something, and say how much.

As a script with arguments it is a load: `python loads.py tree 0.6`. Each prints the truth about itself as JSON.
Without arguments, `python -m tests.workers.loads`, it measures them all by every method there is and prints a table.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import resource
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from headway.workers.trees import CommandEnd, CommandSpec, ProcessTrees

Result = TypeVar("Result")
MB = 1_000_000
PAGE = mmap.PAGESIZE


# Parts of loads


def hold(size_bytes: int, *, shared: bool = False) -> mmap.mmap:
    """Allocate memory and write to each of its pages."""
    block = mmap.mmap(-1, size_bytes, flags=(mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE) | mmap.MAP_ANONYMOUS)
    write(block)
    return block


def write(block: mmap.mmap) -> None:
    for at in range(0, len(block), PAGE):
        block[at] = 1


def read(block: mmap.mmap) -> None:
    for at in range(0, len(block), PAGE):
        block[at]


def own_bytes() -> int:
    """Return the anonymous and shared memory of this process."""
    with open("/proc/self/status") as status:
        kb = [int(line.split()[1]) for line in status if line.startswith(("RssAnon", "RssShmem"))]
    return sum(kb) * 1024


def child(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def wait_for(pids: list[int]) -> None:
    for pid in pids:
        os.waitpid(pid, 0)


def hold_on(span_s: float, pids: list[int]) -> None:
    """Wait for a while, then end the children."""
    time.sleep(span_s)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_for(pids)


def say(**truth: float) -> None:
    print(json.dumps(truth), flush=True)


@contextlib.contextmanager
def all_ready(count: int) -> Iterator[Callable[[], None]]:
    """Yield a function that each of `count` children calls when it is ready; wait until all have called it."""
    reader, writer = os.pipe()
    yield lambda: os.write(writer, b".") and None
    while count:
        count -= len(os.read(reader, count))


# The loads


def tree(plateau_s: float) -> None:
    """Three processes that hold 120, 90 and 90 MB."""
    base_bytes = own_bytes()
    with all_ready(2) as ready:
        children = [child(lambda: (hold(90 * MB), ready(), time.sleep(600))) for _ in range(2)]
        mine = hold(120 * MB)
    say(held_bytes=300 * MB + base_bytes)
    hold_on(plateau_s, children)
    mine.close()


def spike(width_s: float) -> None:
    """One process that holds 300 MB for a moment."""
    time.sleep(0.25)
    block = hold(300 * MB)
    say(held_bytes=own_bytes())
    time.sleep(width_s)
    block.close()
    time.sleep(0.25)


def copy_on_write(plateau_s: float) -> None:
    """A parent that holds 200 MB, and four children that read it."""
    block = hold(200 * MB)
    with all_ready(4) as ready:
        children = [child(lambda: (read(block), ready(), time.sleep(600))) for _ in range(4)]
    say(held_bytes=own_bytes())
    hold_on(plateau_s, children)


def copied(plateau_s: float) -> None:
    """A parent that holds 100 MB, and two children that write to it: three copies in the end."""
    block = hold(100 * MB)
    with all_ready(2) as ready:
        children = [child(lambda: (time.sleep(0.4), write(block), ready(), time.sleep(600))) for _ in range(2)]
    say(held_bytes=own_bytes() + 200 * MB)
    hold_on(plateau_s, children)


def shared(plateau_s: float) -> None:
    """150 MB of shared memory in three processes."""
    block = hold(150 * MB, shared=True)
    with all_ready(2) as ready:
        children = [child(lambda: (read(block), ready(), time.sleep(600))) for _ in range(2)]
    say(held_bytes=own_bytes())
    hold_on(plateau_s, children)


def page_cache(path: str) -> None:
    """Write a file of 300 MB and read it again: page cache, which does not count as held."""
    with open(path, "wb") as file:
        for _ in range(300):
            file.write(b"x" * MB)
    with open(path, "rb") as file:
        while file.read(MB):
            pass
    say(held_bytes=own_bytes())
    time.sleep(0.3)


def burn(span_s: float) -> None:
    """Two processes that compute for this long."""

    def work() -> None:
        until_s = time.monotonic() + span_s
        while time.monotonic() < until_s:
            pass

    pid = child(work)
    work()
    wait_for([pid])
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    say(cpu_s=own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime)


def disk(plateau_s: float) -> None:
    """60 MB in files, one of them with a hard link, and a sparse file; half of it is deleted at the end."""
    for name in ("a", "b"):
        with open(name, "wb") as file:
            file.write(os.urandom(30 * MB))
    os.link("a", "a again")
    os.symlink("/usr", "elsewhere")
    with open("sparse", "wb") as file:
        file.truncate(1000 * MB)
    say(disk_bytes=60 * MB)
    time.sleep(plateau_s)
    os.unlink("b")


def daemon(pid_file: str, leader_waits_s: float, span_s: float, *manners: str) -> None:
    """A double-forked process in a session of its own that holds 100 MB and keeps no file of its parents open."""

    def detach() -> None:
        os.setsid()
        if os.fork():
            os._exit(0)
        if "deaf" in manners:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.closerange(0, 100)
        block = hold(100 * MB)
        with open(pid_file + ".new", "w") as file:
            file.write(str(os.getpid()))
        os.rename(pid_file + ".new", pid_file)
        if "anonymous" in manners:
            os.execve("/bin/sleep", ["sleep", str(span_s)], {})
        time.sleep(span_s)
        block.close()

    wait_for([child(detach)])
    while "wait" in manners and not os.path.exists(pid_file):
        time.sleep(0.005)
    say(held_bytes=100 * MB + own_bytes())
    time.sleep(leader_waits_s)


def grow(step_mb: int, pause_s: float, *manners: str) -> None:
    """Allocate more and more memory, up to 2 GB; `polite`: exits 0 on SIGTERM; `deaf`: ignores SIGTERM."""
    if "polite" in manners:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    if "deaf" in manners:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    blocks = []
    for _ in range(2000 // step_mb):
        blocks.append(hold(step_mb * MB))
        time.sleep(pause_s)


def lost_child(step_mb: int, pause_s: float) -> None:
    """A child that grows until it is killed, and a parent that ignores that."""
    wait_for([child(lambda: grow(step_mb, pause_s))])
    say(survived=1)


def fill(step_mb: int, pause_s: float, *manners: str) -> None:
    """Write more and more files, up to 500 MB."""
    if "polite" in manners:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    for number in range(500 // step_mb):
        with open(f"fill{number}", "wb") as file:
            file.write(b"x" * (step_mb * MB))
        time.sleep(pause_s)


LOADS = {
    load.__name__: load
    for load in (
        tree, spike, copy_on_write, copied, shared, page_cache, burn, disk, daemon, grow, lost_child, fill
    )
}  # fmt: skip


# Three generations of shells that sleep: a shell starts quickly, even on a slow machine.
ENDLESS = {
    "plain": "(sleep 600 & wait) & echo ready; sleep 600",
    "polite": "trap 'exit 0' TERM; (sleep 600 & wait) & echo ready; wait",
    "deaf": "trap '' TERM; (sleep 600 & wait) & echo ready; sleep 600",
}


def endless(manner: str = "plain") -> list[str]:
    """Return an endless command; `polite`: exits 0 on SIGTERM; `deaf`: ignores SIGTERM."""
    return ["sh", "-c", ENDLESS[manner]]


def command(load: Callable[..., None], *arguments: object) -> list[str]:
    """Return the command line of a load: Python isolated and without `site`, so that it stays small."""
    return [sys.executable, "-I", "-S", os.path.abspath(__file__), load.__name__, *map(str, arguments)]


def _number(text: str) -> float | int | str:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


# Running loads


def methods() -> list[str]:
    """Return every method of measuring that works on this machine."""
    from headway.workers.trees import detect_method

    return sorted({"polling", detect_method()[0]}, reverse=True)


class Bench:
    """Runs commands, each in a folder of its own below `directory`."""

    def __init__(self, trees: ProcessTrees, directory: str) -> None:
        self.trees = trees
        self.directory = directory
        self.count = 0

    async def run(self, argv: list[str], *, grace_s: float = 5.0, **limits: float) -> CommandEnd:
        """Run a command with these limits."""
        return await self.trees.run(self.spec(argv, grace_s=grace_s, **limits))

    def spec(self, argv: list[str], *, grace_s: float = 5.0, **limits: float) -> CommandSpec:
        from headway.model.resources import Resources
        from headway.workers.trees import CommandSpec
        from headway.workers.trees.end_note import expect_end

        self.count += 1
        os.makedirs(work := f"{self.directory}/{self.count}", exist_ok=True)
        expect_end(f"{self.directory}/{self.count}.end")
        return CommandSpec(
            key=f"{self.directory}/{self.count}",
            argv=argv,
            environment={},
            directory=work,
            stdout=f"{self.directory}/{self.count}.out",
            stderr=f"{self.directory}/{self.count}.err",
            limits=Resources.of(limits),
            measured_directory=work,
            grace_s=grace_s,
            end_file=f"{self.directory}/{self.count}.end",
        )

    def path(self, name: str) -> str:
        """Return the path of a file that belongs to no command."""
        return f"{self.directory}/{name}"

    def truth(self) -> dict[str, float]:
        """Return what the last command reported about itself."""
        with open(f"{self.directory}/{self.count}.out") as out:
            return json.loads(out.read())


def left_of(directory: str) -> list[int]:
    """Return the processes that a bench has left."""
    from headway.workers.trees.processes import all_pids, marker_of

    return [pid for pid in all_pids() if (marker_of(pid) or "").startswith(directory)]


def on_bench(method: str, directory: object, work: Callable[[Bench], Awaitable[Result]]) -> Result:
    """Run `work` with a bench, in an event loop of its own."""
    import asyncio

    from headway.workers.trees import ProcessTrees

    async def main() -> Result:
        trees = ProcessTrees(method=method)
        await trees.start()
        try:
            return await work(Bench(trees, str(directory)))
        finally:
            await trees.close()

    return asyncio.run(main())


# The table for docs/measurement.md

TABLE = [
    (tree, (0.5,)),
    (spike, (0.1,)),
    (copy_on_write, (0.5,)),
    (copied, (0.5,)),
    (shared, (0.5,)),
    (page_cache, ("file",)),
    (burn, (1.5,)),
    (disk, (1.0,)),
]
FIGURES = {"held_bytes": ("memory_bytes", MB, "MB"), "disk_bytes": ("disk_bytes", MB, "MB"), "cpu_s": ("cpu_s", 1, "s")}


async def measure_all(bench: Bench) -> dict[str, list[str]]:
    rows = {}
    for load, arguments in TABLE:
        end = await bench.run(command(load, *arguments))
        [(name, truth)] = bench.truth().items()
        field, scale, unit = FIGURES[name]
        figure = getattr(end.usage, field)
        off = (figure.value / truth - 1) * 100
        found = f"{figure.value / scale:.4g} ({off:+.1f} %, {figure.quality})"
        rows[load.__name__] = [field, f"{truth / scale:.4g} {unit}", found]
    return rows


async def measure_overhead(bench: Bench) -> str:
    """Measure the overhead of two thousand commands `true`, 16 at a time, each with limits and a directory."""
    import asyncio

    from headway.workers.trees.processes import children_lookup, read_process

    def own_cpu_s(pid: int) -> float:
        with open(f"/proc/{pid}/stat") as line:
            return sum(map(int, line.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    async def some() -> None:
        for _ in range(125):
            await bench.run(["true"], memory_bytes=100 * MB, walltime_s=60)

    [spawner] = children_lookup()(read_process(os.getpid()))
    pids, began_s = (os.getpid(), spawner), time.monotonic()
    before = [own_cpu_s(pid) for pid in pids]
    await asyncio.gather(*(some() for _ in range(16)))
    ours, spawners = (own_cpu_s(pid) - start for pid, start in zip(pids, before, strict=True))
    return f"{ours / 2:.2f} + {spawners / 2:.2f} ms CPU, {2000 / (time.monotonic() - began_s):.0f} commands/s"


def print_table() -> None:
    import tempfile
    from datetime import date

    columns = methods()
    results = {}
    overheads = []
    for method in columns:
        with tempfile.TemporaryDirectory() as directory:
            results[method] = on_bench(method, directory, measure_all)
        with tempfile.TemporaryDirectory() as directory:
            overheads.append(on_bench(method, directory, measure_overhead))
    print(f"Measured on {date.today()}, Linux {os.uname().release}.\n")
    print(f"| load | figure | truth | {' | '.join(columns)} |")
    print(f"|---|---|---|{'---|' * len(columns)}")
    for load, _ in TABLE:
        field, truth, _ = results[columns[0]][load.__name__]
        print(f"| {load.__name__} | {field} | {truth} | {' | '.join(results[m][load.__name__][2] for m in columns)} |")
    print(f"| `true` | supervisor + spawner, each | | {' | '.join(overheads)} |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        LOADS[sys.argv[1]](*map(_number, sys.argv[2:]))
        sys.stdout.flush()
        os._exit(0)  # exit at once: the end of the interpreter would use more than was reported
    else:
        print_table()
