"""Time one command: wall time, CPU time and peak memory of its process."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Timed:
    """What a command used."""

    wall_s: float
    cpu_s: float  # of the process alone: a manager waits for its supervisor, and that for all commands
    peak_bytes: int


def timed(argv: Sequence[str | Path], directory: Path, **environment: str) -> Timed:
    """Run a command to its end. Exits if the command fails."""
    with (directory / "output").open("wb") as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            argv,
            cwd=directory,
            env=os.environ | {"HEADWAY_HISTORY": "none"} | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        wall_s = time.perf_counter() - began
        words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        cpu_s = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{argv} failed:\n{(directory / 'output').read_text()[-3000:]}")
    return Timed(wall_s, cpu_s, usage.ru_maxrss * 1024)


def peak_bytes(pid: int) -> int:
    """The most memory that a process has had until now; `getrusage` would count its parent's, from before it began."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
