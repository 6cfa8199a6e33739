"""All three examples on a real Slurm under all seven plans, run by `make chaos`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.conftest import require_slurm
from tests.slurm.examples import RESULTS, check_results, example_flow
from tests.slurm.lab import SlurmLab

PLANS = ("headway", "big-job", "per-stage", "asa", "asa-naive", "glume", "one-job-per-task")


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    require_slurm()
    with SlurmLab() as lab:
        yield lab


@pytest.fixture(scope="module")
def first(lab: SlurmLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """Run each example in a single job and return its results."""
    found = {}
    for name in sorted(RESULTS):
        flow = example_flow(lab, tmp_path_factory.mktemp(name), name)
        flow.await_end(flow.begin("--plan", "one-job"))
        found[name] = check_results(flow, name)
    return found


@pytest.mark.chaos
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", sorted(RESULTS))
def test_an_example_computes_the_same_results_under_every_plan(
    lab: SlurmLab, first: dict[str, dict[str, bytes]], tmp_path: Path, name: str, plan: str
) -> None:
    lab.tidy()
    flow = example_flow(lab, tmp_path, name)
    flow.await_end(flow.begin("--plan", plan))
    assert check_results(flow, name) == first[name]
