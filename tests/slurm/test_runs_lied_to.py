"""Runs on a Slurm whose commands lie: they still succeed."""

from __future__ import annotations

import pytest

from tests.slurm.flows import STAGES_TOTAL, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.lies import LIES, Liar, lying

# Rate, seed and plan for each lie. With these seeds at least one submission is lied to, and at most one submission is
# lost, because a lost submission is repeated only after a minute.
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
    """Finish one run for each lie, all at once.

    Hanging commands end before Headway's own timeout, to keep the test short.
    """
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
def test_a_run_survives_each_lie(flows: dict[str, tuple[SlurmFlow, Liar]], lie: str) -> None:
    flow, liar = flows[lie]
    liar.wait_for_late_jobs()
    assert any(call.lie for call in liar.calls())
    assert flow.total() == STAGES_TOTAL
    flow.check()
    assert set(flow.executed().values()) == {1}
