"""A task that checkpoints runs through jobs that are shorter than it, each submitted before it has left the last."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.crash_points import CHAIN_POINTS
from headway.model.outcome import Ending
from headway.model.records import GiveNotice, Submit
from tests.slurm.chains import MACHINE, Others, gaps, long_flow
from tests.slurm.conftest import require_slurm
from tests.slurm.fast import FastSlurmLab
from tests.slurm.processes import wait_until

SPEED = 15
THREE_JOBS_S = 1140.0  # a job of ten minutes has nine for the task, and one in which it saves
SHORT_S = 900.0


def test_each_next_job_is_submitted_while_the_task_runs_in_the_last(tmp_path: Path) -> None:
    """A job that is submitted when the task has left waits as long, and all of that is a gap."""
    require_slurm(with_fast_clock=True)
    with FastSlurmLab(SPEED, MACHINE) as lab, Others(lab):
        flow = long_flow(lab, tmp_path, THREE_JOBS_S)
        flow.await_end(flow.begin_plan("headway"))
        found = gaps(flow)
        assert len(found) >= 2, "19 minutes do not fit into two jobs"
        assert all(gap.submitted_at < gap.left_at for gap in found), found
        endings = [outcome.ending for outcome in flow.outcomes()]
        assert endings == [*[Ending.SAVED] * (len(endings) - 1), Ending.SUCCESS]
        assert {submit.role for submit in flow.records() if isinstance(submit, Submit)} == {"anchor", "continuation"}
        assert (flow.directory / "result").read_text() == str(len(endings))
        flow.check(tasks=1)


@pytest.mark.parametrize("point", CHAIN_POINTS)
def test_a_manager_that_dies_while_a_task_moves_is_resumed_and_the_task_goes_on(tmp_path: Path, point: str) -> None:
    require_slurm(with_fast_clock=True)
    with FastSlurmLab(SPEED, MACHINE) as lab:
        flag = tmp_path / "killed"
        flow = long_flow(lab, tmp_path, SHORT_S, flag, HEADWAY_CRASH=f"{point}:1:{flag}")
        flow.begin_plan("headway").wait(900)
        assert flag.exists(), flow.output()
        [notice] = [record for record in flow.records() if isinstance(record, GiveNotice)]
        flow.await_end(flow.resume())
        assert [launch.attempt for launch in flow.launches()][: notice.attempt + 1] == [*range(1, notice.attempt + 2)]
        assert flow.outcomes()[notice.attempt - 1].ending is Ending.SAVED
        assert (flow.directory / "result").exists()
        flow.check(tasks=1)
        wait_until(lambda: not flow.jobs(), "the queue to be empty")
