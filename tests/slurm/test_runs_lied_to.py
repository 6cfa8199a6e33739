"""Runs on a Slurm whose commands lie: they end well all the same."""

from __future__ import annotations

import pytest

from tests.slurm.flows import STAGES_TOTAL, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.lies import LIES, Liar, lying

RATE = 0.15


@pytest.fixture(scope="module")
def flows(slurm_of_session: SlurmLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[SlurmFlow, Liar]]:
    """For each lie a run that was told it; all at once."""
    slurm_of_session.tidy()
    liars = {lie: lying(slurm_of_session, lie, RATE, seed=1, hang_s=40) for lie in LIES}
    flows = {
        lie: (SlurmFlow(slurm_of_session, tmp_path_factory.mktemp(lie), environment=liar.environment()), liar)
        for lie, liar in liars.items()
    }
    runs = {lie: flow.begin("--plan", "big-job") for lie, (flow, _) in flows.items()}
    for lie, (flow, _) in flows.items():
        flow.await_end(runs[lie])
    return flows


@pytest.mark.parametrize("lie", LIES)
def test_a_slurm_that_lies(flows: dict[str, tuple[SlurmFlow, Liar]], lie: str) -> None:
    flow, liar = flows[lie]
    liar.wait_for_late_jobs()
    assert flow.total() == STAGES_TOTAL
    flow.check()
    assert set(flow.executed().values()) == {1}
