"""Jobs of Slurm as tasks: what sacct, seff and the reports of other tools say of a job, and the log made of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import ceil

from msgspec import Struct

from headway.formats.log_amounts import bytes_of
from headway.formats.log_table import BadRows
from headway.formats.nextflow_trace import machine_of
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


def log_of(jobs: dict[str, SlurmJob], name: str, bad: BadRows) -> TaskLog:
    """The jobs that completed and were measured, in the order of their start. `jobs` is emptied: logs may be large."""
    count = len(jobs) + bad.count
    tasks = list(_tasks(jobs.pop(job) for job in list(jobs)))
    tasks.sort(key=lambda task: task.started_at)
    memory = ("memory_bytes",)
    return TaskLog(name, tasks, memory, machine_of(tasks), memory, {}, count - len(tasks), bad.count, bad.said())


def _tasks(jobs: Iterable[SlurmJob]) -> Iterator[LoggedTask]:
    categories: dict[str, str] = {}  # one text for all tasks of a category
    wishes: dict[tuple[float, ...], dict[str, float]] = {}  # shared by all tasks with the same request
    for job in jobs:
        if job.state not in ("", "COMPLETED") or not job.peak or job.run_s is None:
            continue
        category = categories.setdefault(job.category, job.category)
        name = job.comment if job.comment.startswith("rule_") else job.name
        wish = job.asked, job.cpus / job.nodes, job.limit_s
        asked = wishes.get(wish)
        if asked is None:
            found = zip(("memory_bytes", "cores", "walltime_s"), wish, strict=True)
            asked = wishes[wish] = {resource: amount for resource, amount in found if amount > 0}
        used = {"memory_bytes": job.peak, "cores": job.cpu_s / job.run_s / job.nodes if job.run_s else 0.0}
        yield LoggedTask(
            job.id,
            category,
            job.run_s,
            {resource: amount for resource, amount in used.items() if amount > 0},
            asked,
            started_at=job.started_at,
            name="" if name == category else name,
        )
