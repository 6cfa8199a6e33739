"""What a job of Snakemake's asks for, and what it is told that it has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from snakemake.resources import Resource

_MB = 1_000_000
_LEAST_CORES = 0.1  # of a rule with `threads: 0`
_WISHES = {
    "slurm_partition": "partition",
    "slurm_account": "account",
    "qos": "qos",
    "constraint": "constraint",
    "gpu_model": "gpu-type",
}


def wanted(job: Any, most_cores: float, *, in_jobs: bool) -> dict[str, Any]:
    """Return what the size of a job depends on, as a service is told it: hints by resource, and the size of its input.

    The job's own resources are hints: what is known of earlier jobs of the rule counts more.
    """
    stated = job.resources
    hints = {"cores": min(max(float(job.threads), _LEAST_CORES), most_cores)}
    for name, resource, unit in (("mem_mb", "memory_bytes", _MB), ("runtime", "walltime_s", 60)):
        value = stated.get(name)
        if isinstance(value, int | float) and value > 0:
            hints[resource] = float(value) * unit
    gpus = stated.get("gpu")
    if in_jobs and isinstance(gpus, int) and gpus > 0:  # on one machine people count devices by `--resources gpu=…`
        hints["gpus"] = float(gpus)
    return {"hints": hints, "input_bytes": _size(job.input), **(_jobs(stated) if in_jobs else {})}


def _jobs(stated: Any) -> dict[str, Any]:
    """Return in which jobs of Slurm a job may run, by the resources that Snakemake's own executor for Slurm reads."""
    wish = {key: str(stated[name]) for name, key in _WISHES.items() if stated.get(name)}
    return {"wish": wish, "sbatch": str(stated.get("slurm_extra") or "")}


def _size(paths: Any) -> int | None:
    """Return the bytes of all files together, or None if one of them is not an ordinary file."""
    total = 0
    for path in paths:
        if not os.path.isfile(path):
            return None
        total += os.path.getsize(path)
    return total


def pin(job: Any, amounts: Mapping[str, float]) -> None:
    """Let a job's resources and threads be what it is given: commands, parameters and scripts read them there."""
    memory = Resource("mem_mb", int(amounts["memory_bytes"] // _MB))
    stated = job.resources
    _set(stated, "mem_mb", memory.value)
    _set(stated, "mem_mib", memory.from_mb_to_mib().value)
    _set(stated, "mem", memory.format_human_friendly())
    if "walltime_s" in amounts:
        _set(stated, "runtime", max(1, int(amounts["walltime_s"] // 60)))
    if job.threads > 1:
        _set(stated, "_cores", max(1, int(amounts["cores"])))
    job._params = None  # they may be computed from resources; Snakemake computes them again


def _set(resources: Any, name: str, value: object) -> None:
    """Set a resource by its name and by its place in Snakemake's list of them."""
    if name in resources.keys():  # noqa: SIM118 (a list of values, not of names)
        resources[resources._names[name][0]] = value
        setattr(resources, name, value)
    else:
        resources.update({name: value})


def as_options(job: Any) -> str:
    """Return options by which a nested Snakemake gives a job the same amounts."""
    named = ("mem_mb", "runtime")
    rule, stated = job.rule.name, job.resources
    given = " ".join(f"{rule}:{name}={stated[name]}" for name in named if isinstance(stated.get(name), int))
    return f"--set-resources {given} --set-threads {rule}={job.threads}"
