"""`Submitter`: hands jobs to Slurm, each at most once as far as it matters, whatever becomes of sbatch's answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import structs

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.marks import SCRIPT, Asked, JobFolder
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.pace import Paced
from headway.clusters.slurm.script import check_tag, job_script
from headway.clusters.slurm.site import SlurmSite, UnreachableError
from headway.clusters.slurm.squeue import Look
from headway.clusters.slurm.submission import Reply, sbatch_arguments, send
from headway.model.errors import SiteError
from headway.model.resources import Resources

_log = logging.getLogger(__name__)


class Submitter:
    """Submits jobs, and remembers the submissions whose outcome is unknown.

    The request is written to the job's folder before sbatch is called. The job that claims the folder first is the only
    one that works, so a submission whose answer was lost may be sent again: a duplicate job does no harm.
    """

    def __init__(
        self,
        jobs: Path,
        commands: Commands,
        site: SlurmSite,
        options: SlurmOptions,
        node_command: Callable[[str], Sequence[str]],
        own_jobs: Paced[Look],
    ) -> None:
        self._jobs = jobs
        self._commands = commands
        self._site = site
        self._options = options
        self._node_command = node_command
        self._own_jobs = own_jobs
        self.unanswered: dict[str, float] = {}  # by tag, when sent: looked for at every poll

    def folder(self, tag: str) -> JobFolder:
        """The folder of a job."""
        return JobFolder(self._jobs, check_tag(tag))

    def submit(self, per_node: Resources, tag: str, after: str | None) -> None:
        """Submit a job, unless that was done before; a SiteError if Slurm will never accept it."""
        folder = self.folder(tag)
        asked = folder.asked()
        if asked is None:
            if after is not None and self.folder(after).asked() is None:
                raise SiteError(f"job {after}, whose end {tag} should wait for, was never submitted")
            folder.make()
            asked = Asked(per_node, time.time(), after)
            folder.note(asked)
            asked = self.send(tag, asked)
        if asked.refused:
            raise SiteError(f"Slurm cannot take job {tag}: {asked.refused}", where=str(folder.path))

    def send(self, tag: str, asked: Asked) -> Asked:
        """Send a job to Slurm, if that is possible now; return what is known then, which is also in the folder."""
        folder = self.folder(tag)
        reply, asked = self._attempt(tag, folder, asked)
        match reply.kind:
            case "accepted":
                _log.info("job %s is submitted as %s", tag, reply.job_id)
                asked = structs.replace(asked, job_id=reply.job_id, why_waiting="")
            case "refused":
                _log.info("job %s is refused: %s", tag, reply.words)
                folder.close()  # should a job exist all the same, it does nothing
                asked = structs.replace(asked, refused=reply.words)
                self.unanswered[tag] = asked.at
            case "lost":
                _log.info("job %s is not submitted yet, or its id is unknown: %s", tag, reply.words)
                asked = structs.replace(asked, why_waiting=reply.words)
                if asked.sent:
                    self.unanswered[tag] = asked.at
        folder.note(asked)
        return asked

    def _attempt(self, tag: str, folder: JobFolder, asked: Asked) -> tuple[Reply, Asked]:
        parent = None
        if asked.after is not None:
            parent = self.folder(asked.after).asked()
            if parent is not None and parent.job_id is None and not parent.refused and not parent.cancelled:
                words = f"the Slurm id of job {asked.after}, whose end it waits for, is not known yet"
                return Reply("lost", words=words), asked
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
        folder.note(asked)  # from here on a job may exist, whatever sbatch answers
        return send(self._commands, arguments), asked

    def _too_many(self) -> str:
        """Say that the user's limit on jobs is reached; nothing if it is not."""
        most = self._site.most_jobs()
        look = self._own_jobs.answer() if most is not None else None
        if most is None or look is None or look.live() < most:
            return ""
        return f"you have {look.live()} jobs in the queue and may have {most}"
