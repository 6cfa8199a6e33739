"""Tasks that span nodes (MPI): their command runs on the first one, and starts its processes on all through `srun`."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Sequence

_WITHIN_S = 60.0


def node_variables(uid: str, task: str, attempt: int, nodes: Sequence[str], cores: float) -> dict[str, str]:
    """What the command finds in its environment: its nodes, and what to write before a program to start it there.

    A process for each core, in a step of the job beside that of the supervisors (`--overlap`), with all memory. Cores
    are bound as the site has it, not as they were for the supervisor.
    """
    a_node = max(1, int(cores))
    words = [
        *("env", "--unset=SLURM_CPU_BIND", "srun", f"--job-name={_step(uid, task, attempt)}"),
        *(f"--nodes={len(nodes)}", f"--nodelist={','.join(nodes)}"),
        *(f"--ntasks={a_node * len(nodes)}", f"--ntasks-per-node={a_node}"),
        *("--overlap", "--mem=0", "--kill-on-bad-exit=1"),
    ]
    return {"HEADWAY_NODES": ",".join(nodes), "HEADWAY_LAUNCH": " ".join(words)}


def cancel_step(uid: str, task: str, attempt: int) -> None:
    """End what an attempt has left running on other nodes: its `srun` was killed with it."""
    _end(_step(uid, task, attempt))


def cancel_steps(uid: str) -> None:
    """The same for all attempts of a supervisor."""
    _end(_steps(uid))


def _end(beginning: str) -> None:
    """A controller that does not answer is not waited for: with the job they end as well."""
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        return
    asked = ["squeue", "--steps", "--noheader", f"--jobs={job}", "--format=%i %j"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        steps = subprocess.run(asked, capture_output=True, text=True, timeout=_WITHIN_S, check=True).stdout
        named = [line.partition(" ") for line in steps.splitlines()]
        left = [step for step, _, name in named if name.startswith(beginning)]
        if left:
            ended = ["scancel", "--signal=KILL", *left]
            subprocess.run(ended, capture_output=True, timeout=_WITHIN_S, check=True)


def _steps(uid: str) -> str:
    """How the names of a supervisor's steps begin: a step's name may not hold what a task's may."""
    return f"headway-{_digest(uid)}-"


def _step(uid: str, task: str, attempt: int) -> str:
    return _steps(uid) + _digest(f"{task}/{attempt}")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
