"""Jobs as sacct reports them, where a site keeps an accounting database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.hostlist import expand
from headway.clusters.slurm.pace import Paced
from headway.clusters.slurm.seen_job import Exit

_COLUMNS = (
    "JobIDRaw", "State", "Submit", "Start", "End", "ExitCode", "DerivedExitCode", "NodeList", "Reason", "JobName",
    "WorkDir",
)  # fmt: skip
_NUMBER = re.compile(r"(\d{1,15})(?:\.(.+))?", re.ASCII)
_EXIT = re.compile(r"(\d{1,3}):(\d{1,3})", re.ASCII)


class AccountedJob(Struct, frozen=True):
    """One round of a job: Slurm may have restarted it."""

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
    directory: str


class Accounts:
    """Asks sacct about jobs by id or by name: all in one call, at most once in an interval."""

    def __init__(self, commands: Commands, by: Literal["--jobs", "--name"], interval_s: float) -> None:
        self._commands = commands
        self._by = by
        self._wanted: list[str] = []
        self._answered: list[str] = []
        self._paced = Paced(self._ask, interval_s)

    def of(self, wanted: Sequence[str]) -> list[AccountedJob] | None:
        """Read every round of these jobs, oldest first; None if sacct does not answer now."""
        self._wanted = list(wanted)
        found = self._paced.answer()
        return found if set(wanted) <= set(self._answered) else None

    def _ask(self) -> list[AccountedJob] | None:
        text = self._commands.ask(
            "sacct",
            f"{self._by}={','.join(self._wanted)}",
            "--duplicates",  # also the rounds before a restart
            "--starttime=now-30days",  # by default since midnight
            "--noheader",
            "--parsable2",
            f"--format={','.join(_COLUMNS)}",
        )
        found = None if text is None else read(text)
        if found is not None:
            self._answered = self._wanted
        return found


def read(text: str) -> list[AccountedJob] | None:
    """Parse the output of sacct; None if it is something else."""
    jobs: list[AccountedJob] = []
    try:
        for line in text.splitlines():
            cells = line.split("|", len(_COLUMNS) - 1)
            if len(cells) != len(_COLUMNS):
                return None
            cell = dict(zip(_COLUMNS, cells, strict=True))
            number = _NUMBER.fullmatch(cell["JobIDRaw"])
            if not number:
                return None
            if number[2] is None:  # not a step of a job
                jobs.append(_job(cell, int(number[1])))
    except ValueError:
        return None
    return jobs


def _job(cell: dict[str, str], number: int) -> AccountedJob:
    state, _, by = cell["State"].partition(" by ")
    return AccountedJob(
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
        directory=cell["WorkDir"],
    )


def _moment(text: str) -> float | None:
    return float(text) or None if text and text not in ("Unknown", "None", "N/A") else None


def _exit(text: str) -> Exit:
    found = _EXIT.fullmatch(text)
    return Exit(int(found[1]), int(found[2])) if found else Exit()
