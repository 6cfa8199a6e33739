"""A Slurm that lies: wrappers around the real commands that fail, hang, forget and contradict themselves.

What each lie does, and to which commands:

- hangs: the command does nothing and hangs for longer than any caller waits (all)
- hangs-after-acting: the command acts, then hangs without an answer (all)
- errors: the command does nothing and reports that the controller cannot be reached (all)
- garbage: the command acts, but prints noise, a banner or truncated output; the exit code is 0 (all)
- accepted-but-reported-failed: the command acts, but exits with code 1 and prints nothing (sbatch, scancel)
- accepted-late: sbatch reports an error now, and the job is submitted seconds later
- forgotten-jobs: squeue, sacct and scontrol leave out jobs, each for some calls in a row
- duplicate-states: squeue, sacct and scontrol show each job twice, also in an earlier state
- out-of-order-states: squeue, sacct and scontrol show jobs as they were some calls before
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.slurm.lab import SlurmLab
from tests.slurm.processes import is_alive, wait_until

COMMANDS = ("sbatch", "squeue", "sacct", "scancel", "sinfo", "scontrol")
_LOOKING = ("squeue", "sacct", "scontrol")
LIED_ABOUT: dict[str, tuple[str, ...]] = {
    "hangs": COMMANDS,
    "hangs-after-acting": COMMANDS,
    "errors": COMMANDS,
    "garbage": COMMANDS,
    "accepted-but-reported-failed": ("sbatch", "scancel"),
    "accepted-late": ("sbatch",),
    "forgotten-jobs": _LOOKING,
    "duplicate-states": _LOOKING,
    "out-of-order-states": _LOOKING,
}
LIES = tuple(LIED_ABOUT)


@dataclass(frozen=True)
class Call:
    """One call by a client, and the lie it was told, if any."""

    at: float
    command: str
    number: int
    arguments: list[str]
    lie: str | None


@dataclass(frozen=True)
class Liar:
    """A lab's commands with wrappers that lie."""

    lab: SlurmLab
    folder: Path

    def environment(self) -> dict[str, str]:
        """The lab's environment with the lying commands first in PATH."""
        honest = self.lab.environment()
        return {**honest, "PATH": os.pathsep.join([f"{self.folder}/bin", honest["PATH"]])}

    def calls(self, command: str | None = None) -> list[Call]:
        """Return all calls so far, or only those of one command."""
        log = self.folder / "calls.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        every = [Call(**json.loads(line)) for line in lines]
        return [call for call in every if command in (None, call.command)]

    def wait_for_late_jobs(self) -> list[int]:
        """Wait for all late submissions and return their job ids."""
        late = [file.parent for file in (self.folder / "late").glob("*/pid")]
        pids = [int((one / "pid").read_text()) for one in late]
        wait_until(lambda: not any(map(is_alive, pids)), "late submissions")
        answers = [(one / "answer").read_text().strip().rpartition(" ")[2].partition(";")[0] for one in late]
        return sorted(int(answer) for answer in answers if answer.isdigit())


def lying(
    lab: SlurmLab,
    lie: str,
    rate: float,
    seed: int,
    *,
    hang_s: float = 600.0,
    late_s: float = 3.0,
    calls_in_a_row: int = 3,
) -> Liar:
    """Make a lab's commands lie in a share `rate` of their calls; `lab.run` still uses the real commands.

    `hang_s` is how long a command hangs, `late_s` is the delay of a late submission, and `calls_in_a_row` is the
    number of consecutive calls that leave out a forgotten job.
    """
    folder = Path(tempfile.mkdtemp(prefix="lies-", dir=lab.root))
    path = lab.environment()["PATH"]
    plan = {
        "lie": lie,
        "rate": rate,
        "seed": seed,
        "folder": str(folder),
        "lied_about": LIED_ABOUT[lie],
        "commands": {command: shutil.which(command, path=path) for command in COMMANDS},
        "environment": {"SLURM_CONF": lab.environment()["SLURM_CONF"]},  # for clients that remove SLURM_*
        "hang_s": hang_s,
        "late_s": late_s,
        "calls_in_a_row": calls_in_a_row,
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "bin").mkdir()
    for command in COMMANDS:
        wrapper = folder / "bin" / command
        argv = [sys.executable, "-IS", str(Path(__file__).with_name("liar.py")), f"{folder}/plan.json", command]
        wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(argv)} "$@"\n')
        wrapper.chmod(0o755)
    return Liar(lab, folder)
