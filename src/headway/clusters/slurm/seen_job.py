"""A job as squeue shows it, parsed from JSON or from formatted output."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from msgspec import Struct

from headway.clusters.slurm.hostlist import expand
from headway.model.errors import InputError
from headway.model.units import parse_duration

# The columns of the formatted output. Directories and names may contain anything, even a forged line: they come last,
# and are read of the user's own jobs only.
_COLUMNS = (
    "JobID", "UserID", "State", "Reason", "SubmitTime", "StartTime", "EndTime", "TimeLimit", "NumNodes", "NumCPUs",
    "NodeList", "PriorityLong", "Partition", "exit_code", "DerivedEC", "RestartCnt", "OverSubscribe",
)  # fmt: skip
FORMAT_OF_OTHERS = ",".join(f"{column}:|" for column in _COLUMNS)
FORMAT = f"{FORMAT_OF_OTHERS},WorkDir:|,Name:"
_FLAGS_FIRST = ("COMPLETING", "CONFIGURING", "REQUEUE_HOLD", "REQUEUED", "SPECIAL_EXIT", "RESIZING", "STAGE_OUT")


class Exit(Struct, frozen=True, array_like=True):
    """How something ended: `code:signal`, as Slurm writes it."""

    code: int = 0
    signal: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether it ended without an error."""
        return self.code == 0 and self.signal == 0

    def __str__(self) -> str:
        return f"{self.code}:{self.signal}"


def exit_of_status(status: int) -> Exit:
    """Split a status as `wait` returns it; the flag for a core dump is ignored.

    >>> str(exit_of_status(253)), str(exit_of_status(768))
    ('0:125', '3:0')
    """
    return Exit((status >> 8) & 0xFF, status & 0x7F)


class SeenJob(Struct, frozen=True):
    """What squeue shows of a job. Times are seconds since the epoch; a waiting job's `started_at` is Slurm's plan."""

    job_id: int
    user: int
    state: str
    reason: str
    submitted_at: float | None
    started_at: float | None
    ended_at: float | None
    limit_s: float | None  # None: no limit
    nodes: int
    cpus: int
    node_names: tuple[str, ...]
    priority: int
    partition: str
    exit: Exit
    derived_exit: Exit
    restarts: int
    alone: bool  # whether it does not share its nodes
    name: str = ""
    directory: str = ""


def jobs_of_json(data: bytes) -> list[SeenJob] | None:
    """Parse the output of `squeue --json`, of any version; None if it is something else."""
    try:
        document = msgspec.json.decode(data)
        if document.get("errors"):
            return None
        return [_from_document(job) for job in document["jobs"]]
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError, ValueError):
        return None


def _from_document(job: dict[str, Any]) -> SeenJob:
    minutes = _number(job["time_limit"])
    shared = job.get("shared")  # a list since 23.11; null for a job that may share its nodes
    return SeenJob(
        job_id=int(job["job_id"]),
        user=int(job["user_id"]),
        state=_state(job["job_state"]),
        reason=str(job.get("state_reason") or ""),
        submitted_at=_number(job["submit_time"]) or None,
        started_at=_number(job["start_time"]) or None,
        ended_at=_number(job["end_time"]) or None,
        limit_s=None if minutes is None else minutes * 60.0,
        nodes=int(_number(job["node_count"]) or 1),
        cpus=int(_number(job["cpus"]) or 1),
        node_names=expand(str(job.get("nodes") or "")),
        priority=int(_number(job.get("priority")) or 0),
        partition=str(job.get("partition") or ""),
        exit=_exit(job.get("exit_code")),
        derived_exit=_exit(job.get("derived_exit_code")),
        restarts=int(_number(job.get("restart_cnt")) or 0),
        alone=shared == "none" or (isinstance(shared, list) and "none" in shared),
        name=str(job.get("name") or ""),
        directory=str(job.get("current_working_directory") or ""),
    )


def _number(value: Any) -> float | None:
    """A plain number, or one with `set` and `infinite` beside it; None if it is not set, or infinite."""
    if isinstance(value, dict):
        return None if value.get("infinite") or not value.get("set", True) else float(value["number"])
    number = None if value is None else float(value)
    return number if number is not None and math.isfinite(number) and number < 2**32 - 2 else None


def _state(value: Any) -> str:
    """The state as one word; since 23.11 it is a list of the state and its flags."""
    if isinstance(value, str):
        return value
    words = [str(word) for word in value]
    return next((flag for flag in _FLAGS_FIRST if flag in words), words[0])


def _exit(value: Any) -> Exit:
    """From a status, or since 23.02 from an object."""
    if isinstance(value, dict) and "return_code" in value:
        signal = value.get("signal") or {}
        number = signal.get("id", signal.get("signal_id")) if isinstance(signal, dict) else None
        return Exit(int(_number(value["return_code"]) or 0), int(_number(number) or 0))
    return exit_of_status(int(_number(value) or 0))


def jobs_of_text(text: str) -> list[SeenJob] | None:
    """Parse output in one of our two formats; None if it is something else."""
    try:
        return [_from_line(line) for line in text.splitlines() if line]
    except (ValueError, InputError):
        return None


def _from_line(line: str) -> SeenJob:
    *cells, rest = line.split("|", len(_COLUMNS))
    cell = dict(zip(_COLUMNS, cells, strict=True))
    directory, _, name = rest.rpartition("|")  # names of our own jobs contain no |
    return SeenJob(
        job_id=int(cell["JobID"]),
        user=int(cell["UserID"]),
        state=_word(cell["State"]),
        reason=cell["Reason"],
        submitted_at=_moment(cell["SubmitTime"]),
        started_at=_moment(cell["StartTime"]),
        ended_at=_moment(cell["EndTime"]),
        limit_s=limit_of(cell["TimeLimit"]),
        nodes=int(cell["NumNodes"].split("-")[0]),
        cpus=int(cell["NumCPUs"].split("-")[0]),
        node_names=expand(cell["NodeList"]),
        priority=int(cell["PriorityLong"]),
        partition=cell["Partition"],
        exit=exit_of_status(int(cell["exit_code"])),
        derived_exit=exit_of_status(int(cell["DerivedEC"])),
        restarts=int(cell["RestartCnt"]),
        alone=cell["OverSubscribe"] in ("NO", "EXCLUSIVE"),
        name=name,
        directory=directory,
    )


def _word(text: str) -> str:
    if not text.replace("_", "").isalpha():
        raise ValueError(text)
    return text


def _moment(text: str) -> float | None:
    return None if text in ("N/A", "Unknown", "None", "") else float(text) or None


def limit_of(text: str) -> float | None:
    """Parse a limit as Slurm writes it, `1-00:00:00`, into seconds; None: no limit."""
    if text in ("UNLIMITED", "INFINITE", "INVALID", "NOT_SET", "Partition_Limit", "NONE", ""):
        return None
    return parse_duration(text)
