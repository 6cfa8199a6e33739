"""Slurm's commands: run as argument lists with a time-out, and counted. A failure is reported, never interpreted."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_log = logging.getLogger(__name__)

# Variables that change what Slurm's commands do or print. A Headway that itself runs in a job has many of them.
_MEDDLING = ("SLURM_", "SBATCH_", "SQUEUE_", "SACCT_", "SINFO_", "SCANCEL_", "SRUN_", "SALLOC_", "SPRIO_", "SCONTROL_")
_NEEDED = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS")  # how to reach the controller
_ALL = ("sbatch", "squeue", "scancel", "sinfo", "scontrol", "srun")  # sacct and sacctmgr are not needed everywhere


def why_no_login_node() -> str:
    """Say why this machine is no login node of a Slurm cluster; nothing if it is one."""
    missing = [name for name in _ALL if shutil.which(name) is None]
    return f"there is no {', '.join(missing)} here: this is no login node of a Slurm cluster" if missing else ""


class Answer(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    output: bytes
    complaint: str

    @property
    def text(self) -> str:
        """The output as text, whatever its encoding."""
        return self.output.decode("utf-8", errors="replace")


class NoAnswerError(Exception):
    """A command did not end in time, or could not be started: it may or may not have done its work."""


def clean_environment(environment: Mapping[str, str], *, for_reading: bool) -> dict[str, str]:
    """The user's environment without variables that change Slurm's commands; for reading, with times in seconds."""
    kept = {name: value for name, value in environment.items() if name in _NEEDED or not name.startswith(_MEDDLING)}
    return kept | {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"} if for_reading else kept


class Commands:
    """Runs Slurm's commands; found by the search path, which may lead to a site's own wrappers."""

    def __init__(self, timeout_s: float = 30.0) -> None:
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self.calls: Counter[str] = Counter()

    def read(self, *argv: str) -> Answer:
        """Run a query; a NoAnswerError if it gives no answer."""
        return self._run(argv, clean_environment(os.environ, for_reading=True))

    def act(self, *argv: str) -> Answer:
        """Run a command that changes something, with the environment that jobs inherit."""
        return self._run(argv, clean_environment(os.environ, for_reading=False))

    def ask(self, *argv: str) -> str | None:
        """Return what a query printed; None if it failed, or its output was cut off in the middle of a line."""
        try:
            answer = self.read(*argv)
        except NoAnswerError:
            return None
        is_whole = not answer.output or answer.output.endswith(b"\n")
        if answer.code != 0 or not is_whole:
            _log.info("%s failed with code %d: %s", argv[0], answer.code, answer.complaint)
            return None
        return answer.text

    def _run(self, argv: Sequence[str], environment: Mapping[str, str]) -> Answer:
        with self._lock:
            self.calls[argv[0]] += 1
        began = time.monotonic()
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
            _log.info("%s gave no answer within %g s", argv[0], self._timeout_s)
            raise NoAnswerError(f"{argv[0]} gave no answer within {self._timeout_s:g} s") from None
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        _log.debug("%s ended with code %d after %.2f s", argv, process.returncode, time.monotonic() - began)
        return Answer(process.returncode, output, complaint.decode("utf-8", errors="replace").strip())
