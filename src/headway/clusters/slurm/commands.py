"""Slurm's commands: run as argument lists with a time-out, and counted. What went wrong is told, never guessed."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Variables that change what Slurm's commands do or print. A Headway that itself runs in a job has many of them.
_MEDDLING = ("SLURM_", "SBATCH_", "SQUEUE_", "SACCT_", "SINFO_", "SCANCEL_", "SRUN_", "SALLOC_", "SPRIO_", "SCONTROL_")
_NEEDED = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS")  # how to reach the controller
_ALL = ("sbatch", "squeue", "scancel", "sinfo", "scontrol", "srun")  # sacct and sacctmgr are not needed everywhere


def why_no_login_node() -> str:
    """Why this machine is no login node of a Slurm cluster, in words; nothing if it is one."""
    missing = [name for name in _ALL if shutil.which(name) is None]
    return f"there is no {', '.join(missing)} here: this is no login node of a Slurm cluster" if missing else ""


class Answer(NamedTuple):
    """What a command said."""

    code: int
    output: bytes
    complaint: str

    @property
    def text(self) -> str:
        """The output, whatever encoding names in it are in."""
        return self.output.decode("utf-8", errors="replace")


class NoAnswerError(Exception):
    """A command did not end in time, or could not be started: nobody knows what it did."""


def clean_environment(environment: Mapping[str, str], *, for_reading: bool) -> dict[str, str]:
    """The user's environment without what meddles with Slurm's commands; for reading with times in seconds."""
    kept = {name: value for name, value in environment.items() if name in _NEEDED or not name.startswith(_MEDDLING)}
    return kept | {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"} if for_reading else kept


class Commands:
    """Runs Slurm's commands; found by the search path, which may lead to a site's own wrappers."""

    def __init__(self, timeout_s: float = 30.0) -> None:
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self.calls: Counter[str] = Counter()

    def read(self, *argv: str) -> Answer:
        """Ask something; a NoAnswerError if nothing came back."""
        return self._run(argv, clean_environment(os.environ, for_reading=True))

    def act(self, *argv: str) -> Answer:
        """Let something be done. Jobs inherit this environment. A NoAnswerError does not mean that it was not done."""
        return self._run(argv, clean_environment(os.environ, for_reading=False))

    def ask(self, *argv: str) -> str | None:
        """What a query printed, or None if it failed, or was cut off before the end of a line."""
        try:
            answer = self.read(*argv)
        except NoAnswerError:
            return None
        is_whole = not answer.output or answer.output.endswith(b"\n")
        return answer.text if answer.code == 0 and is_whole else None

    def _run(self, argv: Sequence[str], environment: Mapping[str, str]) -> Answer:
        with self._lock:
            self.calls[argv[0]] += 1
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,  # Ctrl-C must not end a submission; a wrapper ends with its children
                umask=0o077,  # Slurm creates a job's log with it
            )
        except (OSError, ValueError) as error:
            raise NoAnswerError(f"{argv[0]} cannot be started: {error}") from error
        try:
            output, complaint = process.communicate(timeout=self._timeout_s)
        except subprocess.TimeoutExpired:
            raise NoAnswerError(f"{argv[0]} gave no answer within {self._timeout_s:g} s") from None
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return Answer(process.returncode, output, complaint.decode("utf-8", errors="replace").strip())
