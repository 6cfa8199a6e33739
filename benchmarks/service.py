"""Commands through a service: `xargs -P 50 headway-exec -- true` against `xargs -P 50 true`, in the same run.

What a command takes beyond its own time is the difference, with every command measured, limited and journalled. One
connection for all commands, as plugins of other tools have, shows the service without the start of clients.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measure import timed
from benchmarks.throughput import len_of_machine
from headway.serving import client

AT_ONCE = 50
GOAL_MS = 5.0
QUICK = Path(client.__file__).with_name("headway-exec")
# Clients that take longer need not do it ten thousand times.
AT_MOST = {"headway exec": 2_000}

Contender = Callable[[Path, int], float]


def through_xargs(*client: str) -> Contender:
    """Return what times commands that xargs starts through a client."""

    def run(directory: Path, commands: int) -> float:
        script = f"seq {commands} | xargs -P {AT_ONCE} -I{{}} {' '.join([*client, 'true'])}"
        return timed(["sh", "-c", script], directory).wall_s

    return run


def one_connection(directory: Path, commands: int) -> float:
    """Time commands that one client submits."""
    began = time.perf_counter()
    with socket.socket(socket.AF_UNIX) as connection, chdir(directory):
        connection.connect(".headway/service")
        lines = connection.makefile("rb")
        request = {
            "do": "submit",
            "argv": ["true"],
            "category": "true",
            "hints": dict(zip(NAMES, AMOUNTS, strict=True)),
        }
        line = json.dumps(request).encode() + b"\n"
        connection.sendall(b'{"do":"hello","version":1}\n' + line * AT_ONCE)
        submitted, ended = AT_ONCE, 0
        while ended < commands:
            if b'"event":"ended"' in lines.readline():
                ended += 1
                if submitted < commands:
                    submitted += 1
                    connection.sendall(line)
    return time.perf_counter() - began


NAMES = ("cores", "memory_bytes")
AMOUNTS = (len_of_machine() / AT_ONCE, 50e6)
OPTIONS = ("--category", "true", "--cores", f"{AMOUNTS[0]:g}", "--memory", "50MB", "--")
CONTENDERS: dict[str, Contender] = {
    f"xargs -P {AT_ONCE}": through_xargs(),
    "one connection": one_connection,
    "headway-exec": through_xargs(str(QUICK), *OPTIONS),
    "headway exec": through_xargs(sys.executable, "-m", "headway", "exec", *OPTIONS),
}


def main(commands: int = 10_000) -> None:
    """Print the comparison."""
    console = Console()
    table = Table(title=f"{commands:,} commands `true`, {AT_ONCE} at a time, on {len_of_machine()} cores")
    for heading in ("", "wall", "ms a command", "beyond its own time", "against xargs"):
        table.add_column(heading, justify="left" if not heading else "right")
    each_ms: dict[str, float] = {}
    for name, contender in CONTENDERS.items():
        count = min(commands, AT_MOST.get(name, commands))
        with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
            served = serve(Path(directory)) if each_ms else None
            wall_s = contender(Path(directory), count)
            if served is not None:
                subprocess.run([sys.executable, "-m", "headway", "service", "--stop"], cwd=directory, check=True)
                served.wait()
        each_ms[name] = wall_s / count * 1e3
        own_ms = each_ms[f"xargs -P {AT_ONCE}"]
        beyond, ratio = f"{each_ms[name] - own_ms:.2f} ms", f"{each_ms[name] / own_ms:.1f}"
        table.add_row(name, f"{wall_s:.1f} s", f"{each_ms[name]:.2f}", beyond, ratio)
        console.print(f"  {name}: {each_ms[name]:.2f} ms a command, {count:,} commands", style="dim")
    console.print(table)
    console.print(f"goal: at most {GOAL_MS:g} ms a command beyond its own time through headway-exec")


def serve(directory: Path) -> subprocess.Popen[bytes]:
    """Start a service and wait until it serves."""
    argv = [sys.executable, "-m", "headway", "service", "-q", "--sizer", "user"]
    service = subprocess.Popen(argv, cwd=directory, env=os.environ | {"HEADWAY_HISTORY": "none"})
    while not (directory / ".headway" / "service").exists():
        if service.poll() is not None:
            raise SystemExit("the service did not start")
        time.sleep(0.05)
    return service


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
