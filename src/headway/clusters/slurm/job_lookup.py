"""`JobLookup`: finds out what is known of jobs, from their folders, the queue, and accounting."""

from __future__ import annotations

import time
from collections.abc import Iterable

from msgspec import structs

from headway.clusters.base import JobNews
from headway.clusters.slurm.accounting import Accounts
from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.job_folder import Asked, JobFolder
from headway.clusters.slurm.looking import Jobs
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.reasons import never
from headway.clusters.slurm.site import SlurmSite
from headway.clusters.slurm.squeue import Look, SeenJob
from headway.clusters.slurm.submitting import Canceller, Submitter
from headway.clusters.slurm.tracking import by_marks, by_slurm, duplicates, keep, ours
from headway.model.job import JobPhase
from headway.model.outcome import Ending


class JobLookup:
    """Answers for jobs by tag. A job that cannot be found is unknown, not ended, until there is proof.

    On the way it does what only it can see the need for: it notes ids whose answer was lost, sends again what was never
    sent, and cancels duplicate jobs.
    """

    def __init__(
        self, commands: Commands, site: SlurmSite, options: SlurmOptions, submitter: Submitter, canceller: Canceller
    ) -> None:
        self._site = site
        self._options = options
        self._submitter = submitter
        self._canceller = canceller
        self._by_id = Accounts(commands, "--jobs", options.urgent_s)
        self._by_name = Accounts(commands, "--name", options.urgent_s)
        self._known: dict[str, JobNews] = {}
        self._hopeless_since: dict[str, float] = {}  # since which look Slurm says that it will never start a job
        self._missing_since: dict[str, float] = {}  # since which look the queue does not show a job
        self._unseen: dict[str, float] = {}  # waiting jobs that no look has shown yet, and when they were submitted

    def known(self, tag: str) -> JobNews:
        """What was last known of a job."""
        return self._known.get(tag, JobNews(JobPhase.UNKNOWN))

    def is_over(self, tag: str) -> bool:
        """Whether a job has ended, and the reason is known: nothing more will be learned."""
        return self.known(tag).phase is JobPhase.ENDED and self.known(tag).ending is not None

    def state(self) -> Jobs:
        """The jobs that are not over, and whether the next look at the queue decides something about one of them."""
        live = {tag: news for tag, news in self._known.items() if not self.is_over(tag)}
        awaited = any(news.phase is JobPhase.ENDED for news in live.values())  # Slurm has not said yet how it ended
        return Jobs(
            frozenset((tag, news.phase, news.message) for tag, news in live.items()),
            runs=any(news.phase is JobPhase.RUNNING for news in live.values()),
            decides=bool(awaited or self._missing_since or self._submitter.unanswered),
            unseen_since=min(self._unseen.values(), default=None),
        )

    def are_cancelled(self, tags: Iterable[str]) -> None:
        """Take note that nothing more will be learned of these jobs."""
        for tag in tags:
            self._unseen.pop(tag, None)
            self._missing_since.pop(tag, None)
            if not self.is_over(tag):
                self._known[tag] = _cancelled(JobNews(JobPhase.ENDED, self.known(tag).job_id))

    def of_this_run(self, tag: str, look: Look | None) -> list[SeenJob]:
        """The jobs with this name and folder: another run of the same user may use the same name."""
        jobs = look.by_name.get(tag, []) if look is not None else []
        return [job for job in jobs if job.directory == str(self._submitter.folder(tag).path)]

    def news(self, tags: list[str], look: Look | None) -> dict[str, JobNews]:
        """Find out about jobs, given the last look at the queue."""
        found: dict[str, JobNews] = {}
        vanished: list[str] = []
        for tag in dict.fromkeys([*tags, *self._submitter.unanswered]):
            asked = self._submitter.folder(tag).asked()
            news = JobNews(JobPhase.UNKNOWN) if asked is None else self._resolve(tag, asked, look)
            if news is None:
                vanished.append(tag)
            elif asked is None:
                found[tag] = self._keep(tag, news)
            else:
                where = {"partition": asked.partition, "why_there": asked.why_there, "billing": asked.billing}
                found[tag] = self._keep(tag, structs.replace(news, **where))
        if vanished and look is not None:
            found |= self._vanished(vanished, look)
        return {tag: found.get(tag, JobNews(JobPhase.UNKNOWN)) for tag in tags}

    def _keep(self, tag: str, news: JobNews) -> JobNews:
        news = keep(self._known.get(tag), news)
        if news.phase is not JobPhase.UNKNOWN:
            self._known[tag] = news
        return news

    def _by_slurm(self, folder: JobFolder, asked: Asked, job: SeenJob) -> JobNews:
        configuration = self._site.configuration()
        kills_for_memory = configuration is not None and configuration.kills_for_memory
        return by_slurm(folder, asked, job, kills_for_memory=kills_for_memory)

    def _resolve(self, tag: str, asked: Asked, look: Look | None) -> JobNews | None:
        """Say what is known of a job; None if it should be in the queue and is not."""
        if self.is_over(tag) and tag not in self._submitter.unanswered:
            return self.known(tag)
        folder = self._submitter.folder(tag)
        jobs = self.of_this_run(tag, look)
        job = ours(folder, asked, jobs)
        number = folder.claimed_by() or (job.job_id if job else None) or asked.job_id
        if number != asked.job_id and number is not None:  # sbatch's answer was lost, or a duplicate job was faster
            asked = structs.replace(asked, job_id=number, sent=True, why_waiting="")
            folder.note(asked)
        self._canceller.cancel(duplicates(asked, jobs))
        sent_at = self._submitter.unanswered.get(tag)
        if sent_at is not None and time.time() - sent_at > self._options.open_s:
            del self._submitter.unanswered[tag]
        if asked.refused:
            return _refused(asked)
        if job is not None and self._is_hopeless(tag, job, look):
            return self._refuse(folder, asked, job)
        if job is not None:
            self._missing_since.pop(tag, None)
            self._unseen.pop(tag, None)
            news = self._by_slurm(folder, asked, job)
            if asked.preempted_at is None and (news.ending is Ending.PREEMPTED or job.restarts):
                folder.note(structs.replace(asked, preempted_at=time.time()))  # for the rate of preemptions
            is_sure = job.state == "RUNNING" and news.phase is JobPhase.RUNNING
            return structs.replace(news, confirmed_at=look.at if is_sure and look is not None else None)
        return self._not_in_queue(tag, folder, asked, look)

    def _is_hopeless(self, tag: str, job: SeenJob, look: Look | None) -> bool:
        """Whether two looks at the queue say that a job will never start."""
        if look is None or job.state != "PENDING" or not never(job.reason):
            self._hopeless_since.pop(tag, None)
            return False
        return look.at > self._hopeless_since.setdefault(tag, look.at)

    def _refuse(self, folder: JobFolder, asked: Asked, job: SeenJob) -> JobNews:
        """Cancel a job that Slurm has accepted and will never start."""
        self._canceller.cancel({job.job_id})
        folder.close()
        asked = structs.replace(asked, refused=never(job.reason))
        folder.note(asked)
        return _refused(asked)

    def _not_in_queue(self, tag: str, folder: JobFolder, asked: Asked, look: Look | None) -> JobNews | None:
        unknown = JobNews(JobPhase.UNKNOWN, asked.job_id, message=asked.why_waiting)
        known = by_marks(folder, unknown)
        self._unseen.pop(tag, None)
        if known.phase is JobPhase.ENDED:
            if not asked.cancelled and (look is None or look.at <= (known.ended_at or 0.0) + 1.0):
                return structs.replace(known, ending=None)  # no look since then: Slurm may say why
            return _cancelled(known) if asked.cancelled and known.ending is not Ending.SUCCESS else known
        if asked.cancelled and folder.is_closed():
            return _cancelled(JobNews(JobPhase.ENDED, asked.job_id))
        if asked.job_id is None:
            if asked.sent:
                self._submitter.unanswered.setdefault(tag, asked.at)
            return self._send_again(tag, asked, look)
        if look is None or look.at <= asked.at + 1.0:  # squeue may not show it yet
            if known.started_at is None:
                self._unseen[tag] = asked.at
            return structs.replace(known, phase=JobPhase.RUNNING if known.started_at else JobPhase.PENDING)
        return None

    def _send_again(self, tag: str, asked: Asked, look: Look | None) -> JobNews:
        """Send a job that was not sent yet, or whose answer was lost and that cannot be found."""
        if not asked.sent:
            asked = self._submitter.send(tag, asked)
        elif look is not None and look.at > asked.at + self._options.resubmit_s:
            rows = self._accounted(self._by_name, sorted(self._submitter.unanswered))
            folder = self._submitter.folder(tag)
            number = next((row.job_id for row in reversed(rows or []) if row.directory == str(folder.path)), None)
            if number is not None:
                asked = structs.replace(asked, job_id=number)
                folder.note(asked)
            elif rows is not None:
                asked = self._submitter.send(tag, asked)
        if asked.refused:
            return _refused(asked)
        known = asked.job_id is not None or not asked.sent
        phase, why = JobPhase.PENDING if known else JobPhase.UNKNOWN, asked.why_waiting
        return JobNews(phase, asked.job_id, message=why)

    def _vanished(self, tags: list[str], look: Look) -> dict[str, JobNews]:
        """Find out about jobs that the queue no longer shows."""
        found: dict[str, JobNews] = {}
        asked = {tag: entry for tag in tags if (entry := self._submitter.folder(tag).asked()) is not None}
        numbers = sorted(entry.job_id for entry in asked.values() if entry.job_id is not None)
        last = {row.job_id: row for row in self._accounted(self._by_id, list(map(str, numbers))) or []}
        for tag, entry in asked.items():
            folder = self._submitter.folder(tag)
            row = last.get(entry.job_id or 0)
            # If accounting says that a job runs, that may be out of date.
            news = self._by_slurm(folder, entry, row) if row and row.phase is JobPhase.ENDED else None
            missing_s = look.at - self._missing_since.setdefault(tag, look.at)
            if news is None and missing_s >= self._options.open_s:
                news = self._give_up(folder, entry)
            if news is None and entry.cancelled:
                news = _cancelled(JobNews(JobPhase.ENDED, entry.job_id))
            unknown = JobNews(JobPhase.UNKNOWN, entry.job_id, message="the queue does not show it any more")
            found[tag] = self._keep(tag, news) if news else by_marks(folder, unknown)
            if news is not None:
                self._missing_since.pop(tag, None)
        return found

    def _give_up(self, folder: JobFolder, asked: Asked) -> JobNews | None:
        """Prove that a job missing for long is over: cancel what may exist, and close its folder to late starts."""
        if asked.job_id is None or not self._canceller.cancel({asked.job_id}):
            return None
        folder.close()
        known = by_marks(folder, JobNews(JobPhase.UNKNOWN, asked.job_id))
        message = "Slurm has forgotten it, and does not say how it ended"
        return structs.replace(known, phase=JobPhase.ENDED, ending=Ending.NODE_LOST, message=message)

    def _accounted(self, accounts: Accounts, wanted: list[str]) -> list[SeenJob] | None:
        """Ask accounting: an empty answer where there is no accounting, None if it does not answer now."""
        configuration = self._site.configuration()
        if configuration is None:
            return None
        return accounts.of(wanted) if configuration.keeps_accounts and wanted else []


def _refused(asked: Asked) -> JobNews:
    return JobNews(JobPhase.ENDED, asked.job_id, ending=Ending.LAUNCH_FAILED, message=asked.refused, refused=True)


def _cancelled(news: JobNews) -> JobNews:
    return structs.replace(news, ending=Ending.CANCELLED, message="it was cancelled by Headway")
