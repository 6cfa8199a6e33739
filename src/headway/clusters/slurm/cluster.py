"""`SlurmCluster`: allocations through Slurm's own commands; its jobs are found again by their tags."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import structs

from headway.clusters.base import Cluster, JobNews
from headway.clusters.local import RunJobs
from headway.clusters.machine import free_disk_bytes
from headway.clusters.slurm.commands import Commands, Paced
from headway.clusters.slurm.job_lookup import JobLookup
from headway.clusters.slurm.options import SlurmOptions, sbatch_variables
from headway.clusters.slurm.queue_now import read_home
from headway.clusters.slurm.site import SlurmSite
from headway.clusters.slurm.squeue import own_jobs
from headway.clusters.slurm.submitting import Canceller, Submitter
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest
from headway.model.records import QueueRead
from headway.model.resources import Resources

_ASK_AGAIN_S = 2.0  # between two queries for the sake of an answer on which much depends


class SlurmCluster(Cluster):
    """A job is a Slurm job whose name is its tag, with a folder of its own: `jobs/TAG`.

    `node_command` gives the command that runs once on every node of a job. Slurm is asked no more often than the
    options say; the marks that jobs leave in their folders are looked at every time.
    """

    name = "slurm"
    queues = True
    look_every_s = 1.0  # for the marks; Slurm itself is asked as seldom as the options say

    def __init__(
        self,
        jobs: RunJobs,
        options: SlurmOptions,
        node_command: Callable[[str], Sequence[str]],
        clock: Callable[[], float] = time.time,  # Slurm's own, where that is faster
    ) -> None:
        options.check()
        self._directory = Path(jobs.workflow_directory)
        self._options = options
        self._commands = Commands(options.timeout_s, options.clusters)
        self._site = SlurmSite(self._commands, options, clock)
        self._own_jobs = Paced(lambda: own_jobs(self._commands, os.getuid()), options.interval_s)
        self._canceller = Canceller(self._commands)
        # A job is known by its folder, so the folder needs one name.
        folder = jobs.folder.resolve()
        self._submitter = Submitter(folder, self._commands, self._site, options, node_command, self._own_jobs)
        self._lookup = JobLookup(self._commands, self._site, options, self._submitter, self._canceller)
        self._lock = threading.RLock()
        self._ask_now = False
        self._asked_now_at = -_ASK_AGAIN_S

    def called(self) -> str:
        return self._site.cluster() or super().called()

    @property
    def calls(self) -> dict[str, int]:
        return dict(self._commands.calls)

    def limits(self) -> Resources:
        self._site.wait_for_answer()
        self._site.check_rights()
        _, most = self._site.home()
        return most.replace(disk_bytes=free_disk_bytes(self._directory))

    def most_jobs(self) -> int | None:
        return self._site.most_jobs()

    # --- jobs ---

    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        with self._lock:
            self._submitter.submit(request.per_node, tag, after)

    def find(self, tags: Iterable[str]) -> set[str]:
        news = self.news(tags)
        unknown = {tag for tag in news if news[tag].phase is JobPhase.UNKNOWN}
        live = {tag for tag in news if news[tag].phase in (JobPhase.PENDING, JobPhase.RUNNING)}
        return live | {tag for tag in unknown if self._submitter.folder(tag).asked() is not None}

    def poll(self, tags: Iterable[str]) -> dict[str, JobPhase]:
        return {tag: news.phase for tag, news in self.news(tags).items()}

    def news(self, tags: Iterable[str]) -> dict[str, JobNews]:
        with self._lock:
            wanted = list(dict.fromkeys(tags))
            if all(self._lookup.is_over(tag) for tag in wanted) and not self._submitter.unanswered:
                return {tag: self._lookup.known(tag) for tag in wanted}
            ask_now, self._ask_now = self._ask_now, False
            going_on = [tag for tag in wanted if self._lookup.known(tag).phase is JobPhase.RUNNING]
            news = self._lookup.news(wanted, self._own_jobs.answer(now=ask_now))
            if any(news[tag].phase is JobPhase.ENDED for tag in going_on):
                self._site.expire_queue()  # or the plan would take its nodes for busy
            return news

    def ask_now(self) -> None:
        at = time.monotonic()
        if at - self._asked_now_at >= _ASK_AGAIN_S:
            self._ask_now, self._asked_now_at = True, at

    def remarks(self) -> list[str]:
        ignored = sbatch_variables(os.environ)[1]
        about = f"{', '.join(ignored)}: no effect on Headway's jobs, of which it decides size, time and files itself"
        return [about] if ignored else []

    def cancel(self, tags: Iterable[str]) -> None:
        with self._lock:
            waiting = self._close_folders(tags)
        deadline = time.monotonic() + self._options.cancel_patience_s
        pause_s = 0.1
        while waiting:
            with self._lock:
                self._canceller.cancel({number for number in waiting.values() if number is not None})
                there = self._still_there(set(waiting))
                waiting = {tag: number for tag, number in waiting.items() if tag in there}
            if not waiting:
                return
            if time.monotonic() > deadline:
                numbers = " ".join(str(waiting[tag]) for tag in sorted(waiting))
                raise SiteError(f"Slurm does not end jobs {numbers}", todo=f"try `scancel {numbers}`")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 5.0)

    def _close_folders(self, tags: Iterable[str]) -> dict[str, int | None]:
        """Let no job of these tags start to work any more; return the Slurm ids of those that may be there."""
        found: dict[str, int | None] = {}
        for tag in tags:
            folder = self._submitter.folder(tag)
            asked = None if self._lookup.is_over(tag) else folder.asked()
            if asked is not None:
                folder.close()
                found[tag] = folder.claimed_by() or asked.job_id
                folder.note(structs.replace(asked, cancelled=True, job_id=found[tag]))
        return found

    def _still_there(self, tags: set[str]) -> set[str]:
        """Those of the cancelled jobs of which something may still run."""
        asked_at = time.time()
        folders = {tag: self._submitter.folder(tag) for tag in tags}
        tags = {tag for tag in tags if not folders[tag].is_closed() or ((asked := folders[tag].asked()) and asked.sent)}
        look = self._own_jobs.answer(now=True) if tags else None
        if look is None or look.at < asked_at:
            return tags
        news = self._lookup.news(sorted(tags), look)
        return {
            tag
            for tag in tags
            if news[tag].phase is not JobPhase.ENDED or any(job.is_live for job in self._lookup.of_this_run(tag, look))
        }

    # --- the queue ---

    def snapshot(self) -> QueueRead:
        """Plan the home partition's free nodes, corrected by a few of Slurm's own estimates."""
        home = read_home(self._commands, self._site, self._options)
        return home.corrected or home.twin.snapshot()
