"""A site whose nodes take longer to come up than the jobs for short tasks last."""

from __future__ import annotations

import shutil
from pathlib import Path

from headway.model.records import JobState, Submit
from tests.slurm.configuration import Configuration
from tests.slurm.conftest import require_slurm
from tests.slurm.fast import FastSlurmLab
from tests.slurm.fast_flow import FastFlow

SPEED = 60
SHORT = """
name: short
tasks:
  short:
    run: echo > short
    outputs: [short]
"""


def test_jobs_that_end_before_their_nodes_answer_are_followed_by_longer_ones(tmp_path: Path) -> None:
    require_slurm(with_fast_clock=True)
    with FastSlurmLab(SPEED, Configuration(nodes=1, cpus=2)) as lab:
        late = lab.root / "bin" / "srun"
        late.write_text(f'#!/bin/sh\nsleep 15\nexec {shutil.which("srun")} "$@"\n')  # 15 minutes by Slurm's clock
        late.chmod(0o755)
        flow = FastFlow(lab, tmp_path, SHORT)
        flow.await_end(flow.begin_plan("headway"))
        flow.check(tasks=1)
    records = flow.records()
    asked = [record.request.per_node.walltime_s or 0.0 for record in records if isinstance(record, Submit)]
    assert any(isinstance(record, JobState) and record.expired for record in records), asked
    assert asked[-1] > asked[0]
