"""Jobs of Slurm as tasks: what sacct, seff and the reports of other tools say of a job, and the log made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, islice
from math import ceil
from operator import itemgetter

from msgspec import Struct

from headway.formats import spooled
from headway.formats.log_amounts import bytes_of
from headway.formats.log_table import BadRows
from headway.formats.nextflow_trace import machine_of
from headway.formats.spooled import Sorting, kept
from headway.model.task_log import LoggedTask, TaskLog

COMMAND = (
    "sacct -P --format=JobID,JobName,Comment,State,Start,ElapsedRaw,Timelimit,TotalCPU,NNodes,NCPUS,NTasks,"
    "ReqMem,MaxRSS"
)
MB = 2.0**20  # of Slurm

_SNAKEMAKE = re.compile(r"rule_(.+?)(?:_wildcards_.*)?")  # the comment of a job of Snakemake's Slurm plugin
_NEXTFLOW = re.compile(r"nf-(.+?)(?:_\(.*)?")  # the name of a job of Nextflow: nf-ALIGN_(sample_1)


class SlurmJob(Struct):
    """A job. Memory is that of a node: Slurm enforces it there."""

    id: str
    name: str = ""
    comment: str = ""
    state: str = ""  # empty: unknown, as in reports without states
    run_s: float | None = None
    peak: float = 0.0
    asked: float = 0.0  # 0: unknown, or all memory of the node
    started_at: float = 0.0
    nodes: int = 1
    cpus: float = 0.0  # of all nodes; 0: unknown
    cpu_s: float = 0.0
    limit_s: float = 0.0

    @property
    def category(self) -> str:
        """The rule of a job of Snakemake, the process of one of Nextflow; else the job's name."""
        rule, process = _SNAKEMAKE.fullmatch(self.comment), _NEXTFLOW.fullmatch(self.name)
        return rule[1] if rule else process[1] if process else self.name or "job"

    def measured(self, max_rss: float, tasks: int) -> None:
        """Note the peak of a step, which Slurm gives for its largest process group (task)."""
        self.peak = max(self.peak, max_rss * max(1, ceil(tasks / self.nodes)))


def asked_on_a_node(text: str, cpus: int, nodes: int, where: str) -> float:
    """The memory that a job asked for on a node: `4Gn` is that of a node, `4Gc` of a core, `4G` of all of its nodes.

    0 means all memory of the node.
    """
    nodes = max(1, nodes)
    amount = bytes_of(text.rstrip("nc"), "ReqMem", where, MB)
    return amount * ceil(cpus / nodes) if text.endswith("c") else amount if text.endswith("n") else amount / nodes


class SlurmJobs:
    """Jobs by their number. Of very many, those that were added long ago are packed: nothing more will be said of them.

    If a job is added again after it was packed, the last one counts.
    """

    def __init__(self) -> None:
        self.recent: dict[str, SlurmJob] = {}
        self._older: Sorting[tuple[str, int, SlurmJob]] = Sorting(tuple[str, int, SlurmJob])
        self._packed = 0

    def add(self, job: SlurmJob) -> SlurmJob:
        """Add a job and return it."""
        self.recent[job.id] = job
        if len(self.recent) >= 2 * spooled.IN_MEMORY:
            self._pack(spooled.IN_MEMORY)
        return job

    def _pack(self, count: int) -> None:
        for number in list(islice(self.recent, count)):
            self._older.add((number, self._packed, self.recent.pop(number)))
            self._packed += 1

    def __len__(self) -> int:
        return self._packed + len(self.recent)

    def none_measured(self) -> bool:
        """Whether there are jobs, and none has a peak of memory; not asked of jobs that were packed."""
        return bool(self.recent) and not self._packed and not any(job.peak for job in self.recent.values())

    def last(self) -> Iterator[tuple[int, SlurmJob]]:
        """Yield each job once, with its place in the order in which jobs were added."""
        self._pack(len(self.recent))
        for _, same in groupby(self._older, key=itemgetter(0)):
            *_, (_, place, job) = same
            yield place, job


def log_of(jobs: SlurmJobs, name: str, bad: BadRows) -> TaskLog:
    """The jobs that completed and were measured, in the order of their start."""
    count = bad.count
    by_start: Sorting[tuple[float, int, LoggedTask]] = Sorting(tuple[float, int, LoggedTask])
    for place, job in jobs.last():
        count += 1
        task = _task(job)
        if task:
            by_start.add((task.started_at, place, task))
    tasks = kept(task for _, _, task in by_start)
    memory = ("memory_bytes",)
    return TaskLog(name, tasks, memory, machine_of(tasks), memory, {}, count - len(tasks), bad.count, bad.said())


def _task(job: SlurmJob) -> LoggedTask | None:
    if job.state not in ("", "COMPLETED") or not job.peak or job.run_s is None:
        return None
    category = job.category
    name = job.comment if job.comment.startswith("rule_") else job.name
    wish = {"memory_bytes": job.asked, "cores": job.cpus / job.nodes, "walltime_s": job.limit_s}
    used = {"memory_bytes": job.peak, "cores": job.cpu_s / job.run_s / job.nodes if job.run_s else 0.0}
    return LoggedTask(
        job.id,
        category,
        job.run_s,
        {resource: amount for resource, amount in used.items() if amount > 0},
        {resource: amount for resource, amount in wish.items() if amount > 0},
        started_at=job.started_at,
        name="" if name == category else name,
    )
