"""A task of 30 minutes that checkpoints, on a Slurm with a fast clock whose jobs may run for 10 minutes."""

from __future__ import annotations

import os
import sys
import threading
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from headway.model.outcome import Ending
from headway.model.records import Launch, Submit, TaskEnded
from tests.slurm.configuration import Configuration, Partition
from tests.slurm.fast import FastSlurmLab
from tests.slurm.fast_flow import FastFlow

RUN_S, LIMIT_MIN, NOTICE_S = 1800.0, 10, 60.0
MACHINE = Configuration(nodes=2, partitions=(Partition("main", max_time_min=LIMIT_MIN),), priority="basic")
NAME = "others"
OTHERS, OTHERS_S = 4, 240.0  # jobs of others that wait at any time, and how long each runs

# Counts seconds of its own run time, from its checkpoint on; SIGUSR1 makes it write one and end. With a second argument
# an attempt goes on until it is told to save, unless that file was there when it began.
PROGRAM = """
import os, pathlib, signal, sys, time
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
state = pathlib.Path(os.environ["HEADWAY_KEEP"]) / "state"
done_s, began, needed_s = float(state.read_text()) if state.exists() else 0.0, time.monotonic(), float(sys.argv[1])
if sys.argv[2:] and not pathlib.Path(sys.argv[2]).exists():
    needed_s = float("inf")
while done_s + time.monotonic() - began < needed_s:
    if told:
        new = state.with_suffix(".new")
        new.write_text(str(done_s + time.monotonic() - began))
        new.rename(state)
        sys.exit(7)
    time.sleep(0.05)
pathlib.Path("result").write_text(os.environ["HEADWAY_TRY"])
"""
WORKFLOW = """
name: long
tasks:
  long:
    run: echo long >> "$EXECUTIONS"; {python} program.py {run_s} {until}
    inputs: [program.py]
    outputs: [result]
    notice: {notice_s:g}s
    resources: {{time: 30m, cores: 1, memory: 200 MB}}
"""


class Others:
    """Context manager that keeps so many whole-node jobs of others waiting, and cancels them on exit."""

    def __init__(self, lab: FastSlurmLab) -> None:
        self._lab = lab
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep_waiting, name="others' jobs")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        self._lab.run("scancel", f"--name={NAME}", check=False)

    def _keep_waiting(self) -> None:
        whose = ("--uid=nobody", "--gid=nogroup") if os.geteuid() == 0 else ()
        while not self._stop.wait(0.2):
            waiting = self._lab.run("squeue", "-h", "-n", NAME, "-t", "PD", "-o", "%i", check=False).stdout.split()
            for _ in range(OTHERS - len(waiting)):
                what = ("--exclusive", "--nodes=1", "--time=5", f"--job-name={NAME}")
                self._lab.submit(f"exec sleep {self._lab.real_s(OTHERS_S):.2f}", "--chdir=/", *whose, *what)


class Gap(NamedTuple):
    """Between two attempts, by Slurm's clock: the next job was submitted, the task left its job, and went on."""

    submitted_at: float
    left_at: float
    went_on_at: float

    @property
    def seconds(self) -> float:
        return self.went_on_at - self.left_at


def long_flow(
    lab: FastSlurmLab, parent: Path, run_s: float = RUN_S, until: Path | str = "", **environment: str
) -> FastFlow:
    """Return a flow of the long task alone; none of its attempts ends before a file `until` exists, if one is named."""
    text = WORKFLOW.format(python=sys.executable, run_s=lab.real_s(run_s), until=until, notice_s=NOTICE_S)
    flow = FastFlow(lab, parent, text, environment)
    (flow.directory / "program.py").write_text(PROGRAM)
    return flow


def gaps(flow: FastFlow) -> list[Gap]:
    """Return the gaps between the attempts of the long task."""
    records = flow.records()
    submitted = {record.tag: record.at for record in records if isinstance(record, Submit)}
    found = [record for record in records if isinstance(record, Launch | TaskEnded)]
    return [
        Gap(submitted[launch.tag], end.outcome.ended_at, launch.at)
        for end, launch in pairwise(found)
        if isinstance(end, TaskEnded) and isinstance(launch, Launch) and end.outcome.ending is Ending.SAVED
    ]
