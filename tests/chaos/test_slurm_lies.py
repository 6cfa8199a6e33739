"""Runs on a Slurm that lies, with several seeds for each lie.

Commands hang for longer than Headway's timeout, and late jobs appear after Headway has submitted them again.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.slurm.configuration import Configuration
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import STAGES_TOTAL, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.lies import LIED_ABOUT, LIES, lying

SEEDS = 3
PATIENCE_S = 1500.0  # a submission that fails five times in a row takes eight minutes
PLANS = ("headway", "per-stage", "big-job")


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_run_survives_each_lie(tmp_path: Path, seed: int) -> None:
    """The Slurm of the first seed has accounting, the others do not."""
    require_slurm(with_accounting=seed == 0)
    with SlurmLab(Configuration(nodes=4, accounting=seed == 0, min_job_age_s=3600)) as lab:
        told = {}
        for lie in LIES:
            rate = 0.2 if len(LIED_ABOUT[lie]) > 3 else 0.4
            liar = lying(lab, lie, rate, seed, hang_s=60, late_s=75)
            (tmp_path / lie).mkdir()
            flow = SlurmFlow(lab, tmp_path / lie, environment=liar.environment())
            told[lie] = flow, liar, flow.begin("--plan", random.Random(f"{seed}/{lie}").choice(PLANS))
        lies = 0
        for flow, liar, run in told.values():
            flow.await_end(run, patience_s=PATIENCE_S)
            liar.wait_for_late_jobs()
            assert flow.total() == STAGES_TOTAL
            flow.check()
            assert set(flow.executed().values()) == {1}
            lies += sum(call.lie is not None for call in liar.calls())
        assert lies >= len(LIES)
