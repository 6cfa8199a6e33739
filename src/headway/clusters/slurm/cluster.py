"""`SlurmCluster`: allocations by Slurm, found again by their tags."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import structs

from headway.clusters.base import Cluster
from headway.clusters.local import RunJobs
from headway.clusters.news import JobNews
from headway.clusters.slurm.accounting import Accounts, Kept
from headway.clusters.slurm.commands import Commands, NoAnswerError
from headway.clusters.slurm.marks import SCRIPT, Asked, JobFolder
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.pace import Paced
from headway.clusters.slurm.polling import Look, OwnJobs
from headway.clusters.slurm.probes import Shape, corrected, default_shapes, probe
from headway.clusters.slurm.queue_reading import twin_of
from headway.clusters.slurm.script import check_tag, job_script
from headway.clusters.slurm.seen_job import SeenJob
from headway.clusters.slurm.site import SlurmSite, UnreachableError
from headway.clusters.slurm.states import phase_of
from headway.clusters.slurm.submission import Reply, sbatch_arguments, send
from headway.clusters.slurm.tracking import Tracker, claimed_by, is_closed, ours, strays
from headway.clusters.slurm.usage import usage_of
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending, Usage
from headway.model.records import QueueRead
from headway.model.resources import Resources

_LIVE = (JobPhase.PENDING, JobPhase.RUNNING)
_TELL_AGAIN_S = 2.0  # between two requests to end the same job


class SlurmCluster(Cluster):
    """A job is a Slurm job whose name is its tag, with a folder of its own: `jobs/TAG`.

    What was asked for is noted there before sbatch is called, and the job that claims the folder first is the only one
    that works: a submission whose answer was lost may be sent again, and a twin does no harm. `node_command` gives what
    runs once on every node of a job. Nothing is asked more often than the options say; marks are looked at every time.
    """

    name = "slurm"
    queues = True
    look_every_s = 1.0  # marks are looked at that often, Slurm itself is asked as seldom as the options say

    def __init__(
        self,
        jobs: RunJobs,
        options: SlurmOptions,
        node_command: Callable[[str], Sequence[str]],
        clock: Callable[[], float] = time.time,  # Slurm's own, where that goes faster
    ) -> None:
        options.check()
        self._jobs = jobs.folder.resolve()  # a job is known by its folder, so that has to have one name
        self._directory = Path(jobs.workflow_directory)
        self._options = options
        self._node_command = node_command
        self._commands = Commands(options.timeout_s)
        self._site = SlurmSite(self._commands, options, clock)
        self._look = Paced(OwnJobs(self._commands, os.getuid()), options.interval_s)
        self._by_number = Accounts(self._commands, "--jobs", options.interval_s)
        self._by_name = Accounts(self._commands, "--name", options.interval_s)
        self._tracker = Tracker()
        self._told: dict[int, float] = {}  # which jobs Slurm was told to end, and when
        self._open: dict[str, float] = {}  # submissions without an answer, and since when: looked for at every poll
        self._lock = threading.RLock()

    def called(self) -> str:
        return self._site.cluster() or super().called()

    # --- limits ---

    def limits(self) -> Resources:
        self._site.wait_for_answer()
        _, most = self._site.home()
        try:
            disk_bytes = shutil.disk_usage(self._directory).free
        except OSError as error:
            raise SiteError(
                f"cannot tell how much disk is free: {error.strerror}", where=str(self._directory)
            ) from error
        return most.replace(disk_bytes=disk_bytes)

    def most_jobs(self) -> int | None:
        """How many jobs this user may have in the queue; None if no limit is known."""
        return self._site.most_jobs()

    @property
    def calls(self) -> dict[str, int]:
        """How often each of Slurm's commands was called."""
        return dict(self._commands.calls)

    # --- asking ---

    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        with self._lock:
            folder = self._folder(tag)
            asked = folder.asked()
            if asked is None:
                if after is not None and self._folder(after).asked() is None:
                    raise SiteError(f"job {after}, whose end {tag} should wait for, was never asked for")
                folder.make()
                asked = Asked(request.per_node, time.time(), after)
                folder.note(asked)
                asked = self._send(tag, asked)
            if asked.refused:
                raise SiteError(f"Slurm cannot take job {tag}: {asked.refused}", where=str(folder.path))

    def _folder(self, tag: str) -> JobFolder:
        return JobFolder(self._jobs, check_tag(tag))

    def _send(self, tag: str, asked: Asked) -> Asked:
        """Hand a job to Slurm, if that can be done now; what is known then is in the folder."""
        folder = self._folder(tag)
        reply, asked = self._attempt(tag, folder, asked)
        match reply.kind:
            case "accepted":
                asked = structs.replace(asked, job_id=reply.job_id, why_waiting="")
            case "refused":
                folder.close()  # should it be there all the same, it does nothing
                asked = structs.replace(asked, refused=reply.words)
                self._open[tag] = asked.at
            case "lost":
                asked = structs.replace(asked, why_waiting=reply.words)
                if asked.sent:
                    self._open[tag] = asked.at
        folder.note(asked)
        return asked

    def _attempt(self, tag: str, folder: JobFolder, asked: Asked) -> tuple[Reply, Asked]:
        parent = None
        if asked.after is not None:
            parent = self._folder(asked.after).asked()
            if parent is not None and parent.job_id is None and not parent.refused and not parent.cancelled:
                return Reply(
                    "lost", words=f"it is not known yet which job {asked.after} is, whose end it waits for"
                ), asked
        try:
            partition = self._site.partition_for(asked.per_node)
            if (words := self._too_many()) != "":
                return Reply("lost", words=words), asked
        except UnreachableError as error:
            return Reply("lost", words=str(error)), asked
        except SiteError as error:
            return Reply("refused", words=str(error)), asked
        folder.write(SCRIPT, job_script(folder.path, self._node_command(tag)).encode())
        after = parent.job_id if parent else None
        arguments = sbatch_arguments(tag, folder.path, asked.per_node, partition, self._options, after)
        asked = structs.replace(asked, sent=True, at=time.time())
        folder.note(asked)  # from here on there may be a job, whatever we hear of it
        return send(self._commands, arguments), asked

    def _too_many(self) -> str:
        most = self.most_jobs()
        look = self._look.answer() if most is not None else None
        if most is None or look is None or look.live() < most:
            return ""
        return f"you have {look.live()} jobs in the queue and may have {most}"

    # --- looking ---

    def find(self, tags: Iterable[str]) -> set[str]:
        found = set()
        for tag, news in self.news(tags).items():
            asked = self._folder(tag).asked()
            looked_for = asked is not None and news.phase is JobPhase.UNKNOWN
            if news.phase in _LIVE or looked_for:
                found.add(tag)
        return found

    def poll(self, tags: Iterable[str]) -> dict[str, JobPhase]:
        return {tag: news.phase for tag, news in self.news(tags).items()}

    def news(self, tags: Iterable[str]) -> dict[str, JobNews]:
        """All that is known of jobs."""
        with self._lock:
            wanted = list(dict.fromkeys(tags))
            if all(self._is_over(tag) for tag in wanted) and not self._open:
                return {tag: self._tracker.known(tag) or JobNews(JobPhase.UNKNOWN) for tag in wanted}
            return self._news(wanted, self._look.answer())

    def _is_over(self, tag: str) -> bool:
        known = self._tracker.known(tag)
        return known is not None and known.phase is JobPhase.ENDED and known.ending is not None

    def _news(self, tags: list[str], look: Look | None) -> dict[str, JobNews]:
        configuration = self._site.configuration()
        self._tracker.kills_for_memory = configuration is not None and configuration.kills_for_memory
        found: dict[str, JobNews] = {}
        lost: list[str] = []
        for tag in dict.fromkeys([*tags, *self._open]):
            asked = self._folder(tag).asked()
            news = JobNews(JobPhase.UNKNOWN) if asked is None else self._resolve(tag, asked, look)
            if news is None:
                lost.append(tag)
            else:
                found[tag] = self._tracker.keep(tag, news)
        if lost and look is not None:
            found |= self._vanished(lost, look)
        return {tag: found.get(tag, JobNews(JobPhase.UNKNOWN)) for tag in tags}

    def _resolve(self, tag: str, asked: Asked, look: Look | None) -> JobNews | None:
        """What is known of a job; None if it should be in the queue and is not."""
        folder = self._folder(tag)
        if self._is_over(tag) and tag not in self._open:
            return self._tracker.known(tag)
        jobs = self._of_this_run(tag, look)
        job = ours(folder, asked, jobs)
        number = claimed_by(folder) or (job.job_id if job else None) or asked.job_id
        if number != asked.job_id and number is not None:  # the answer was lost, or a twin was faster
            asked = structs.replace(asked, job_id=number, sent=True, why_waiting="")
            folder.note(asked)
        self._cancel_now(strays(asked, jobs))
        if tag in self._open and time.time() - self._open[tag] > self._options.open_s:
            del self._open[tag]
        if asked.refused:
            return JobNews(JobPhase.ENDED, ending=Ending.LAUNCH_FAILED, message=asked.refused)
        if job is not None:
            self._tracker.seen_again(tag)
            return self._tracker.by_queue(folder, asked, job)
        unknown = JobNews(JobPhase.UNKNOWN, asked.job_id, message=asked.why_waiting)
        by_marks = self._tracker.by_marks(folder, unknown)
        if by_marks.phase is JobPhase.ENDED:
            by_us = asked.cancelled and by_marks.ending is not Ending.SUCCESS
            return _cancelled(by_marks) if by_us else by_marks
        if asked.cancelled and is_closed(folder):
            return _cancelled(JobNews(JobPhase.ENDED, asked.job_id))
        if asked.job_id is None:
            if asked.sent:
                self._open.setdefault(tag, asked.at)
            return self._ask_again(tag, asked, look)
        if look is None or look.at <= asked.at + 1.0:  # too early to be missed
            return structs.replace(by_marks, phase=JobPhase.RUNNING if by_marks.started_at else JobPhase.PENDING)
        return None

    def _of_this_run(self, tag: str, look: Look | None) -> list[SeenJob]:
        """The jobs of that name and folder: another run of the same user may have given others the same name."""
        jobs = look.by_name.get(tag, []) if look is not None else []
        return [job for job in jobs if job.directory == str(self._folder(tag).path)]

    def _ask_again(self, tag: str, asked: Asked, look: Look | None) -> JobNews | None:
        """A job that was not sent yet, or whose answer was lost: it is sent when it is time."""
        if not asked.sent:
            asked = self._send(tag, asked)
        elif look is not None and look.at > asked.at + self._options.resubmit_s:
            rows = self._accounts(self._by_name, sorted(self._open))
            folder = str(self._folder(tag).path)
            number = next((row.job_id for row in reversed(rows or []) if row.directory == folder), None)
            if number is not None:
                asked = structs.replace(asked, job_id=number)
                self._folder(tag).note(asked)
            elif rows is not None:
                asked = self._send(tag, asked)
        if asked.refused:
            return JobNews(JobPhase.ENDED, ending=Ending.LAUNCH_FAILED, message=asked.refused)
        known = asked.job_id is not None or not asked.sent
        return JobNews(JobPhase.PENDING if known else JobPhase.UNKNOWN, asked.job_id, message=asked.why_waiting)

    def _vanished(self, tags: list[str], look: Look) -> dict[str, JobNews]:
        """Jobs that the queue does not show any more: unknown until proven."""
        found: dict[str, JobNews] = {}
        asked = {tag: entry for tag in tags if (entry := self._folder(tag).asked()) is not None}
        numbers = sorted(entry.job_id for entry in asked.values() if entry.job_id is not None)
        last = {row.job_id: row for row in self._accounts(self._by_number, list(map(str, numbers))) or []}
        for tag, entry in asked.items():
            folder = self._folder(tag)
            row = last.get(entry.job_id or 0)
            news = self._tracker.by_accounts(folder, entry, row) if row else None
            if news is None or news.phase is not JobPhase.ENDED:
                waited_s = self._tracker.missing_for_s(tag, look.at)
                news = self._given_up(folder, entry) if waited_s >= self._options.open_s else None
            if news is None and entry.cancelled:
                news = _cancelled(JobNews(JobPhase.ENDED, entry.job_id))
            unknown = JobNews(JobPhase.UNKNOWN, entry.job_id, message="the queue does not show it any more")
            found[tag] = self._tracker.keep(tag, news) if news else self._tracker.by_marks(folder, unknown)
        return found

    def _given_up(self, folder: JobFolder, asked: Asked) -> JobNews | None:
        """The proof after a long absence: whatever there may still be is cancelled, and nothing can start any more."""
        if asked.job_id is None or not self._cancel_now({asked.job_id}):
            return None
        folder.close()
        unknown = JobNews(JobPhase.UNKNOWN, asked.job_id)
        known = self._tracker.by_marks(folder, unknown)
        message = "Slurm has forgotten it, and does not say how it ended"
        return structs.replace(known, phase=JobPhase.ENDED, ending=Ending.NODE_LOST, message=message)

    def _accounts(self, accounts: Accounts, wanted: list[str]) -> list[Kept] | None:
        """What accounting has of jobs: nothing where there is none, None if it does not answer now."""
        configuration = self._site.configuration()
        if configuration is None:
            return None
        return accounts.of(wanted) if configuration.keeps_accounts and wanted else []

    # --- ending ---

    def cancel(self, tags: Iterable[str]) -> None:
        with self._lock:
            going = {tag: entry for tag in tags if not self._is_over(tag) and (entry := self._folder(tag).asked())}
            for tag, entry in going.items():
                folder = self._folder(tag)
                folder.close()
                going[tag] = structs.replace(entry, cancelled=True, job_id=claimed_by(folder) or entry.job_id)
                folder.note(going[tag])
        waiting = set(going)
        deadline = time.monotonic() + self._options.cancel_patience_s
        pause_s = 0.1
        while waiting:
            with self._lock:
                self._cancel_now({number for tag in waiting if (number := going[tag].job_id) is not None})
                waiting = self._still_there(waiting)
            if not waiting:
                return
            if time.monotonic() > deadline:
                numbers = " ".join(str(going[tag].job_id) for tag in sorted(waiting))
                raise SiteError(f"Slurm does not end jobs {numbers}", todo=f"try `scancel {numbers}`")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 5.0)

    def _still_there(self, tags: set[str]) -> set[str]:
        """Those of cancelled jobs of which something may still run."""
        asked_at = time.time()
        quiet = {tag for tag in tags if is_closed(self._folder(tag)) and not self._may_wait(tag)}
        tags = tags - quiet
        look = self._look.answer(now=True) if tags else None
        if look is None or look.at < asked_at:
            return tags
        news = self._news(sorted(tags), look)
        return {
            tag
            for tag in tags
            if news[tag].phase is not JobPhase.ENDED
            or any(phase_of(job.state) in _LIVE for job in self._of_this_run(tag, look))
        }

    def _may_wait(self, tag: str) -> bool:
        """Whether there is a job in the queue, as far as is known."""
        asked = self._folder(tag).asked()
        return asked is not None and asked.sent

    def _cancel_now(self, numbers: set[int]) -> bool:
        """Tell Slurm to end jobs, unless it has just been told; whether it heard."""
        at = time.monotonic()
        numbers = {number for number in numbers if at - self._told.get(number, -_TELL_AGAIN_S) >= _TELL_AGAIN_S}
        if not numbers:
            return True
        try:
            answer = self._commands.read("scancel", "--quiet", *map(str, sorted(numbers)))
        except NoAnswerError:
            return False
        heard = answer.code == 0 or "invalid job id" in answer.complaint.lower()
        if heard:
            self._told |= dict.fromkeys(numbers, at)
        return heard

    # --- the queue ---

    def snapshot(self, shapes: Sequence[Shape] = ()) -> QueueRead:
        """The plan of the home partition's free nodes, put right by a few estimates of Slurm's for `shapes`.

        While jobs wait, `--test-only` errs (it does not backfill) where our plan does not; then it is asked only where
        we cannot see those jobs.
        """
        self._site.wait_for_answer()
        reading = self._site.reading()
        partition, most = self._site.home()
        twin = twin_of(reading, partition.name)
        if twin is None:
            raise SiteError(f"no node of {partition.name} works now", todo="look at `sinfo`, and try again later")
        configuration = self._site.configuration()
        if twin.planned and (configuration is None or not configuration.hides_jobs):
            return twin.snapshot()
        wanted = shapes or default_shapes(twin.queue.machine, most)
        return corrected(twin.snapshot(), probe(self._commands, wanted, most, partition, self._options))

    def usage(self, tags: Iterable[str]) -> dict[str, Usage]:
        """What sacct says that jobs used: sampled, so at least that; nothing of short ones, or without slurmdbd."""
        by_number = {
            entry.job_id: tag
            for tag in tags
            if (entry := self._folder(tag).asked()) is not None and entry.job_id is not None
        }
        kept = self._accounts(self._by_number, sorted(map(str, by_number)))
        return {by_number[row.job_id]: usage_of(row) for row in kept or [] if row.job_id in by_number}


def _cancelled(news: JobNews) -> JobNews:
    """The same, of a job that we have ended ourselves."""
    return structs.replace(news, ending=Ending.CANCELLED, message="it was cancelled by Headway")
