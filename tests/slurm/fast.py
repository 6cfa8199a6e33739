"""A test's Slurm with a clock that runs faster (Debian's faketime): hours of queueing in minutes.

Fast time applies to the daemons, to the clients that print times, and to `date`, which writes the time stamps of
Headway's jobs. Machine time applies to slurmdbd, sbatch, srun, scancel, the jobs and the test itself, because Python's
`time.sleep` fails under faketime. A job that should take an hour by Slurm's clock must therefore sleep for
`lab.real_s(3600)`, and a test must compare Slurm's times with `lab.now()`. `FastFlow` runs a manager in fast time.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

from tests.slurm.configuration import Configuration
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until

SHOWING_TIMES = ("squeue", "sinfo", "scontrol", "sacct", "sprio", "date")
CLOCK = ("LD_PRELOAD", "FAKETIME", "FAKETIME_SHARED")


class FastSlurmLab(SlurmLab):
    """A Slurm whose clock equals the machine's at its start and then runs `speed` times as fast."""

    def __init__(self, speed: int, configuration: Configuration | None = None) -> None:
        if speed < 2:
            raise ValueError("a fast clock runs at least twice as fast as the machine's")
        super().__init__(dataclasses.replace(configuration or Configuration(), speed=speed))
        self._clock: dict[str, str] = {}
        self._keeper: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0

    def start(self) -> None:
        self._start_clock()
        self._write_clients()
        super().start()

    def stop(self) -> None:
        super().stop()
        if self._keeper is not None:
            self._keeper.stdin.close()  # type: ignore[union-attr]
            self._keeper.wait(timeout=120)
            for name in (f"faketime_shm_{self._keeper.pid}", f"sem.faketime_sem_{self._keeper.pid}"):
                Path("/dev/shm", name).unlink(missing_ok=True)  # faketime leaves them
            self._keeper = None

    def environment(self) -> dict[str, str]:
        honest = super().environment()
        return {**honest, "PATH": os.pathsep.join([f"{self.root}/bin", honest["PATH"]])}

    def daemon_environment(self) -> dict[str, str]:
        return self._clock

    def now(self) -> float:
        return self._started_at + (time.time() - self._started_at) * self.configuration.speed

    def clock(self) -> dict[str, float]:
        """Return the machine time at which fast time started, and its speed."""
        return {"started_at": self._started_at, "speed": self.configuration.speed}

    def _start_clock(self) -> None:
        """Start one fast clock that all processes share.

        faketime keeps the clock while its command runs. The command here ends with `cat`, which runs until its input is
        closed. It ends at once where one with the same process number was killed before, and left its semaphore.
        """
        file = self.root / "clock"
        tell = f"env -0 > {file}.new; mv {file}.new {file}; cat"
        for _ in range(5):
            keeper = self._keeper = subprocess.Popen(
                ["faketime", "-f", f"+0 x{self.configuration.speed}", "sh", "-c", tell],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            wait_until(lambda keeper=keeper: file.exists() or keeper.poll() is not None, "faketime to start")
            if file.exists():
                break
        assert file.exists(), "faketime does not start"
        variables = dict(line.split("=", 1) for line in file.read_text().split("\0") if "=" in line)
        self._clock = {name: variables[name] for name in CLOCK}
        self._started_at = min(self._look_at_clock() for _ in range(5))[1]

    def _look_at_clock(self) -> tuple[float, float]:
        """Compute the start of fast time from one reading of the clock; return the possible error and the start."""
        before = time.time()
        shown = subprocess.run(
            ["date", "+%s.%N"], env={**os.environ, **self._clock}, capture_output=True, check=True, timeout=120
        )
        after = time.time()
        speed = self.configuration.speed
        return after - before, (speed * (before + after) / 2 - float(shown.stdout)) / (speed - 1)

    def _write_clients(self) -> None:
        folder = self.root / "bin"
        folder.mkdir()
        for command in SHOWING_TIMES:
            found = shutil.which(command)
            assert found, f"{command} is not installed: run tests/packages.sh"
            variables = [f"{name}={value}" for name, value in self._clock.items()]
            script = folder / command
            script.write_text(f'#!/bin/sh\nexec {shlex.join(["env", *variables, found])} "$@"\n')
            script.chmod(0o755)
