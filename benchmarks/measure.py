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
    cpu_s: float  # of the process and of the children that it waited for
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
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{argv} failed:\n{(directory / 'output').read_text()[-3000:]}")
    return Timed(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
