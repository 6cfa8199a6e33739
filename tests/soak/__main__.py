"""Let a service and a dashboard work for long while runs beside them are killed, and see whether what they hold grows.

`make soak` does this for an hour. In each round 40 commands go through the service, a run of 60 tasks loses its manager
or its supervisor and goes on, and the dashboard is asked for its list, its metrics and its events. At the end no
process may be left, and neither service nor dashboard may hold more descriptors, threads, memory or children, beyond
what a service remembers of each command.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import structs

from tests.chaos.flow import Torment, undisturbed
from tests.cli.bench import Bench
from tests.dashboard.servers import Server, serving
from tests.serving.running import Service
from tests.soak.levels import FEWEST, Held, growth, held_by

COMMANDS = 40
WARM_UP = 2_400  # commands before the first look: until then a service learns, compiles, and remembers all of them
A_COMMAND_BYTES = 1_000  # what the figures of a run hold of each command; of one that fails, also why
AT_A_TIME = 4
MARK = "HEADWAY_SOAK"  # a variable in the environment of all processes of a soak


def main() -> int:
    """Soak, and return 1 if something grew, was left behind or went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    os.environ[MARK] = str(os.getpid())
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    try:
        looks, rounds, kills = soak(folder, asked.minutes * 60, random.Random(asked.seed))
        left = left_behind()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    bad = report(looks, left)
    print(f"{rounds} rounds, {rounds * COMMANDS:,} commands, {kills} kills: {bad or 'nothing grew, nothing is left'}")
    return 1 if bad else 0


def soak(folder: Path, duration_s: float, draw: random.Random) -> tuple[dict[str, list[Held]], int, int]:
    """Work until the time is over, and at least for as many rounds as say something; return what was held."""
    expected = undisturbed(folder / "undisturbed")
    service = Service(folder / "service")
    looks: dict[str, list[Held]] = {"service": [], "dashboard": []}
    rounds = kills = 0
    end = time.monotonic() + duration_s
    with serving(Bench(folder, folder / "home")) as dashboard:
        submit(service, WARM_UP)
        while time.monotonic() < end or rounds < FEWEST:
            submit(service, COMMANDS)
            kills += tormented(folder / "runs" / str(rounds), expected, draw)
            ask_all(dashboard)
            shutil.rmtree(folder / "runs" / str(rounds))
            held = held_by(service.process.pid)
            remembered = A_COMMAND_BYTES * COMMANDS * rounds
            looks["service"].append(structs.replace(held, memory_bytes=held.memory_bytes - remembered))
            looks["dashboard"].append(held_by(dashboard.process.pid))
            rounds += 1
    assert service.stop() == 1, "half of its commands failed, as they should"
    return looks, rounds, kills


def submit(service: Service, commands: int) -> None:
    """Let a service run so many commands, of which every second one fails."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        done = [pool.submit(service.exec, "--", "sh", "-c", f"exit {number % 2}") for number in range(commands)]
        assert [each.result()[0] for each in done] == [0, 1] * (commands // 2)


def tormented(place: Path, expected: dict[str, str], draw: random.Random) -> int:
    """Kill managers and supervisors of one run, up to three, and let it end; return how many died."""
    torment = Torment(place)
    killed = 0
    for _ in range(3):
        if draw.random() < 0.5:
            killed += torment.kill_after(draw.uniform(0.3, 1.0))
        else:
            manager = torment.launch()
            time.sleep(draw.uniform(0.3, 1.0))
            for pid in torment.supervisors():
                os.kill(pid, signal.SIGKILL)
                killed += 1
            manager.wait()
        if torment.finished():
            break
    if not torment.finished():
        torment.finish()
    torment.check(expected, once=False)
    return killed


def ask_all(dashboard: Server) -> None:
    """Ask for the list, the metrics and the stream of events, as a browser and a monitoring system do."""
    assert dashboard.ask("/").status == 200
    assert dashboard.ask("/metrics").status == 200
    assert dashboard.runs()


def left_behind() -> list[str]:
    """The processes of this soak that are still there, by their commands; those that are just ending are waited for."""
    deadline = time.monotonic() + 30
    while (left := ours()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left


def ours() -> list[str]:
    """The processes of this soak beside this one."""
    mark = f"{MARK}={os.getpid()}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if int(place.name) != os.getpid() and mark in (place / "environ").read_bytes().split(b"\0"):
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip())
        except OSError:
            continue
    return [command for command in found if command and "tests.forked" not in command]


def report(looks: dict[str, list[Held]], left: list[str]) -> str:
    """Print what was held, and say what is wrong."""
    wrong = [f"left behind: {command}" for command in left]
    for name, held in looks.items():
        first, last = held[len(held) // 4], held[-1]
        print(
            f"{name}: {first.descriptors} -> {last.descriptors} descriptors, "
            f"{first.threads} -> {last.threads} threads, "
            f"{first.memory_bytes / 1e6:.1f} -> {last.memory_bytes / 1e6:.1f} MB, {last.children} children"
        )
        wrong += [f"{name}: {what} grew from {low:g} to {high:g}" for what, (low, high) in growth(held).items()]
    return "; ".join(wrong)


if __name__ == "__main__":
    sys.exit(main())
