"""Tasks that span nodes (MPI): the command runs on the first node and starts processes on all nodes through `srun`."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Sequence

_WITHIN_S = 60.0


def node_variables(uid: str, task: str, attempt: int, nodes: Sequence[str], cores: float) -> dict[str, str]:
    """Return the environment variables of such a task: its nodes, and the `srun` command that starts a program there.

    `srun` starts one process for each core, in a step that shares the job's resources with the supervisors' step
    (`--overlap`). Cores are bound by the site's default, not by the supervisor's own binding.
    """
    per_node = max(1, int(cores))
    words = [
        *("env", "--unset=SLURM_CPU_BIND", "srun", f"--job-name={_step(uid, task, attempt)}"),
        *(f"--nodes={len(nodes)}", f"--nodelist={','.join(nodes)}"),
        *(f"--ntasks={per_node * len(nodes)}", f"--ntasks-per-node={per_node}"),
        *("--overlap", "--mem=0", "--kill-on-bad-exit=1"),
    ]
    return {"HEADWAY_NODES": ",".join(nodes), "HEADWAY_LAUNCH": " ".join(words)}


def cancel_step(uid: str, task: str, attempt: int) -> None:
    """Cancel the steps of an attempt, whose killed `srun` leaves processes running on the other nodes."""
    _cancel(_step(uid, task, attempt))


def cancel_steps(uid: str) -> None:
    """Cancel the steps of all attempts of a supervisor."""
    _cancel(_steps(uid))


def _cancel(prefix: str) -> None:
    """Cancel this job's steps whose names have this prefix. Failures are ignored: steps also end with their job."""
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        return
    squeue = ["squeue", "--steps", "--noheader", f"--jobs={job}", "--format=%i %j"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        steps = subprocess.run(squeue, capture_output=True, text=True, timeout=_WITHIN_S, check=True).stdout
        named = [line.partition(" ") for line in steps.splitlines()]
        found = [step for step, _, name in named if name.startswith(prefix)]
        if found:
            scancel = ["scancel", "--signal=KILL", *found]
            subprocess.run(scancel, capture_output=True, timeout=_WITHIN_S, check=True)


def _steps(uid: str) -> str:
    """Return the prefix of the names of a supervisor's steps. Hashes, since task names can hold any character."""
    return f"headway-{_digest(uid)}-"


def _step(uid: str, task: str, attempt: int) -> str:
    return _steps(uid) + _digest(f"{task}/{attempt}")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
