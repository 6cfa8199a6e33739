"""`SlurmCluster`: allocations through Slurm's own commands; its jobs are found again by their tags."""

from __future__ import annotations

import copy
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from headway.clusters.base import Cluster, JobNews
from headway.clusters.local import RunJobs
from headway.clusters.machine import free_disk_bytes
from headway.clusters.slurm.changing import admit, shrink
from headway.clusters.slurm.commands import Commands, Paced
from headway.clusters.slurm.gpu_types import gpu_types
from headway.clusters.slurm.job_lookup import JobLookup
from headway.clusters.slurm.looking import Looking
from headway.clusters.slurm.options import MANAGERS, SlurmOptions, sbatch_variables
from headway.clusters.slurm.probes import Probing
from headway.clusters.slurm.queue_now import read_home
from headway.clusters.slurm.site import SlurmSite
from headway.clusters.slurm.squeue import own_jobs
from headway.clusters.slurm.submitting import Canceller, Submitter
from headway.clusters.slurm.tracking import by_marks, script_node
from headway.model.devices import GpuType
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest, Wish
from headway.model.records import QueueRead
from headway.model.resources import Resources

_log = logging.getLogger(__name__)

_MARKS_AGAIN_S = 0.1  # between two looks at the marks of jobs that are being cancelled
_LOOK_AFTER_S = 1.0  # how long to wait for the mark of a running job before the queue is asked
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
        self.shrink_every_s = min(self.shrink_every_s, options.interval_s)
        self._commands = Commands(options.timeout_s, options.clusters)
        self._site = SlurmSite(self._commands, options, clock)
        self._looking = Looking(options.interval_s, options.urgent_s)
        self._own_jobs = Paced(
            lambda: own_jobs(self._commands, os.getuid()), self._looking.interval_s, options.urgent_s
        )
        self._canceller = Canceller(self._commands)
        # A job is known by its folder, so the folder needs one name.
        folder = jobs.folder.resolve()
        self._submitter = Submitter(folder, self._commands, self._site, options, node_command, self._own_jobs)
        self._lookup = JobLookup(self._commands, self._site, options, self._submitter, self._canceller)
        self._probing = Probing(self._commands, self._site.options)
        self._wishing: dict[Wish, SlurmCluster] = {}
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

    def larger_nodes(self) -> tuple[Resources, ...]:
        disk_bytes = free_disk_bytes(self._directory)
        return tuple(kind.replace(disk_bytes=disk_bytes) for kind in self._site.larger_nodes())

    def gpu_types(self) -> list[GpuType]:
        return gpu_types(self._site.candidates(), self._site.options)

    @property
    def shares(self) -> bool:
        return self._site.shares()

    @property
    def admits(self) -> bool:
        configuration = self._site.configuration()
        return configuration is not None and configuration.keeps_rank

    @property
    def shrinks(self) -> bool:
        configuration = self._site.configuration()
        return configuration is not None and configuration.shrinks

    @property
    def shrinks_once(self) -> bool:
        # A job that was shrunk cannot be changed before it has a new number in the database.
        configuration = self._site.configuration()
        return configuration is not None and not configuration.keeps_accounts

    @property
    def preempts(self) -> bool:
        risky = self._site.preemptible()
        return any(partition.name in risky for partition in self._site.candidates())

    def most_jobs(self) -> int | None:
        of_site, own = self._site.most_jobs(), self._options.most_jobs
        if of_site is None:
            return own
        return min(own, max(1, of_site - MANAGERS) if self._options.managed_in_job else of_site)

    def wishing(self, wish: Wish) -> SlurmCluster:
        with self._lock:
            if wish not in self._wishing:
                other = self._wishing[wish] = copy.copy(self)
                other._options, other._site = self._options.wishing(wish), self._site.wishing(wish)
                other._probing = self._probing.wishing(other._site.options)
        return self._wishing[wish]

    # --- jobs ---

    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        with self._lock:
            self._submitter.submit(request, tag, after)

    def admit(self, tag: str) -> None:
        with self._lock:
            folder = self._submitter.folder(tag)
            asked = folder.asked()
            if asked is None or asked.after is None:
                return
            job = self.news([tag])[tag]
            if job.job_id is None and asked.sent:
                raise SiteError(f"Slurm does not say which number job {tag} has")
            if job.job_id is not None and (words := admit(self._commands, job.job_id)):
                _log.warning("job %s waits until the job before it has ended: %s", tag, words)
                return
            folder.note(structs.replace(asked, after=None))
            self._site.expire_queue()  # or the plan would not know of a job that waits

    def on_node(self, request: JobRequest, tag: str, node: str) -> Resources:
        held = super().on_node(request, tag, node)
        asked = self._submitter.folder(tag).asked()
        if asked is None or request.places is not None:
            return held
        return self._site.wishing(asked.wish).whole_node(held, asked.partition, node)

    def script_node(self, tag: str) -> str:
        return script_node(self._submitter.folder(tag))

    def shrink(self, tag: str, nodes: Collection[str], left: JobRequest) -> str:
        words = ""
        with self._lock:
            for _ in range(2):  # a refusal counts when it is given twice: a node that was lost must not be named
                job = self.news([tag])[tag]
                if job.phase is JobPhase.UNKNOWN or job.job_id is None:
                    raise SiteError(f"Slurm does not say whether job {tag} runs")
                if job.phase is not JobPhase.RUNNING:
                    return ""
                words = shrink(self._commands, job.job_id, [node for node in job.nodes if node not in nodes])
                if not words:
                    self._site.expire_queue()  # or the plan would take these nodes for busy
                    return ""
                self._own_jobs.expire()
        return words

    def avoid(self, nodes: Mapping[str, float]) -> None:
        with self._lock:
            self._submitter.avoided |= nodes

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
            too_soon = self._own_jobs.silent and not ask_now and self._submitter.are_new(wanted)
            look = None if too_soon else self._own_jobs.answer(now=ask_now)
            news = self._lookup.news(wanted, look)
            self._looking.note(look.at if look else None, self._lookup.state())
            if any(news[tag].phase is JobPhase.ENDED for tag in going_on):
                self._site.expire_queue()  # or the plan would take its nodes for busy
            return self._with_drained(news) if going_on else news

    def _with_drained(self, news: dict[str, JobNews]) -> dict[str, JobNews]:
        """Say of running jobs which of their nodes are being drained."""
        drained = self._site.drained()
        for tag, known in news.items():
            if known.phase is JobPhase.RUNNING and (nodes := [node for node in known.nodes if node in drained]):
                what = f"{', '.join(nodes)}: tasks go on there until this job ends, and Slurm starts no other job there"
                news[tag] = structs.replace(known, message=what)
        return news

    def ask_now(self) -> None:
        at = time.monotonic()
        if at - self._asked_now_at >= _ASK_AGAIN_S:
            self._ask_now, self._asked_now_at = True, at

    def remarks(self) -> list[str]:
        ignored = sbatch_variables(os.environ)[1]
        about = f"{', '.join(ignored)}: no effect on Headway's jobs, of which it decides size, time and files itself"
        return [about] if ignored else []

    def has_left(self, tag: str) -> bool:
        folder = self._submitter.folder(tag)
        asked = folder.asked()
        number = asked.job_id if asked is not None else None
        return number is not None and by_marks(folder, JobNews(JobPhase.UNKNOWN, number)).phase is JobPhase.ENDED

    def cancel(self, tags: Iterable[str]) -> None:
        with self._lock:
            waiting = self._close_folders(tags)
            self._canceller.want({number for tag, number in waiting.items() if number and not self._has_ended(tag)})
        began_at = time.monotonic()
        look_after_s = _LOOK_AFTER_S
        cancelled = list(waiting)
        while waiting:
            time.sleep(_MARKS_AGAIN_S)  # also for others to be cancelled with the same call
            waited_s = time.monotonic() - began_at
            with self._lock:
                waiting = {tag: number for tag, number in waiting.items() if not self._has_ended(tag)}
                self._canceller.cancel({number for number in waiting.values() if number is not None})
                waiting = {tag: number for tag, number in waiting.items() if not self._is_out(tag, number)}
                if waiting and waited_s >= look_after_s:
                    there = self._still_there(set(waiting))
                    waiting = {tag: number for tag, number in waiting.items() if tag in there}
                    look_after_s = max(2 * waited_s, _LOOK_AFTER_S)
            if waiting and waited_s > self._options.cancel_patience_s:
                numbers = " ".join(str(waiting[tag]) for tag in sorted(waiting))
                raise SiteError(f"Slurm does not end jobs {numbers}", todo=f"try `scancel {numbers}`")
        with self._lock:
            self._lookup.are_cancelled(cancelled)

    def _is_out(self, tag: str, number: int | None) -> bool:
        """Whether a job that had not begun to work never will: Slurm has cancelled it, or never got it."""
        folder = self._submitter.folder(tag)
        asked = folder.asked()
        if asked is None or not folder.is_closed() or tag in self._submitter.unanswered:
            return False
        return not asked.sent or self._canceller.accepted(number)

    def _has_ended(self, tag: str) -> bool:
        """Whether the job's own mark says that nothing of it runs any more, which saves asking Slurm."""
        return self.has_left(tag) and tag not in self._submitter.unanswered and not self._options.requeue

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
        self._site.note_cancelled(found.values())
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
        """Plan the home partition's free nodes or cores, corrected by a few of Slurm's own estimates."""
        since = max(self._submitter.unanswered.values(), default=0.0)
        home = read_home(self._site, self._probing, since, in_cores=self.shares)
        return home.corrected or home.twin.snapshot()
