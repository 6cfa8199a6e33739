"""Polling the queue: all jobs of the user in one call of squeue."""

from __future__ import annotations

import re
import time

from msgspec import Struct, field

from headway.clusters.slurm.commands import Commands, NoAnswerError
from headway.clusters.slurm.seen_job import FORMAT, FORMAT_OF_OTHERS, SeenJob, jobs_of_json, jobs_of_text
from headway.clusters.slurm.states import phase_of
from headway.model.job import JobPhase

_MUCH_BYTES = 4_000_000  # some versions print all users' jobs, with every core
_NO_JSON = re.compile("json|option|plugin|serializ", re.IGNORECASE)
_LIVE = "PENDING,CONFIGURING,RUNNING,SUSPENDED,COMPLETING,STOPPED,SIGNALING,STAGE_OUT,RESIZING"


class Look(Struct, frozen=True):
    """The user's own jobs; `at` is when squeue was called."""

    at: float
    by_name: dict[str, list[SeenJob]] = field(default_factory=dict)

    def live(self) -> int:
        """Count the jobs that wait or run."""
        return sum(
            phase_of(job.state) in (JobPhase.PENDING, JobPhase.RUNNING)
            for jobs in self.by_name.values()
            for job in jobs
        )


class OwnJobs:
    """Asks squeue for the user's own jobs: as JSON where that works, as formatted output otherwise."""

    def __init__(self, commands: Commands, user: int) -> None:
        self._commands = commands
        self._user = user
        self.uses_json = True

    def __call__(self) -> Look | None:
        at = time.time()
        jobs = self._by_json() if self.uses_json else self._by_format()
        if jobs is None:
            return None
        by_name: dict[str, list[SeenJob]] = {}
        for job in jobs:
            if job.user == self._user:  # some versions ignore --user
                by_name.setdefault(job.name, []).append(job)
        return Look(at, by_name)

    def _by_json(self) -> list[SeenJob] | None:
        try:
            answer = self._commands.read("squeue", "--json", "--states=all", f"--user={self._user}")
        except NoAnswerError:
            return None  # says nothing about the format
        if answer.code != 0 and not _NO_JSON.search(answer.complaint):
            return None
        jobs = jobs_of_json(answer.output) if answer.code == 0 else None
        self.uses_json = jobs is not None and len(answer.output) < _MUCH_BYTES
        return jobs if answer.code == 0 else self._by_format()

    def _by_format(self) -> list[SeenJob] | None:
        text = self._commands.ask("squeue", "--noheader", "--states=all", f"--user={self._user}", f"--Format={FORMAT}")
        return None if text is None else jobs_of_text(text)


def everybody(commands: Commands) -> list[SeenJob] | None:
    """Read all users' jobs that wait or run, as far as the site shows them; None if squeue does not answer."""
    text = commands.ask("squeue", "--noheader", "--all", "--array", f"--states={_LIVE}", f"--Format={FORMAT_OF_OTHERS}")
    return None if text is None else jobs_of_text(text)
