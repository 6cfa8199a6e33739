"""`headway plan W --on slurm`: the cluster's own queue, as it is now, and what is known of the tasks' run times."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.output import warn
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.clusters.slurm.queue_now import QueueNow
    from headway.kernels.batch.queue import BatchQueue
    from headway.model.instance import Instance
    from headway.model.records import SeenWait
    from headway.model.workflow import Workflow

SLURM = "slurm"
_SITE = ("partition", "account", "qos", "constraint")
_OF_A_TRACE = (
    *("start", "backfill", "depth", "nodes", "rules", "requests", "cancelled", "processors", "overrun"),
    *("machine", "skip_bad", "jobs", "load"),
)


def check_site_options(ctx: click.Context, trace: str) -> None:
    """Options that say nothing about such a queue are mistakes."""
    stray = _OF_A_TRACE if trace == SLURM else _SITE
    whom = "logs, and this queue is a real one" if trace == SLURM else "a real queue, and this is a log"
    for name in stray:
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise InputError(f"this is for {whom}", where=f"--{name.replace('_', '-')}", todo="leave it out")


def read_queue(site: dict[str, Any]) -> QueueNow:
    """The real queue; nothing is submitted."""
    from headway.clusters.slurm.options import SlurmOptions
    from headway.clusters.slurm.queue_now import queue_now

    return queue_now(SlurmOptions(**site))


def kept_waits(history: str, site: str) -> tuple[SeenWait, ...]:
    """How long jobs of earlier runs have waited there."""
    from headway.drivers.run_history import RunHistory, history_key

    earlier = RunHistory(history_key(history, "", site), warn, read_only=True)
    waits = tuple(earlier.waits())
    earlier.close()
    return waits


def expected_instance(path: Path, history: str, site: str) -> Instance:
    """The workflow with how long its tasks should run: as recorded, as seen in earlier runs, or as the user says."""
    from headway.formats.read_any import read_instance
    from headway.model.instance import Recorded
    from headway.planning.run_times import UNKNOWN_S
    from headway.report.words import count

    instance = read_instance(path)
    run_times, seen = _learned(instance.workflow, history, site)
    unknown = 0
    for task in instance.workflow:
        recorded = instance.recorded.get(task.id)
        if recorded is None or recorded.run_s is None:
            unknown += task.category not in seen and not task.hints.get("walltime_s")
            instance.recorded[task.id] = Recorded(run_s=run_times(task))
    if unknown:
        guess = "what others take" if seen else f"{UNKNOWN_S / 60:.0f} minutes"
        warn(f"nothing is known of how long {count(unknown, 'task')} will run: {guess} is assumed")
    return instance


def _learned(workflow: Workflow, history: str, site: str) -> tuple[Any, set[str]]:
    """What earlier runs on that site tell of run times, and of which categories."""
    from headway.drivers.run_history import RunHistory, history_key
    from headway.model.outcome import Ending
    from headway.planning.run_times import RunTimes

    run_times, seen = RunTimes(), set()
    learning = RunHistory(history_key(history, workflow.name, site), warn, read_only=True)
    for observation in learning.observations(dict.fromkeys(task.category for task in workflow)):
        task, outcome = observation.as_task(), observation.as_outcome()
        run_times.observe(task, outcome)
        if outcome.ending is Ending.SUCCESS:
            seen.add(task.category)
    learning.close()
    return run_times, seen


def imagined(now: QueueNow, number: int, seed: int, most_jobs: int) -> BatchQueue:
    """A future of the queue. Nobody comes in it. In the first all take what they asked for, in the others any share."""
    import numpy as np

    from headway.kernels.batch.queue import BatchQueue, Scheduling

    jobs = [*now.running, *now.waiting]
    nodes = np.array([nodes for nodes, _ in jobs], np.float64)
    asked_s = np.array([max(1.0, asked_s) for _, asked_s in jobs], np.float64)
    draw = np.random.Generator(np.random.Philox(key=seed + number))
    share = draw.uniform(size=len(jobs)) if number else np.ones(len(jobs))
    queue = BatchQueue(
        now.machine,
        Scheduling("conservative"),
        submit=np.zeros(len(jobs)),
        nodes=nodes,
        req=asked_s,
        run=np.maximum(1.0, asked_s * share),
        most_jobs=most_jobs,
    )
    queue.advance(0.0)
    return queue
