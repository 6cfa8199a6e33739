"""`plan(…, on="slurm")`: the queue of the cluster here as it is now, and the run times that earlier runs taught."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from msgspec import structs

from headway.api.reading import config_values
from headway.api.settings import batch_settings, settings_for
from headway.api.workflow_in_queue import OF_JOBS, PlanSettings, QueueAt
from headway.clusters.slurm.options import options_of
from headway.clusters.slurm.queue_now import QueueNow, queue_now
from headway.drivers.origins import origin_of
from headway.drivers.run_history import RunHistory, Warn, history_key
from headway.formats.read_any import read_instance
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model.errors import InputError
from headway.model.instance import Instance, Recorded
from headway.model.outcome import Ending
from headway.model.resources import Resources
from headway.model.workflow import Workflow
from headway.planning.run_times import UNKNOWN_S, RunTimes
from headway.report.words import count

_PLENTY_BYTES = 1 << 50  # of disk, of which Slurm's queue knows nothing


def queue_on_slurm(path: Path, asked: PlanSettings, usual_most_jobs: int) -> QueueAt:
    """Read the real queue; nothing is submitted."""
    warnings: list[str] = []
    given = {name: getattr(asked, name) for name in OF_JOBS} | {"nodes": asked.asks()}
    now = queue_now(options_of(batch_settings(path.absolute().parent, given)))
    instance = expected_instance(path, asked.history, now.cluster, warnings.append, config_values(asked.set))
    most_jobs = min((limit for limit in (asked.most_jobs, now.most_jobs) if limit), default=usual_most_jobs)
    source = {
        "partition": now.partition,
        "machine": now.machine,
        "cores_taken" if now.shares else "nodes_taken": sum(units for units, _ in now.running),
        "jobs_waiting": len(now.waiting),
        "probes": now.probes,
    }
    earlier = RunHistory(history_key(asked.history, "", now.cluster), warnings.append, read_only=True)
    seen_waits = tuple(earlier.waits())
    earlier.close()
    return QueueAt(
        instance,
        lambda number: imagined(now, number, asked.seed, most_jobs),
        0.0,
        source,
        seen_waits,
        _node(now, instance, warnings.append).replace(nodes=1, disk_bytes=_PLENTY_BYTES),
        tuple(warnings),
        "shared" if now.shares else None,
    )


def _node(now: QueueNow, instance: Instance, warn: Warn) -> Resources:
    """What a usual node has, or as much as the largest task asks for: a run finds that elsewhere."""
    node, over = now.node, []
    for task in instance.workflow:
        cores, memory_bytes, gpus = (math.ceil(task.hints.get(name, 0)) for name in ("cores", "memory_bytes", "gpus"))
        asked = Resources(cores=cores, memory_bytes=memory_bytes, gpus=gpus)
        if now.node.covering(asked) != now.node:
            over.append(task.id)
            node = node.covering(asked)
        if now.shares and asked.cores > now.machine:
            what = f"{task.id!r} asks for {asked.cores:g} cores: partition {now.partition} has {now.machine}"
            raise InputError(what, where=instance.workflow.name, todo="name another one with --partition")
    if over:
        others = f" and {count(len(over) - 1, 'other')}" if over[1:] else ""
        warn(
            f"{over[0]}{others}: {'ask' if over[1:] else 'asks'} for more than a usual node of partition "
            f"{now.partition} has; the plan reckons as if its nodes had it"
        )
    return node


def expected_instance(
    path: Path, history: str, site: str, warn: Warn, config: dict[str, str | list[str]] | None = None
) -> Instance:
    """The workflow with an expected run time for each task: recorded, seen in earlier runs, or stated by the user."""
    instance = read_instance(path, config)
    if names := instance.workflow.deferred.names:
        warn(f"how many tasks of {', '.join(names)} there are is known only while it runs: the plan counts one of each")
        instance = structs.replace(instance, workflow=instance.workflow.with_stand_ins())
    run_times, seen = _learned(instance.workflow, path.absolute().parent, history, site, warn)
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


def _learned(workflow: Workflow, directory: Path, history: str, site: str, warn: Warn) -> tuple[RunTimes, set[str]]:
    """Run times learned from earlier runs on that site, and the categories of which a success was seen."""
    run_times, seen = RunTimes(), set()
    origin, _ = origin_of(workflow, directory, settings_for(directory).project)
    learning = RunHistory(history_key(history, workflow.name, site, origin), warn, read_only=True)
    for observation in learning.observations(dict.fromkeys(task.category for task in workflow)):
        task, outcome = observation.as_task(), observation.as_outcome()
        run_times.observe(task, outcome)
        if outcome.ending is Ending.SUCCESS:
            seen.add(task.category)
    learning.close()
    return run_times, seen


def imagined(now: QueueNow, number: int, seed: int, most_jobs: int) -> BatchQueue:
    """A future of the queue in which no further job arrives.

    In future 0 every job runs for as long as it requested; in the others for a random share of that.
    """
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
