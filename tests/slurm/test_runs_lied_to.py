"""Runs on a Slurm whose commands lie: they end well all the same."""

from __future__ import annotations

import pytest

from tests.slurm.flows import STAGES_TOTAL, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.lies import LIES, Liar, lying

# How often each lie is told, by which seed, and to which plan. By these seeds a submission is lied about, and no more
# than one that was lost: such a one is sent again after a minute.
TOLD = {
    "hangs": (0.2, 138, "big-job"),
    "hangs-after-acting": (0.2, 31, "per-stage"),
    "errors": (0.2, 637, "big-job"),
    "garbage": (0.2, 45, "per-stage"),
    "accepted-but-reported-failed": (0.5, 3, "per-stage"),
    "accepted-late": (0.5, 3, "per-stage"),
    "forgotten-jobs": (0.5, 3, "per-stage"),
    "duplicate-states": (0.5, 3, "per-stage"),
    "out-of-order-states": (0.5, 3, "per-stage"),
}


@pytest.fixture(scope="module")
def flows(slurm_of_session: SlurmLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[SlurmFlow, Liar]]:
    """For each lie a run that was told it; all at once. A command that hangs gives up before we do: that is shorter."""
    slurm_of_session.tidy()
    flows: dict[str, tuple[SlurmFlow, Liar]] = {}
    runs = {}
    for lie, (rate, seed, plan) in TOLD.items():
        liar = lying(slurm_of_session, lie, rate, seed, hang_s=5)
        flow = SlurmFlow(slurm_of_session, tmp_path_factory.mktemp(lie), environment=liar.environment())
        flows[lie] = flow, liar
        runs[lie] = flow.begin("--plan", plan)
    for lie, (flow, _) in flows.items():
        flow.await_end(runs[lie])
    return flows


@pytest.mark.parametrize("lie", LIES)
def test_a_slurm_that_lies(flows: dict[str, tuple[SlurmFlow, Liar]], lie: str) -> None:
    flow, liar = flows[lie]
    liar.wait_for_late_jobs()
    assert any(call.lie for call in liar.calls())
    assert flow.total() == STAGES_TOTAL
    flow.check()
    assert set(flow.executed().values()) == {1}
