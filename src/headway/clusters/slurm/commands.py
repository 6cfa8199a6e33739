"""Slurm's commands: run as argument lists with a time-out, counted, and asked at a limited rate.

A failure is reported, never interpreted.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

_log = logging.getLogger(__name__)

# Variables that change what Slurm's commands do or print. A Headway that itself runs in a job has many of them.
_MEDDLING = ("SLURM_", "SBATCH_", "SQUEUE_", "SACCT_", "SINFO_", "SCANCEL_", "SRUN_", "SALLOC_", "SPRIO_", "SCONTROL_")
_NEEDED = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS")  # how to reach the controller
_ALL = ("sbatch", "squeue", "scancel", "sinfo", "scontrol", "srun")  # sacct and sacctmgr are not needed everywhere

_LONGEST_BACK_OFF = 12  # times the first
Found = TypeVar("Found")


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

    def __init__(self, timeout_s: float = 30.0, clusters: str | None = None) -> None:
        self._timeout_s = timeout_s
        # Not for `act`: jobs inherit its environment, and their own commands must ask the cluster that they run on.
        self._cluster = {"SLURM_CLUSTERS": clusters} if clusters else {}
        self._lock = threading.Lock()
        self.calls: Counter[str] = Counter()

    def read(self, *argv: str) -> Answer:
        """Run a query; a NoAnswerError if it gives no answer."""
        return self._run(argv, self._for_reading())

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

    def ask_all(self, *argv: str, questions: Sequence[str]) -> list[str | None]:
        """Return what a command such as sacctmgr answers to several questions, which it reads from its input.

        This is one call, and one connection. A command that does not answer like that is called for each question.
        """
        try:
            answer = self._run(argv, self._for_reading(), "".join(f"{question}\n" for question in questions))
        except NoAnswerError:
            return [None for _ in questions]
        _, *answers = answer.text.split(f"{argv[0]}: ")  # its prompt; some builds repeat the question after it
        if len(answers) <= len(questions):  # the prompt after the last answer is missing
            return [self.ask(*argv, *question.split()) for question in questions]
        if answer.code != 0:
            _log.info("%s failed with code %d: %s", argv[0], answer.code, answer.complaint)
            return [None for _ in questions]
        return [found.removeprefix(f"{asked}\n") for found, asked in zip(answers, questions, strict=False)]

    def _for_reading(self) -> dict[str, str]:
        return clean_environment(os.environ, for_reading=True) | self._cluster

    def _run(self, argv: Sequence[str], environment: Mapping[str, str], text: str | None = None) -> Answer:
        with self._lock:
            self.calls[argv[0]] += 1
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,  # Ctrl-C must not end a submission; a wrapper ends with its children
                umask=0o077,  # Slurm creates a job's log with it
            )
        except (OSError, ValueError) as error:
            raise NoAnswerError(f"{argv[0]} cannot be started: {error}") from error
        try:
            output, complaint = process.communicate(None if text is None else text.encode(), timeout=self._timeout_s)
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


class Paced(Generic[Found]):
    """Asks a question at most once in an interval, and less often after failures; meanwhile the last answer counts.

    `interval_s` may be a function: how long an answer is good enough can change while it ages.
    """

    def __init__(
        self, question: Callable[[], Found | None], interval_s: float | Callable[[], float], retry_s: float
    ) -> None:
        self._question = question
        self._interval_s = interval_s if callable(interval_s) else lambda: interval_s
        self._retry_s = retry_s
        self._lock = threading.Lock()
        self._last: Found | None = None
        self._asked_at = -math.inf
        self._failures = 0

    def answer(self, *, now: bool = False) -> Found | None:
        """Return the last answer, or a new one if that is due or wanted `now`; None if there was none yet."""
        with self._lock:
            if now or time.monotonic() >= self._asked_at + self._good_for_s():
                found = self._question()
                self._failures = 0 if found is not None else min(self._failures + 1, 10)
                self._asked_at = time.monotonic()
                if found is not None:
                    self._last = found
                else:
                    next_s = self._good_for_s()
                    _log.info("no answer from Slurm (failure %d), next try in %g s", self._failures, next_s)
            return self._last

    @property
    def last(self) -> Found | None:
        """The last answer, however old; None if there was none yet."""
        return self._last

    def expire(self) -> None:
        """Ask again at the next question: the last answer is known to be wrong."""
        with self._lock:
            self._asked_at = -math.inf

    def _good_for_s(self) -> float:
        """How long after the last question the next one is due."""
        if self._failures:
            return self._retry_s * min(2.0**self._failures, _LONGEST_BACK_OFF)
        return self._interval_s()

    @property
    def silent(self) -> bool:
        """Whether there was never an answer."""
        return self._last is None
