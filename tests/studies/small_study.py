"""A study that takes seconds: a made-up log of a small machine, made-up workflows."""

from __future__ import annotations

from pathlib import Path

from headway.formats.wfformat_out import wfformat
from headway.generators import generate
from headway.simulation.lublin import lublin
from headway.studies.queues import Queue
from headway.studies.runs import Row, Run

MACHINE = 16
DAY_S = 86400.0


def write_trace(path: Path, jobs: int = 600, seed: int = 1) -> str:
    made = lublin(MACHINE, jobs, 0.9, seed)
    lines = [f"; MaxProcs: {MACHINE}"]
    columns = zip(made.submit_s, made.nodes, made.run_s, made.req_s, strict=True)
    for number, (submit, nodes, run, req) in enumerate(columns, start=1):
        lines.append(f"{number} {submit:.0f} -1 {run:.0f} {nodes} -1 -1 {nodes} {req:.0f} -1 1 1 1 -1 -1 -1 -1 -1")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def write_workflow(path: Path, family: str = "montage", tasks: int = 12, seed: int = 1) -> str:
    path.write_bytes(wfformat(generate(family, tasks, seed)))
    return str(path)


def small_runs(folder: Path, plans: tuple[str, ...] = ("one-job", "level-by-level", "one-job-per-task")) -> list[Run]:
    """Two workflows from three starts in two queues."""
    trace = write_trace(folder / "made.swf")
    files = [write_workflow(folder / "m.json"), write_workflow(folder / "c.json", "cybershake", 9)]
    queues = [Queue(trace, requests, most_jobs=4) for requests in ("real", "accurate")]
    starts = [1.0 * DAY_S, 1.3 * DAY_S, 2.0 * DAY_S]
    return [
        Run(queue, file, start_s, plan) for queue in queues for file in files for start_s in starts for plan in plans
    ]


def row(plan: str, makespan_s: float, workflow: str = "w", start_s: float = 0.0, **more: object) -> Row:
    """A line of results made by hand."""
    usual: dict[str, object] = {
        "trace": "log", "requests": "real", "cancelled": "drop", "whole_minutes": False, "machine": 0,
        "skip_bad": False, "backfill": "conservative", "nodes": "counts", "rules": "pyss", "dependency": "slurm",
        "most_jobs": 16, "begins_s": 0.0, "node_cores": 0, "node_memory_bytes": 0,
        "seed": 0, "status": "succeeded", "jobs": 1, "expired": 0,
        "first_wait_s": 0.0, "mean_wait_s": 0.0, "node_hours": 1.0, "busy_share": 0.5,
        "core_hours": 2.0, "used_core_hours": 1.0, "way": "one-job", "cpu_s": 0.1,
    }  # fmt: skip
    return Row(**(usual | {"plan": plan, "makespan_s": makespan_s, "workflow": workflow, "start_s": start_s} | more))  # type: ignore[arg-type]
