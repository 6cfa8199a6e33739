"""Jobs as squeue shows them: the user's own in one call, and all users' for the plan of the queue."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.hostlist import expand
from headway.model.errors import InputError
from headway.model.job import JobPhase
from headway.model.limits import MOST_AT_S, MOST_BYTES, MOST_COUNT
from headway.model.units import parse_duration

_EXIT = re.compile(r"(\d{1,3}):(\d{1,3})", re.ASCII)
_GPUS = re.compile(r"\bgres/gpu=(\d{1,6})\b", re.ASCII)
_MEMORY = re.compile(r"\bmem=(\d{1,12}(?:\.\d+)?)([KMGTP]?)", re.ASCII)
_MOST_DIGITS = 20
_LIVE = "PENDING,CONFIGURING,RUNNING,SUSPENDED,COMPLETING,STOPPED,SIGNALING,STAGE_OUT,RESIZING"

_PHASES = {
    JobPhase.PENDING: (
        "PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD",
    ),
    JobPhase.RUNNING: ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"),
    JobPhase.ENDED: (
        "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "DEADLINE", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL",
        "PREEMPTED", "REVOKED",
    ),
}  # fmt: skip
_BY_STATE = {state: phase for phase, states in _PHASES.items() for state in states}


class Exit(Struct, frozen=True, array_like=True):
    """How something ended: `code:signal`, as Slurm writes it."""

    code: int = 0
    signal: int = 0


class SeenJob(Struct, frozen=True, gc=False):
    """A job as squeue or sacct shows it. Times are seconds since the epoch."""

    job_id: int
    state: str
    user: int = -1
    reason: str = ""
    submitted_at: float | None = None
    started_at: float | None = None  # of a waiting job: when Slurm plans to start it
    ended_at: float | None = None
    limit_s: float | None = None  # None: no limit
    nodes: int = 1
    cpus: int = 1
    node_names: tuple[str, ...] = ()
    priority: int = 0
    partition: str = ""
    exit: Exit = Exit()
    derived_exit: Exit = Exit()  # the worst end of any of its steps
    restarts: int = 0
    alone: bool = False  # whether it does not share its nodes
    memory_bytes: int = 0  # on all its nodes together: what it has or asks for
    gpus: int = 0  # the same
    name: str = ""
    directory: str = ""
    cancelled_by: str = ""  # a user id, where accounting is kept

    @property
    def phase(self) -> JobPhase:
        """The phase of a job in its state; an unknown state does not count as ended."""
        return _BY_STATE.get(self.state, JobPhase.UNKNOWN)

    @property
    def is_live(self) -> bool:
        """Whether it waits or runs."""
        return self.phase in (JobPhase.PENDING, JobPhase.RUNNING)


class Look(Struct, frozen=True):
    """The user's own jobs; `at` is when squeue was called."""

    at: float
    by_name: dict[str, list[SeenJob]]

    def live(self) -> int:
        """Count the jobs that wait or run."""
        return sum(job.is_live for jobs in self.by_name.values() for job in jobs)


def own_jobs(commands: Commands, user: int) -> Look | None:
    """Read the jobs of a user, also those that ended lately; None if squeue does not answer."""
    at = time.time()
    text = commands.ask("squeue", "--noheader", "--states=all", f"--user={user}", f"--Format={_FORMAT}")
    jobs = None if text is None else jobs_of(text)
    if jobs is None:
        return None
    by_name: dict[str, list[SeenJob]] = {}
    for job in jobs:
        if job.user == user:  # some versions ignore --user
            by_name.setdefault(job.name, []).append(job)
    return Look(at, by_name)


def everybody(commands: Commands) -> list[SeenJob] | None:
    """Read all users' jobs that wait or run, as far as the site shows them; None if squeue does not answer."""
    form = f"--Format={_FORMAT_OF_OTHERS}"
    text = commands.ask("squeue", "--noheader", "--all", "--array", f"--states={_LIVE}", form)
    return None if text is None else jobs_of(text)


def jobs_of(text: str) -> list[SeenJob] | None:
    """Parse output in one of our two formats; None if it is something else."""
    *lines, rest = text.split(f"{_END}\n")
    try:
        return None if rest else [_job(line) for line in lines]
    except (ValueError, InputError):
        return None


def _job(line: str) -> SeenJob:
    *cells, rest = line.split("|", len(_COLUMNS))
    directory, _, name = rest.rpartition("|")  # names of our own jobs contain no |
    fields = parsed(_COLUMNS, cells)
    amounts = fields.pop(_AMOUNTS)
    return SeenJob(**fields, memory_bytes=_memory_of(amounts), gpus=_gpus_of(amounts), name=name, directory=directory)


Columns = Mapping[str, tuple[str, Callable[[str], Any]]]  # by Slurm's name: a field of SeenJob, and how it is parsed


def parsed(columns: Columns, cells: list[str]) -> dict[str, Any]:
    """Parse the cells of these columns to fields of SeenJob; a ValueError if that is not possible."""
    return {name: parse(cell) for (name, parse), cell in zip(columns.values(), cells, strict=True)}


def _word(text: str) -> str:
    if not text.replace("_", "").isalpha():
        raise ValueError(text)
    return text


def whole(text: str, most: int = MOST_COUNT) -> int:
    """Parse a whole number of at most `most`; a ValueError if it is more, or negative."""
    number = int(text) if len(text) <= _MOST_DIGITS else -1
    if not 0 <= number <= most:
        raise ValueError(f"{text[:30]!r} is not a number that Slurm can mean")
    return number


def number_of_job(text: str) -> int:
    """Parse the id of a job, of a user, or a priority."""
    return whole(text, 2**63)


def _least(text: str) -> int:
    """The first number of a range such as `2-4`."""
    return whole(text.split("-", maxsplit=1)[0])


def moment(text: str) -> float | None:
    """Parse a time in seconds since the epoch; None where it is not known, or cannot be."""
    if text in ("N/A", "Unknown", "None", ""):
        return None
    at = float(text)
    return at if 0 < at <= MOST_AT_S else None


def limit_of(text: str) -> float | None:
    """Parse a limit as Slurm writes it, `1-00:00:00`, into seconds; None: no limit."""
    if text in ("UNLIMITED", "INFINITE", "INVALID", "NOT_SET", "Partition_Limit", "NONE", ""):
        return None
    return parse_duration(text)


def _memory_of(text: str) -> int:
    """The memory in a list such as `cpu=4,mem=8000M,node=2`; zero if it has none."""
    found = _MEMORY.search(text)
    amount = float(found[1]) * 1024 ** (1 + "KMGTP".index(found[2] or "M")) if found else 0.0
    return int(min(amount, MOST_BYTES))


def _gpus_of(text: str) -> int:
    """The GPUs in such a list, of all types; zero where the site does not account for GPUs."""
    found = _GPUS.search(text)
    return int(found[1]) if found else 0


def exit_of(text: str) -> Exit:
    """Parse `code:signal`; otherwise split a status as `wait` returns it, without the flag for a core dump.

    >>> [exit_of(text) for text in ("3:9", "253", "768")]
    [Exit(code=3, signal=9), Exit(code=0, signal=125), Exit(code=3, signal=0)]
    """
    if found := _EXIT.fullmatch(text):
        return Exit(int(found[1]), int(found[2]))
    return Exit((int(text) >> 8) & 0xFF, int(text) & 0x7F)


_AMOUNTS = "amounts"  # of which several fields are made
_COLUMNS: Columns = {
    "JobID": ("job_id", number_of_job),
    "UserID": ("user", number_of_job),
    "State": ("state", _word),
    "Reason": ("reason", str),
    "SubmitTime": ("submitted_at", moment),
    "StartTime": ("started_at", moment),
    "EndTime": ("ended_at", moment),
    "TimeLimit": ("limit_s", limit_of),
    "NumNodes": ("nodes", _least),
    "NumCPUs": ("cpus", _least),
    "NodeList": ("node_names", expand),
    "PriorityLong": ("priority", number_of_job),
    "Partition": ("partition", str),
    "exit_code": ("exit", exit_of),
    "DerivedEC": ("derived_exit", exit_of),
    "RestartCnt": ("restarts", whole),
    "OverSubscribe": ("alone", ("NO", "EXCLUSIVE").__contains__),
    "tres-alloc": (_AMOUNTS, str),
}
_END = "\x1e"  # of a job; a line end would not do, since directories may contain one
# Directories and names may contain anything, even a forged job: they come last, and are read of the user's own jobs
# only.
_FORMAT_OF_OTHERS = ",".join(f"{column}:|" for column in _COLUMNS) + _END
_FORMAT = ",".join(f"{column}:|" for column in (*_COLUMNS, "WorkDir")) + f",Name:{_END}"
