"""Tasks that span nodes (MPI): the command runs on the first node and starts processes on all nodes through `srun`."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

_WITHIN_S = 60.0
STEPS = "steps"  # in a supervisor's folder, which is its working directory: it has started a task that may leave steps


def node_variables(uid: str, task: str, attempt: int, nodes: Sequence[str], cores: float) -> dict[str, str]:
    """Return the environment variables of such a task: its nodes, and the `srun` command that starts a program there.

    `srun` starts one process for each core, in a step that shares the job's resources with the supervisors' step
    (`--overlap`). Cores are bound by the site's default, not by the supervisor's own binding.
    """
    Path(STEPS).touch(0o600)
    per_node = max(1, int(cores))
    words = [
        *("env", "--unset=SLURM_CPU_BIND", "srun", f"--job-name={_step(uid, task, attempt)}"),
        *(f"--nodes={len(nodes)}", f"--nodelist={','.join(nodes)}"),
        *(f"--ntasks={per_node * len(nodes)}", f"--ntasks-per-node={per_node}"),
        *("--overlap", "--mem=0", "--kill-on-bad-exit=1"),
    ]
    return {"HEADWAY_NODES": ",".join(nodes), "HEADWAY_LAUNCH": " ".join(words)}


def cancel_steps(uid: str, task: str | None = None, attempt: int = 0) -> None:
    """Cancel the steps of an attempt, whose killed `srun` leaves processes running on the other nodes; without a task
    the steps of all attempts of a supervisor. Failures are ignored: steps also end with their job.
    """
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        return
    squeue = ["squeue", "--steps", "--noheader", f"--jobs={job}", "--format=%i %j"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        steps = subprocess.run(squeue, capture_output=True, text=True, timeout=_WITHIN_S, check=True).stdout
        named = [line.partition(" ") for line in steps.splitlines()]
        found = [step for step, _, name in named if name.startswith(_step(uid, task, attempt))]
        if found:
            scancel = ["scancel", "--signal=KILL", *found]
            subprocess.run(scancel, capture_output=True, timeout=_WITHIN_S, check=True)


def _step(uid: str, task: str | None, attempt: int) -> str:
    """Return the name of an attempt's steps; without a task, the prefix of the names of all steps of a supervisor."""
    digests = [_digest(uid), _digest(f"{task}/{attempt}") if task is not None else ""]
    return "-".join(["headway", *digests])


def _digest(text: str) -> str:
    """Return a short hash: task names can hold any character."""
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
