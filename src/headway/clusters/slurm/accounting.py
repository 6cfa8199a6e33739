"""What sacct keeps of jobs that have ended: the word of the database, where a site has one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, field

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.hostlist import expand
from headway.clusters.slurm.pace import Paced
from headway.clusters.slurm.seen_job import Exit
from headway.model.errors import InputError
from headway.model.units import parse_duration

_COLUMNS = (
    "JobIDRaw", "State", "Submit", "Start", "End", "ExitCode", "DerivedExitCode", "NodeList", "Reason", "ElapsedRaw",
    "MaxRSS", "TotalCPU", "JobName", "WorkDir",
)  # fmt: skip
_NUMBER = re.compile(r"(\d{1,15})(?:\.(.+))?", re.ASCII)
_EXIT = re.compile(r"(\d{1,3}):(\d{1,3})", re.ASCII)
_BYTES = re.compile(r"(\d{1,20}(?:\.\d{1,6})?)([KMGTP]?)", re.ASCII)
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
_MOST_BYTES = 2**60  # what is beyond was never measured: 18446744073709551614 has been seen


class Kept(Struct, frozen=True):
    """One round of a job, or what it and its steps used."""

    job_id: int
    name: str
    state: str
    cancelled_by: str
    submitted_at: float | None
    started_at: float | None
    ended_at: float | None
    exit: Exit
    derived_exit: Exit
    nodes: tuple[str, ...]
    reason: str
    elapsed_s: float | None
    directory: str
    memory_bytes: list[float] = field(default_factory=list)  # one figure a step that has one
    cpu_s: float | None = None


class Accounts:
    """Asks sacct about jobs by number or by name: all at once, at most once in an interval."""

    def __init__(self, commands: Commands, by: Literal["--jobs", "--name"], interval_s: float) -> None:
        self._commands = commands
        self._by = by
        self._wanted: list[str] = []
        self._answered: list[str] = []
        self._paced = Paced(self._ask, interval_s)

    def of(self, wanted: Sequence[str]) -> list[Kept] | None:
        """Every round of these jobs, oldest first; None if nobody can say."""
        self._wanted = list(wanted)
        found = self._paced.answer()
        return found if set(wanted) <= set(self._answered) else None

    def _ask(self) -> list[Kept] | None:
        text = self._commands.ask(
            "sacct",
            f"{self._by}={','.join(self._wanted)}",
            "--duplicates",  # also of the rounds before a restart
            "--starttime=now-30days",  # it looks no further back than midnight otherwise
            "--noheader",
            "--parsable2",
            f"--format={','.join(_COLUMNS)}",
        )
        found = None if text is None else read(text)
        if found is not None:
            self._answered = self._wanted
        return found


def read(text: str) -> list[Kept] | None:
    """What sacct printed; None if it is something else."""
    jobs: list[Kept] = []
    try:
        for line in text.splitlines():
            cells = line.split("|", len(_COLUMNS) - 1)
            if len(cells) != len(_COLUMNS):
                return None
            cell = dict(zip(_COLUMNS, cells, strict=True))
            number = _NUMBER.fullmatch(cell["JobIDRaw"])
            if not number:
                return None
            if number[2] is None:
                jobs.append(_job(cell, int(number[1])))
            elif jobs and jobs[-1].job_id == int(number[1]) and (peak := bytes_of(cell["MaxRSS"])):
                jobs[-1].memory_bytes.append(peak)
    except (ValueError, InputError):
        return None
    return jobs


def _job(cell: dict[str, str], number: int) -> Kept:
    state, _, by = cell["State"].partition(" by ")
    return Kept(
        job_id=number,
        name=cell["JobName"],
        state=state,
        cancelled_by=by,
        submitted_at=_moment(cell["Submit"]),
        started_at=_moment(cell["Start"]),
        ended_at=_moment(cell["End"]),
        exit=_exit(cell["ExitCode"]),
        derived_exit=_exit(cell["DerivedExitCode"]),
        nodes=expand(cell["NodeList"]),
        reason=cell["Reason"],
        elapsed_s=float(cell["ElapsedRaw"]) if cell["ElapsedRaw"] else None,
        directory=cell["WorkDir"],
        cpu_s=parse_duration(cell["TotalCPU"].partition(".")[0]) if cell["TotalCPU"] else None,
    )


def bytes_of(text: str) -> float | None:
    """A figure such as `355240K`; None for none, nothing, and what cannot be."""
    found = _BYTES.fullmatch(text)
    amount = float(found[1]) * _UNITS[found[2]] if found else 0.0
    return amount if 0 < amount < _MOST_BYTES else None


def _moment(text: str) -> float | None:
    return float(text) or None if text and text not in ("Unknown", "None", "N/A") else None


def _exit(text: str) -> Exit:
    found = _EXIT.fullmatch(text)
    return Exit(int(found[1]), int(found[2])) if found else Exit()
