"""The three examples on a real Slurm, each under some of the seven plans; `make chaos` runs each under all seven."""

from __future__ import annotations

import subprocess

import pytest

from tests.slurm.examples import check_results, example_flow
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab

SHARED_OUT = {
    "mosaic": ("headway", "glume"),
    "match": ("big-job", "one-job-per-task"),  # of the three, match has the fewest tasks
    "power": ("per-stage", "asa-naive", "asa"),
}


@pytest.fixture(scope="module")
def begun(
    slurm_of_session: SlurmLab, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], tuple[SlurmFlow, subprocess.Popen[bytes]]]:
    """Start all runs at once; most of their jobs have to wait in the queue."""
    slurm_of_session.tidy()
    runs = {}
    for name, plans in SHARED_OUT.items():
        for plan in plans:
            flow = example_flow(slurm_of_session, tmp_path_factory.mktemp(f"{name}-{plan}"), name)
            runs[name, plan] = flow, flow.begin("--plan", plan)
    return runs


@pytest.mark.parametrize("name", sorted(SHARED_OUT))
def test_an_example_computes_the_same_results_under_every_plan(
    begun: dict[tuple[str, str], tuple[SlurmFlow, subprocess.Popen[bytes]]], name: str
) -> None:
    found = []
    for plan in SHARED_OUT[name]:
        flow, run = begun[name, plan]
        flow.await_end(run)
        found.append(check_results(flow, name))
    assert all(results == found[0] for results in found)
