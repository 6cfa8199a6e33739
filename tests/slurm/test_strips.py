"""A narrow job and side jobs on a real Slurm: they wait for their turn, and start when their stage is about to."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.crash_points import STRIP_POINTS
from headway.model.records import Admit, Submit, TaskEnded
from tests.slurm.configuration import Configuration, Partition
from tests.slurm.conftest import require_slurm
from tests.slurm.fast import FastSlurmLab
from tests.slurm.fast_flow import FastFlow
from tests.slurm.processes import wait_until

SPEED = 15
NODES, CPUS = 5, 4
MACHINE = Configuration(
    nodes=NODES, cpus=CPUS, partitions=(Partition("main", max_time_min=600),), priority="basic", min_job_age_s=60_000
)
TAKEN_S, STAGE_S = 300.0, 300.0
WORKFLOW = """
name: stages
tasks:
  first:
    run: echo first >> "$EXECUTIONS"; sleep {stage_s}; echo > first
    outputs: [first]
    resources: {{cores: {cpus}, time: 450s}}
  wide:
    each: {{n: [1, 2, 3]}}
    run: echo wide-{{n}} >> "$EXECUTIONS"; sleep {stage_s}; echo > wide-{{n}}
    inputs: [first]
    outputs: ["wide-{{n}}"]
    resources: {{cores: {cpus}, time: 450s}}
  last:
    run: echo last >> "$EXECUTIONS"; echo > last
    inputs: ["wide-*"]
    outputs: [last]
    resources: {{cores: {cpus}, time: 60s}}
"""


def flow_of(lab: FastSlurmLab, parent: Path, **environment: str) -> FastFlow:
    """The workflow, on a machine that is taken for five minutes, so that its jobs have to wait."""
    lab.submit(f"exec sleep {lab.real_s(TAKEN_S):.2f}", "--chdir=/", f"--nodes={NODES}", "--exclusive", "--time=6")
    wait_until(lambda: lab.run("squeue", "-h", "-t", "R", "-o", "%i").stdout.strip() != "", "the machine to be taken")
    return FastFlow(lab, parent, WORKFLOW.format(cpus=CPUS, stage_s=f"{lab.real_s(STAGE_S):.2f}"), environment)


def check(flow: FastFlow) -> None:
    """Two side jobs were admitted while the first stage ran, and each task of the wide stage had a job for itself."""
    told = flow.records()
    submits = [record for record in told if isinstance(record, Submit)]
    assert [submit.role for submit in submits] == ["anchor", "side", "side", "side"]
    spine, head, *sides = submits
    assert head.after is None, "the first stage is ready"
    assert {submit.after for submit in sides} == {spine.tag}
    first_ended = next(record.at for record in told if isinstance(record, TaskEnded))
    admits = [record for record in told if isinstance(record, Admit)]
    assert [admit.tag for admit in admits] == [side.tag for side in sides]
    assert all(admit.at < first_ended for admit in admits)
    launches = {launch.task: launch for launch in flow.launches()}
    wide = [launches[f"wide[{number}]"] for number in (1, 2, 3)]
    assert {launch.tag for launch in wide} == {spine.tag, *(side.tag for side in sides)}
    assert launches["last"].tag == spine.tag
    flow.check(tasks=5)
    wait_until(lambda: not flow.jobs(), "the queue to be empty")


def test_side_jobs_are_there_when_the_wide_stage_begins(tmp_path: Path) -> None:
    require_slurm(with_fast_clock=True)
    with FastSlurmLab(SPEED, MACHINE) as lab:
        flow = flow_of(lab, tmp_path)
        flow.await_end(flow.begin_plan("headway"))
        check(flow)


@pytest.mark.parametrize("point", STRIP_POINTS)
def test_a_manager_that_dies_before_it_has_told_slurm_does_so_when_it_is_resumed(tmp_path: Path, point: str) -> None:
    require_slurm(with_fast_clock=True)
    with FastSlurmLab(SPEED, MACHINE) as lab:
        flag = tmp_path / "killed"
        flow = flow_of(lab, tmp_path, HEADWAY_CRASH=f"{point}:1:{flag}")
        flow.begin_plan("headway").wait(900)
        assert flag.exists(), flow.output()
        flow.await_end(flow.resume())
        check(flow)
