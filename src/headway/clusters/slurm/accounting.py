"""Jobs as sacct reports them, where a site keeps an accounting database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import structs

from headway.clusters.slurm.commands import Commands, Paced
from headway.clusters.slurm.hostlist import expand
from headway.clusters.slurm.squeue import Columns, Exit, SeenJob, exit_of, moment, number_of_job, parsed

_COLUMNS: Columns = {
    "JobIDRaw": ("job_id", number_of_job),
    "State": ("state", str),
    "Submit": ("submitted_at", moment),
    "Start": ("started_at", moment),
    "End": ("ended_at", moment),
    "ExitCode": ("exit", lambda text: exit_of(text) if ":" in text else Exit()),
    "DerivedExitCode": ("derived_exit", lambda text: exit_of(text) if ":" in text else Exit()),
    "NodeList": ("node_names", expand),
    "Reason": ("reason", str),
    "JobName": ("name", str),
    "WorkDir": ("directory", str),
}
_STEP = re.compile(r"\d{1,15}\..+", re.ASCII)


class Accounts:
    """Asks sacct about jobs by id or by name: all in one call, at most once in an interval."""

    def __init__(self, commands: Commands, by: Literal["--jobs", "--name"], interval_s: float) -> None:
        self._commands = commands
        self._by = by
        self._wanted: list[str] = []
        self._answered: list[str] = []
        self._paced = Paced(self._ask, interval_s, interval_s)

    def of(self, wanted: Sequence[str]) -> list[SeenJob] | None:
        """Read every round of these jobs (Slurm may restart one), oldest first; None if sacct does not answer now."""
        self._wanted = list(wanted)
        found = self._paced.answer()
        return found if set(wanted) <= set(self._answered) else None

    def _ask(self) -> list[SeenJob] | None:
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


def read(text: str) -> list[SeenJob] | None:
    """Parse the output of sacct, without the steps of jobs; None if it is something else."""
    rows = [line.split("|", len(_COLUMNS) - 1) for line in text.splitlines()]
    try:
        if any(len(row) != len(_COLUMNS) for row in rows):
            return None
        jobs = [SeenJob(**parsed(_COLUMNS, row)) for row in rows if not _STEP.fullmatch(row[0])]
    except ValueError:
        return None
    named = [(job, job.state.partition(" by ")) for job in jobs]
    return [structs.replace(job, state=state, cancelled_by=by) for job, (state, _, by) in named]
