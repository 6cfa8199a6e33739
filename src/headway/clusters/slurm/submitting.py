"""`Submitter` hands jobs to Slurm, each at most once as far as it matters; `Canceller` cancels them."""

from __future__ import annotations

import logging
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct, field, structs

from headway.clusters.slurm.commands import Answer, Commands, NoAnswerError, Paced
from headway.clusters.slurm.job_folder import SCRIPT, Asked, JobFolder, check_tag, job_script
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.partitions import has_all_memory, suits
from headway.clusters.slurm.preemption import rate_of
from headway.clusters.slurm.site import SlurmSite, UnreachableError
from headway.clusters.slurm.site_reading import Partition
from headway.clusters.slurm.squeue import Look, SeenJob
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest
from headway.model.resources import Resources

_log = logging.getLogger(__name__)

OWN_MEMORY_MIB = 256  # for our own processes on a node, beside the tasks' share
_AGAIN_AFTER_S = 5.0  # between two requests to cancel the same job
_MINUTE_S = 60.0
_NUMBER = re.compile(r"(\d{1,12})(?:;[\w.-]*)?", re.ASCII)
# sbatch's errors after which the same request can never succeed.
_FOR_GOOD = re.compile(
    "invalid (partition|account|qos|feature|generic resource|wckey|license|constraint)"
    "|requested (node configuration|partition configuration|reservation) (is )?(not available|invalid|not permitted)"
    "|requested time limit is invalid|node count specification invalid|memory specification can not be satisfied"
    "|more processors requested than permitted|group not permitted|permission denied|unrecognized option"
    "|invalid generic resource|reservation .{0,200} not usable",
    re.IGNORECASE,
)
# Errors on the way to the controller and back: a job may exist.
NO_ANSWER = re.compile(
    "unable to contact|timed out|connect|zero bytes|not responding|communication|try again|temporarily|message"
    "|protocol|authenticat|munge|credential|controller|standby|shutdown|resource temporarily|interrupted|i/o error",
    re.IGNORECASE,
)
# There are too many jobs in the queue, of the user (AssocMaxSubmitJobLimit), a group of users, or all. Without such a
# name, sbatch's sentence means that, or a job that is too large.
TOO_MANY = re.compile(r"SubmitJobs?\w{0,40}Limit|MaxJobCount|^Job violates accounting/QOS policy", re.ASCII)
_PREFIX = re.compile(r"^\s*(?:\w+: )?(?:error|fatal): (?:Batch job submission failed: )?|^allocation failure: ")
_REPEAT_AFTER_S = 1.0  # a refusal counts when it is given twice


class Submitter(Struct):
    """Submits jobs, and remembers the submissions whose outcome is unknown.

    The request is written to the job's folder before sbatch is called. The job that claims the folder first is the only
    one that works, so a submission whose answer was lost may be sent again: a duplicate job does no harm.
    """

    jobs: Path
    commands: Commands
    site: SlurmSite
    options: SlurmOptions
    node_command: Callable[[str], Sequence[str]]
    own_jobs: Paced[Look]
    unanswered: dict[str, float] = field(default_factory=dict)  # by tag, when sent: looked for at every poll
    avoided: dict[str, float] = field(default_factory=dict)  # nodes that jobs are to be without, until a time
    sent_at: list[float] = field(default_factory=list)  # when sbatch was called, in the last minute

    def folder(self, tag: str) -> JobFolder:
        """The folder of a job."""
        return JobFolder(self.jobs, check_tag(tag))

    def submit(self, request: JobRequest, tag: str, after: str | None) -> None:
        """Submit a job, unless that was done before; a SiteError if Slurm will never accept it."""
        folder = self.folder(tag)
        asked = folder.asked()
        if asked is None:
            if after is not None and self.folder(after).asked() is None:
                raise SiteError(f"job {after}, whose end {tag} should wait for, was never submitted")
            folder.make()
            shared = request.places is not None
            asked = Asked(
                request.per_node, time.time(), after, shared=shared, at_stake_s=request.at_stake_s, wish=request.wish
            )
            folder.note(asked)
            asked = self.send(tag, asked)
        if asked.refused:
            raise SiteError(f"Slurm refuses the job: {asked.refused}")

    def send(self, tag: str, asked: Asked) -> Asked:
        """Send a job to Slurm, if that is possible now; return what is known then, which is also in the folder."""
        folder, before = self.folder(tag), asked
        reply, asked = self._attempt(tag, folder, asked)
        match reply.kind:
            case "accepted":
                _log.info("job %s is submitted as %s", tag, reply.job_id)
                asked = structs.replace(asked, job_id=reply.job_id, why_waiting="")
                self.site.note_submitted(_as_it_waits(asked))
            case "refused":
                _log.info("job %s is refused: %s", tag, reply.words)
                folder.close()  # should a job exist all the same, it does nothing
                asked = structs.replace(asked, refused=reply.words)
                self.unanswered[tag] = asked.at
            case "lost" | "unclear":
                _log.info("job %s is not submitted yet, or its id is unknown: %s", tag, reply.words)
                asked = structs.replace(asked, why_waiting=reply.words)
                if asked.sent:
                    self.unanswered[tag] = asked.at
        if asked != before:  # one that is held back is tried again every second
            folder.note(asked)
        return asked

    def _attempt(self, tag: str, folder: JobFolder, asked: Asked) -> tuple[Reply, Asked]:
        site = self.site.wishing(asked.wish)
        parent = None
        if asked.after is not None:
            parent = self.folder(asked.after).asked()
            if parent is not None and parent.job_id is None and not parent.refused and not parent.cancelled:
                words = f"the Slurm id of job {asked.after}, whose end it waits for, is not known yet"
                return Reply("lost", words=words), asked
        if (words := self._too_fast()) != "":
            return Reply("lost", words=words), asked
        try:
            site, (partition, why, *_) = site.place_for(asked, partial(rate_of, self.jobs))
            charged = site.billing(asked.per_node, partition)
            if (words := self._too_many(site)) != "":
                return Reply("lost", words=words), asked
        except UnreachableError as error:
            return Reply("lost", words=str(error)), asked
        except SiteError as error:
            return Reply("refused", words=str(error)), asked
        folder.write(SCRIPT, job_script(folder.path, self.node_command(tag)).encode())
        after = parent.job_id if parent else None
        avoided = [node for node, until in self.avoided.items() if until > time.time()]
        arguments = sbatch_arguments(tag, folder.path, asked, partition, site.options, after, avoided)
        asked = structs.replace(
            asked, sent=True, at=time.time(), partition=partition.name, why_there=why, billing=charged
        )
        folder.note(asked)  # from here on a job may exist, whatever sbatch answers
        self.sent_at.append(asked.at)
        reply = send(self.commands, arguments)
        if reply.kind == "unclear" and self._is_not_there(tag):
            first = reply
            time.sleep(_REPEAT_AFTER_S)
            reply = send(self.commands, arguments)
            if reply == first and self._is_not_there(tag):
                reply = Reply("refused", words=reply.words)
        if reply.kind == "lost" and TOO_MANY.search(reply.words):
            site.learn_most_jobs(self.own_jobs.answer(now=True))
        if reply.kind == "refused":
            reply = Reply("refused", words=f"{reply.words}{site.allowed_instead(reply.words)}")
        return reply, asked

    def are_new(self, tags: Iterable[str]) -> bool:
        """Whether all these jobs were submitted so lately that nothing is to be learned from the queue yet."""
        return not self.unanswered and all(map(self._is_new, tags))

    def _is_new(self, tag: str) -> bool:
        folder = self.folder(tag)
        asked, runs = folder.asked(), folder.claimed_by() is not None
        new_s = self.options.interval_s if runs else self.options.urgent_s
        return asked is not None and (not asked.sent or (asked.job_id is not None and time.time() - asked.at < new_s))

    def _is_not_there(self, tag: str) -> bool:
        """Whether the queue, read now, shows no job of this tag."""
        began_at = time.time()
        look = self.own_jobs.answer(now=True)
        if look is None or look.at < began_at:
            return False
        return not any(job.directory == str(self.folder(tag).path) for job in look.by_name.get(tag, ()))

    def _too_fast(self) -> str:
        """Say that no more jobs may be submitted in this minute; nothing if one may."""
        now, most = time.time(), self.options.submissions
        self.sent_at = [at for at in self.sent_at if now - at < _MINUTE_S]
        return f"Headway submits at most {most} jobs a minute" if len(self.sent_at) >= most else ""

    def _too_many(self, site: SlurmSite) -> str:
        """Say that the user's limit on jobs is reached; nothing if it is not."""
        most = site.most_jobs()
        look = self.own_jobs.answer() if most is not None else None
        if most is None or look is None:
            return ""
        there = look.live() + sum(at > look.at for at in self.sent_at)
        # The manager's own job is among those that are there; the next one must find room.
        if there < most - self.options.managed_in_job:
            return ""
        kept = "; one is kept for the next manager" if self.options.managed_in_job else ""
        return f"you have {there} jobs in the queue and may have {most}{site.why_most_jobs()}{kept}"


def _as_it_waits(asked: Asked) -> SeenJob:
    """A job that was just submitted, as the queue will show it."""
    per_node, nodes = asked.per_node, asked.per_node.nodes
    return SeenJob(
        job_id=asked.job_id or 0,
        state=JobPhase.PENDING.upper(),
        user=os.getuid(),
        reason="Dependency" if asked.after else "",
        submitted_at=asked.at,
        limit_s=per_node.walltime_s,
        nodes=nodes,
        cpus=math.ceil(per_node.cores) * nodes,
        partition=asked.partition,
        alone=not asked.shared,
        memory_bytes=per_node.memory_bytes * nodes,
        gpus=math.ceil(per_node.gpus) * nodes,
    )


class Canceller:
    """Asks Slurm to cancel jobs by their ids."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._asked_at: dict[int, float] = {}
        self._wanted: set[int] = set()

    def want(self, job_ids: set[int]) -> None:
        """Cancel these jobs as well with the next call."""
        self._wanted |= job_ids

    def accepted(self, job_id: int | None) -> bool:
        """Whether Slurm has accepted that a job is cancelled."""
        return job_id in self._asked_at

    def cancel(self, job_ids: set[int]) -> bool:
        """Ask for these jobs to be cancelled, except those of the last moments; return whether Slurm accepted it."""
        at = time.monotonic()
        due = {number for number in job_ids if at - self._asked_at.get(number, -_AGAIN_AFTER_S) >= _AGAIN_AFTER_S}
        if due:
            due |= self._wanted - self._asked_at.keys()
            self._wanted.clear()
        if not due:
            return True
        _log.info("cancelling jobs %s", sorted(due))
        try:
            answer = self._commands.read("scancel", "--quiet", *map(str, sorted(due)))
        except NoAnswerError:
            return False
        said = answer.complaint.lower().splitlines()
        accepted = answer.code == 0 or (bool(said) and all("invalid job id" in line for line in said))
        if accepted:
            self._asked_at |= dict.fromkeys(due, at)
        return accepted


class Reply(NamedTuple):
    """The outcome of a submission: accepted, refused for good, lost, which means unknown, or unclear.

    An unclear answer is an error that sbatch did not have on its way to the controller. Given twice, it is a refusal.
    """

    kind: Literal["accepted", "refused", "lost", "unclear"]
    job_id: int | None = None
    words: str = ""


def resource_arguments(
    asked: Resources, partition: Partition, options: SlurmOptions, *, shared: bool = False
) -> list[str]:
    """A request as arguments of sbatch: for whole nodes, or for a share of each."""
    memory_mib = max(1, math.ceil(asked.memory_bytes / 2**20))
    # Slurm counts in minutes; a job without a limit of its own gets the partition's.
    longest_s = partition.max_time_s if asked.walltime_s is None else asked.walltime_s
    arguments = [
        f"--partition={partition.name}",
        f"--nodes={asked.nodes}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={max(1, math.ceil(asked.cores))}",
        f"--time={'UNLIMITED' if longest_s is None else max(1, math.ceil(longest_s / 60))}",
    ]
    if not shared:
        all_memory = has_all_memory(asked, partition, options)
        arguments += ["--exclusive", f"--mem={0 if all_memory else memory_mib}M"]  # 0: all memory of a node
    elif asked.memory_bytes:
        large = [node.memory_bytes for node in partition.nodes if node.memory_bytes >= asked.memory_bytes]
        most_bytes = min(large, default=asked.memory_bytes)
        memory_mib = min(memory_mib + OWN_MEMORY_MIB, max(memory_mib, most_bytes // 2**20))
        arguments.append(f"--mem={memory_mib}M")
    if asked.gpus and not any(flag.startswith(("--gres=", "--gpus-per-node=")) for flag in options.flags):
        kind = f"{options.gpu_type}:" if options.gpu_type else ""
        arguments.append(f"--gpus-per-node={kind}{math.ceil(asked.gpus)}")
    return arguments


def sbatch_arguments(
    tag: str,
    folder: Path,
    asked: Asked,
    partition: Partition,
    options: SlurmOptions,
    after: int | None,
    avoided: Sequence[str] = (),
) -> list[str]:
    """The whole sbatch command."""
    dependency = [f"--dependency=afterany:{after}", "--kill-on-invalid-dep=yes"] if after is not None else []
    return [
        "sbatch",
        "--parsable",
        f"--job-name={check_tag(tag)}",
        *resource_arguments(asked.per_node, partition, options, shared=asked.shared),
        *options.arguments(),
        *exclusion(asked.per_node.nodes, partition, options, avoided),
        *dependency,
        "--requeue" if options.requeue else "--no-requeue",
        "--no-kill",  # if one node fails, the others go on
        "--export=ALL",
        f"--chdir={folder}",
        "--output=/dev/null",  # the script opens its log: Slurm would replace %j and the like in a folder's name
        str(folder / SCRIPT),
    ]


def exclusion(nodes: int, partition: Partition, options: SlurmOptions, avoided: Sequence[str]) -> list[str]:
    """The argument that excludes nodes, with those that the user excludes; as many as leave enough others."""
    usable = [node.name for node in partition.nodes if node.works and suits(node, options)]
    bad = [node for node in avoided if node in usable][: max(0, len(usable) - nodes)]
    own = [flag.partition("=")[2] for flag in options.flags if flag.startswith("--exclude=")]
    return [f"--exclude={','.join([*own, *bad])}"] if bad else []


def send(commands: Commands, arguments: list[str]) -> Reply:
    """Call sbatch. No answer, or an error, does not prove that there is no job."""
    try:
        answer = commands.act(*arguments)
    except NoAnswerError as error:
        return Reply("lost", words=str(error))
    found = _NUMBER.fullmatch(answer.text.strip())
    if answer.code == 0 and found and int(found[1]) > 0:
        return Reply("accepted", int(found[1]))
    words = complaint_of(answer)
    if refusal(answer):
        return Reply("refused", words=words)
    if answer.code == 0 or not words:
        return Reply("lost", words=words or f"sbatch ended with code {answer.code} and said nothing that can be read")
    # Only sbatch's own last line: the sentences of a site may contain any word.
    no_answer = NO_ANSWER.search(answer.complaint.splitlines()[-1])
    return Reply("lost" if no_answer or TOO_MANY.search(words) else "unclear", words=words)


def complaint_of(answer: Answer) -> str:
    """All that a command complained about, a site's own sentences included, on one line without its prefixes."""
    lines = [_PREFIX.sub("", line).strip().rstrip(".;") for line in answer.complaint.splitlines()]
    said = [line for line in dict.fromkeys(lines) if line]
    return "; ".join([line for line in said if line != "Unspecified error"] or said)


def refusal(answer: Answer) -> str:
    """Say why the same request can never succeed, in sbatch's words; nothing if it may succeed."""
    return complaint_of(answer) if answer.code != 0 and _FOR_GOOD.search(answer.complaint) else ""
