"""Generated logs: they have the distributions of their names, and the same seed gives the same log."""

from __future__ import annotations

from statistics import fmean, pstdev

import pytest

from headway_papers.synthetic_logs import DISTRIBUTIONS, MACHINE, TASKS, synthetic_log

GB = 1e9


def amounts(name: str, resource: str, seed: int = 1) -> list[float]:
    return [task.used[resource] for task in synthetic_log(name, seed).tasks]


@pytest.mark.parametrize("resource", ["memory_bytes", "disk_bytes"])
@pytest.mark.parametrize(
    ("name", "mean", "deviation"),
    [
        ("Normal", 8, 1),
        ("Uniform", 8, 4 / 12**0.5),
        ("Exponential", 6, 6),
        ("Bimodal", 8, (16 + 2.5) ** 0.5),
        ("Trimodal", 8, (32 / 3 + 2) ** 0.5),
    ],
)
def test_mean_and_deviation(name: str, resource: str, mean: float, deviation: float) -> None:
    """Within four standard errors; of the deviation within a fifth."""
    found = [amount / GB for amount in amounts(name, resource)]
    assert fmean(found) == pytest.approx(mean, abs=4 * deviation / TASKS**0.5)
    assert pstdev(found) == pytest.approx(deviation, rel=0.2)


def test_the_trimodal_one_moves_from_phase_to_phase_and_all_resources_with_it() -> None:
    for resource, phases in (("memory_bytes", [4e9, 12e9, 8e9]), ("cores", [1.7, 7, 3.5])):
        found = amounts("Trimodal", resource)
        means = [fmean(found[begin : begin + 300]) for begin in (0, 350, 700)]
        assert means == pytest.approx(phases, rel=0.1)


def test_the_bimodal_one_has_two_kinds_of_tasks_in_no_order() -> None:
    memory, disk = amounts("Bimodal", "memory_bytes"), amounts("Bimodal", "disk_bytes")
    assert sum(7 * GB < amount < 8 * GB for amount in memory) < 50
    both_high = sum(m > 8 * GB and d > 8 * GB for m, d in zip(memory, disk, strict=True))
    assert both_high == pytest.approx(TASKS / 4, rel=0.2), "memory and disk are drawn apart"


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_everything_fits_the_machine_and_cores_are_whole(name: str) -> None:
    log = synthetic_log(name, 3)
    assert len(log.tasks) == TASKS
    for task in log.tasks:
        assert 0 < task.used["memory_bytes"] <= MACHINE.memory_bytes
        assert 0 < task.used["disk_bytes"] <= MACHINE.disk_bytes
        assert task.used["cores"] in range(1, 17)
    assert [task.id for task in log.tasks] == [str(number) for number in range(1, TASKS + 1)]


def test_the_seed_decides() -> None:
    assert synthetic_log("Normal", 5).tasks == synthetic_log("Normal", 5).tasks
    assert synthetic_log("Normal", 5).tasks != synthetic_log("Normal", 6).tasks
    normal, uniform = amounts("Normal", "cores"), amounts("Uniform", "cores")
    assert normal != uniform
