"""A run asks Slurm for little: jobs as large as its work, few calls, no bad node; and it says what it waits for."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from headway.clusters.slurm.options import SlurmOptions
from headway.model.job import JobPhase
from headway.model.records import JobSeen, Launch
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.lies import lying
from tests.slurm.processes import wait_until
from tests.slurm.test_cluster import SMALL, cluster, reach

MANY = """
name: many
tasks:
  part:
    each: {n: 1..600}
    run: sleep 1000
    resources: {cores: 1, memory: 20 MB, time: 5m}
"""
ONE = """
name: one
tasks:
  only:
    run: echo done > only
    outputs: [only]
    resources: {cores: 1, memory: 20 MB, time: 5m}
"""


@pytest.fixture
def here(slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch) -> SlurmLab:
    return reach(slurm, monkeypatch)


def test_many_ready_tasks_do_not_flood_the_queue(slurm: SlurmLab, tmp_path: Path) -> None:
    """A hundred tasks for each core: the running anchor has all nodes, and nothing waits behind it."""
    told = lying(slurm, "errors", 0.0, seed=1)  # it only writes down the calls
    usual = {"HEADWAY_ASK_EVERY": "60s", "HEADWAY_SUBMISSIONS": "10"}
    flow = SlurmFlow(slurm, tmp_path, MANY, {**told.environment(), **usual})
    run = flow.begin()
    wait_until(lambda: any(isinstance(record, Launch) for record in flow.records()), "the first task")
    time.sleep(5.0)  # the plan is made again after the anchor's start
    jobs, calls = flow.jobs(), [call.arguments for call in told.calls("sbatch")]
    run.send_signal(signal.SIGTERM)
    flow.await_end(run, code=130)
    assert len(jobs) == 1, jobs
    assert sum("--test-only" not in arguments for arguments in calls) == 1
    assert sum("--test-only" in arguments for arguments in calls) <= 5


def test_a_held_job_is_reported_and_shown_by_status(slurm: SlurmLab, tmp_path: Path) -> None:
    blocker = slurm.submit("sleep 3000", "-N8", "--exclusive")
    slurm.wait_for_job(blocker, "RUNNING")
    flow = SlurmFlow(slurm, tmp_path, ONE, {"HEADWAY_ASK_EVERY": "1s"})
    run = flow.begin()
    wait_until(lambda: any(isinstance(it, JobSeen) and it.message for it in flow.records()), "Slurm's reason")
    number = next(number for number, name in flow.jobs().items() if name.startswith("headway-"))
    slurm.run("scontrol", "uhold", str(number))
    wait_until(lambda: f"HELD job {number} (1 node with 8 cores" in flow.output(), "the line about the held job")
    flow.headway("status")
    assert f"{number}  HELD" in flow.output()
    assert "`scontrol release` lets it go on (JobHeldUser)" in " ".join(flow.output().split())
    slurm.run("scontrol", "release", str(number))
    slurm.run("scancel", str(blocker))
    flow.await_end(run)
    flow.check(tasks=1)


def test_submissions_are_paced(here: SlurmLab, tmp_path: Path) -> None:
    slurm = cluster(tmp_path, options=SlurmOptions(interval_s=0.2, submissions=2))
    tags = [f"run1-{number}" for number in range(4)]
    for tag in tags:
        slurm.submit(SMALL, tag)
    news = slurm.news(tags)
    assert slurm.calls["sbatch"] == 2
    assert news[tags[3]].phase is JobPhase.PENDING
    assert news[tags[3]].message == "Headway submits at most 2 jobs a minute"
    slurm.cancel(tags)
    assert slurm.calls["sbatch"] == 2


def test_jobs_are_asked_for_without_nodes_that_are_avoided(here: SlurmLab, tmp_path: Path) -> None:
    slurm = cluster(tmp_path, options=SlurmOptions(interval_s=0.2, flags=("--exclude=n8",)))
    slurm.avoid({"n1": time.time() + 600.0, "n2": time.time() - 600.0})
    slurm.submit(SMALL, "run1-a")
    shown = here.run("scontrol", "show", "job", str(slurm.news(["run1-a"])["run1-a"].job_id)).stdout
    assert "ExcNodeList=n[1,8]" in shown
    whole = cluster(tmp_path, options=SlurmOptions(interval_s=0.2))
    whole.avoid({"n1": time.time() + 600.0})
    whole.submit(type(SMALL)(SMALL.per_node.replace(nodes=8)), "run1-b")
    shown = here.run("scontrol", "show", "job", str(whole.news(["run1-b"])["run1-b"].job_id)).stdout
    assert "ExcNodeList=(null)" in shown, "there are no others"
    whole.cancel(["run1-a", "run1-b"])
