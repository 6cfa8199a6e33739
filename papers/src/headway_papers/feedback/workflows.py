"""The paper's workflows (section V-B and Table II) and users' estimates (section V-C)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from headway.generators import MemoryModel, generate
from headway.model.instance import Instance
from headway.model.workflow import Workflow
from headway_papers.fixed_pool.pool import POOL, scaled

TASKS = 1000
TERABYTE_WEEK = 1e12 * 7 * 86400.0  # byte-seconds
_GB = 10**9
_SEEDS = 1000  # apart, so that another seed of the experiment has other workflows


def workflow(family: str, number: int, seed: int = 0, tasks: int = TASKS) -> Instance:
    """One of a family's workflows: peaks after Table II, run times stretched to one terabyte-week."""
    made = generate(family, tasks, _SEEDS * seed + number, MemoryModel())
    return scaled(made, TERABYTE_WEEK)


def with_estimates(instance: Instance, estimate: str) -> Instance:
    """The same with a user's memory estimate for every task, at most what the pool has, and one core."""
    peaks: dict[str, int] = {}
    for task in instance.workflow:
        peak = instance.recorded[task.id].memory_bytes or 0
        peaks[task.category] = max(peak, peaks.get(task.category, 0))
    amounts = {name: min(POOL.memory_bytes, estimated(peak, estimate)) for name, peak in peaks.items()}
    return _hinted(instance, amounts)


def estimated(peak_bytes: int, estimate: str) -> int:
    """What a user says who knows a category's greatest peak, and rounds it, or adds to it."""
    kind, _, amount = estimate.replace("+", "-").partition("-")
    if kind == "power":
        return _nearest_power(peak_bytes / _GB, int(amount)) * _GB
    return round(peak_bytes * (1 + float(amount.removesuffix("%")) / 100))


def _nearest_power(amount: float, base: int) -> int:
    """The nearest by difference, as in the paper's example: 1.2 GB become 1 GB. Never below 1."""
    power = 1
    while power * base <= amount:
        power *= base
    return power if amount - power <= power * base - amount else power * base


def _hinted(instance: Instance, amounts: Mapping[str, int]) -> Instance:
    tasks = [
        structs.replace(task, hints={"cores": 1.0, "memory_bytes": amounts[task.category]})
        for task in instance.workflow
    ]
    return structs.replace(instance, workflow=Workflow(instance.workflow.name, tasks))
