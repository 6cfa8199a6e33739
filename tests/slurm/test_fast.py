"""A Slurm with a fast clock, and background jobs of other users on it."""

from __future__ import annotations

import itertools
from datetime import datetime

import pytest

from tests.slurm.background import NAME, BackgroundLoad, background_jobs
from tests.slurm.configuration import Configuration
from tests.slurm.conftest import require_slurm
from tests.slurm.fast import FastSlurmLab
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until

SPEED = 60
CLOCK_ERROR_S = 30.0  # half a real second; machine time would differ by minutes


def test_background_jobs_depend_on_the_seed_and_have_the_requested_load() -> None:
    jobs = list(itertools.islice(background_jobs(8, 0.7, 3, typical_run_s=600), 20_000))
    assert jobs == list(itertools.islice(background_jobs(8, 0.7, 3, typical_run_s=600), 20_000))
    assert jobs[:5] != list(itertools.islice(background_jobs(8, 0.7, 4, typical_run_s=600), 5))
    assert all(job.run_s < job.walltime_min * 60 and job.nodes in {1, 2, 4} for job in jobs)
    assert sum(job.nodes * job.run_s for job in jobs) / jobs[-1].after_s == pytest.approx(0.7 * 8, rel=0.05)


def test_the_backlog_arrives_at_time_zero_and_jobs_fit_the_machine() -> None:
    jobs = list(itertools.islice(background_jobs(2, 0.5, 1, typical_run_s=600, backlog_s=7200), 200))
    assert sum(job.nodes * job.run_s for job in jobs if job.after_s == 0) >= 2 * 7200
    assert jobs[-1].after_s > 0
    assert {job.nodes for job in jobs} == {1, 2}


def test_a_job_waits_on_a_busy_slurm_with_a_fast_clock() -> None:
    require_slurm(with_fast_clock=True)
    with FastSlurmLab(SPEED, Configuration(nodes=4)) as lab:
        with BackgroundLoad(lab, load=1.5, seed=1, typical_run_s=300.0, backlog_s=300.0) as background:

            def busy() -> bool:
                states = lab.run("squeue", "-h", "-n", NAME, "-o", "%T").stdout.split()
                nodes = {lab.node_state(node) for node in lab.nodes}
                return nodes == {"allocated"} and "PENDING" in states

            wait_until(busy, "all nodes to be busy and jobs to wait")
            before = lab.now()
            job = lab.submit(f"sleep {lab.real_s(240)}", "--exclusive", "--time=10")
            after = lab.now()
            assert lab.wait_for_job(job) == "COMPLETED"
            assert len(background.submitted) > 4
        submitted, started, ended = times_of(lab, job)
        assert before - CLOCK_ERROR_S <= submitted <= after + CLOCK_ERROR_S
        assert submitted <= started <= ended - 200  # 240 s by Slurm's clock; the job slept for 4 real seconds
        wait_until(lambda: not lab.run("squeue", "-h").stdout, "the background jobs to be cancelled")


def times_of(lab: SlurmLab, job: int) -> list[float]:
    """Return when a job was submitted, started and ended."""
    shown = lab.run("scontrol", "show", "job", str(job)).stdout.split()
    times = dict(word.split("=", 1) for word in shown if "Time=" in word)
    return [datetime.fromisoformat(times[name]).timestamp() for name in ("SubmitTime", "StartTime", "EndTime")]
