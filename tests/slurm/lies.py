"""A Slurm that lies: commands put in front of the real ones that fail, hang, forget and contradict themselves.

What each lie does, and to which commands:

- hangs: nothing happens and no answer comes, for longer than anybody waits (all)
- hangs-after-acting: it is done, but no answer comes (all)
- errors: the controller cannot be reached, it says, and nothing was done (all)
- garbage: it is done, but the answer is noise, a banner, or cut off; the exit code is 0 (all)
- accepted-but-reported-failed: it is done, but the exit code is 1 and nothing is said (sbatch, scancel)
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
    """One call that a client made, and whether it was lied to."""

    at: float
    command: str
    number: int
    arguments: list[str]
    lie: str | None


@dataclass(frozen=True)
class Liar:
    """A lab's clients, as somebody sees them who is lied to."""

    lab: SlurmLab
    folder: Path

    def environment(self) -> dict[str, str]:
        """The lab's environment with the lying commands first in PATH."""
        honest = self.lab.environment()
        return {**honest, "PATH": os.pathsep.join([f"{self.folder}/bin", honest["PATH"]])}

    def calls(self, command: str | None = None) -> list[Call]:
        """All calls so far, or those of one command."""
        log = self.folder / "calls.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        every = [Call(**json.loads(line)) for line in lines]
        return [call for call in every if command in (None, call.command)]

    def wait_for_late_jobs(self) -> list[int]:
        """Wait until everything that was to be submitted late has been; the ids of the jobs."""
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
    """Let a lab's commands lie in a share of their calls; its own `lab.run` still hears the truth.

    `hang_s` is how long a hanging command hangs, `late_s` how late a job is submitted, and `calls_in_a_row` for how
    many calls of a command a job stays forgotten.
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
        "environment": {"SLURM_CONF": lab.environment()["SLURM_CONF"]},  # for clients that take SLURM_* away
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
