"""Runs on Slurm from a login node: dry, detached, resumed after a kill, and bundled for support."""

from __future__ import annotations

import os
import re
import signal
import tarfile
import time
from pathlib import Path

import pytest

from tests.cli.bench import Bench
from tests.slurm.lab import SlurmLab

FLOW = """
    name: flow
    tasks:
      part:
        each: {n: [1, 2, 3]}
        run: echo {n} > {n}.txt
        outputs: ["{n}.txt"]
        resources: {memory: 200 MB, time: 5m}
"""


@pytest.fixture
def login(slurm: SlurmLab, tmp_path: Path) -> Bench:
    bench = Bench(tmp_path / "work", tmp_path / "home")
    bench.environment |= slurm.environment()
    bench.write(FLOW)
    return bench


def ours(slurm: SlurmLab) -> list[str]:
    """Return the ids of Headway's waiting and running jobs."""
    rows = slurm.run("squeue", "-h", "-o", "%i %j").stdout.splitlines()
    return [row.split()[0] for row in rows if row.split()[1].startswith("headway-")]


def test_a_dry_run_shows_the_limits_of_the_cluster(login: Bench, slurm: SlurmLab) -> None:
    foreseen = login.json("run", "-n", "--on", "slurm")
    assert not (login.directory / ".headway").exists(), "a dry run writes nothing"
    assert ours(slurm) == []
    login.succeeds("run", "--on", "slurm", "--plan", "one-job")
    limits = login.json("status")["limits"]
    assert foreseen["limits"].keys() == limits.keys()
    assert foreseen["limits"] | {"disk_bytes": 0} == limits | {"disk_bytes": 0}, "the free disk may change"
    assert limits["cores"] == 8
    assert {task["given"]["memory_bytes"] for task in foreseen["tasks"]} == {200_000_000}


def test_a_resumed_run_finds_the_job_of_its_killed_manager(login: Bench, slurm: SlurmLab) -> None:
    blocker = slurm.submit("sleep 3000", "-N8", "--exclusive")
    slurm.wait_for_job(blocker, "RUNNING")
    manager = login.json("run", "--on", "slurm", "--plan", "one-job", "--detach")["manager_pid"]
    login.wait_for(lambda: len(ours(slurm)) == 1, "its job in the queue")
    before = ours(slurm)
    os.kill(manager, signal.SIGKILL)
    login.wait_for(lambda: login.json("status")["state"] == "interrupted", "the end of the manager")
    assert "lost its manager" in login.fails(4, "run", "--on", "slurm", "--detach")
    login.succeeds("resume", "--detach")
    assert ours(slurm) == before, "resume keeps the job and submits no other"
    slurm.run("scancel", str(blocker))
    assert "flow, run 1: succeeded" in login.succeeds("attach")
    assert (login.directory / "3.txt").read_text() == "3\n"

    log = login.directory / ".headway" / "runs" / "1" / "manager.log"
    login.wait_for(lambda: "run 1: succeeded" in log.read_text(), "the manager's last words")
    login.process("bundle", "-o", "b.tar.gz")
    with tarfile.open(login.directory / "b.tar.gz") as tar:
        names = tar.getnames()
        doctor = tar.extractfile("headway-run-1/doctor.txt")
        assert doctor is not None
        assert "partitions: " in doctor.read().decode()
    assert any(name.endswith(f"slurm-{before[0]}.log") for name in names)


def test_a_job_that_slurm_refuses_is_reported_at_once(login: Bench, slurm: SlurmLab) -> None:
    words = ("run", "--on", "slurm", "--sbatch=--licenses=moonlight:3")
    plain, detached = login.process(*words), login.process(*words, "--detach", "--again")
    assert plain.returncode == detached.returncode == 3, plain.stderr + detached.stderr
    assert "Slurm refuses the job" in plain.stderr
    assert "Slurm refuses the job" in detached.stderr
    assert ours(slurm) == []


def test_top_shows_the_job_that_a_run_waits_for(login: Bench, slurm: SlurmLab) -> None:
    blocker = slurm.submit("sleep 3000", "-N8", "--exclusive", "--time=30")
    slurm.wait_for_job(blocker, "RUNNING")
    login.succeeds("run", "--on", "slurm", "--plan", "one-job", "--detach")
    begun = time.time()

    def has_its_start() -> bool:
        # Before Slurm has planned its start our own guess is shown, which is soon over.
        return any((job["expected_start_at"] or 0) > begun + 600 for job in login.json("status")["queue"])

    login.wait_for(has_its_start, "its job and its expected start")
    (job,) = ours(slurm)
    for pane, words in (("jobs", r"waits .*expected to start"), ("waiting", rf"part: 3 ready .*job {job} .*to start")):
        login.succeeds("top", "--show", pane, "--picture", "top.svg")
        svg = (login.directory / "top.svg").read_text().replace("&#160;", " ")
        assert re.search(words, " ".join(re.sub(r"<style>.*?</style>|<[^>]*>", " ", svg, flags=re.DOTALL).split())), svg
    login.succeeds("cancel")
