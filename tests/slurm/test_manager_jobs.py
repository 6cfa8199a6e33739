"""Managers in jobs of a real Slurm: they hand over to each other, are killed, and are reached from anywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from headway.crash_points import HAND_OVER_POINTS
from headway.drivers.manager_jobs import manager_jobs
from headway.journal.folder import Project
from headway.model.records import Finish
from tests.cli.bench import Bench
from tests.forked import Forked
from tests.slurm.configuration import Configuration, Partition
from tests.slurm.conftest import require_slurm
from tests.slurm.fast import FastSlurmLab
from tests.slurm.flows import STAGES, STAGES_TASKS, STAGES_TOTAL, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until

ROOT = Path(__file__).parents[2]
SPEEDS = (4, 15)  # of the clock: on a busy machine slower, so that a manager has time to start before its job ends
STARTS = 25  # commands that start one after the other while a manager's job lasts
STEP_S = 120
LONG, SHORT = 10, 3  # steps of a workflow: 20 minutes, 6 minutes
STEPS = {"long": LONG, "next one waits": 7}  # 14 minutes: the next manager is submitted after 12, and ten are left
MANAGER_S = 300
# The next manager's job is submitted after half of the time: 10 s on a machine with nothing else to do.
IN_JOBS = ("--manager", "job", "--manager-time", f"{MANAGER_S}s", "--log-level", "info")
# An sbatch that kills the manager that calls it, once: before the next manager's job is submitted, or after that.
SBATCH = """#!/bin/sh
case "$*" in *-manager-2*) [ -e {flag} ] || {{ touch {flag}; {submit} kill -KILL $PPID; exit 1; }} ;; esac
exec {sbatch} "$@"
"""
OPTIONS = {
    "dask": ("--lines", "dask"),
    "next one waits": ("--manager-time", "24m", "--manager-partition", "managers"),
}
AT_SBATCH = {"before-sbatch": "", "after-sbatch": '{sbatch} "$@" > /dev/null;'}
SOME_POINTS = ("successor-submitted", "leaving")
OTHER_POINTS = tuple(point for point in (*HAND_OVER_POINTS, *AT_SBATCH) if point not in SOME_POINTS)


def chain(steps: int, real_s: float) -> str:
    """Return a workflow of two chains of tasks, each of which takes `real_s` and adds one to a number."""
    step = """
  step{k}:
    each: {{n: [1, 2]}}
    run: echo "step{k}[{{n}}]" >> "$EXECUTIONS"; sleep {real_s}; expr $(cat {before}-{{n}}) + 1 > {k}-{{n}}
    inputs: ["{before}-{{n}}"]
    outputs: ["{k}-{{n}}"]
    resources: {{time: 15m}}"""
    return "name: chain\ntasks:" + "".join(step.format(k=k, before=k - 1, real_s=real_s) for k in range(1, steps + 1))


class ManagedFlow(SlurmFlow):
    """Chains of tasks on a Slurm with a fast clock, and a run of them whose managers are in jobs and see no locks."""

    def __init__(self, lab: FastSlurmLab, parent: Path, steps: int, **environment: str) -> None:
        fast = {"FAST_CLOCK": json.dumps(lab.clock()), "HEADWAY_ASK_EVERY": "0.3s", "UNSHARED_LOCKS": "1"}
        fast["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent / "fast_site"), str(ROOT)])
        super().__init__(lab, parent, chain(steps, lab.real_s(STEP_S)), fast | environment)
        for n in (1, 2):
            (self.directory / f"0-{n}").write_text(f"{10 * n}\n")
        self.steps = steps
        self._resumes = 10  # on a busy machine a manager's job may end before it has begun to act
        self._resuming: Forked | subprocess.Popen[bytes] | None = None

    def begin_in_job(self, *words: str) -> Forked | subprocess.Popen[bytes]:
        return self.begin("--nodes", "shared", "--plan", "one-job", "--partition", "main", *IN_JOBS, *words)

    def is_over(self) -> bool:
        """Whether the run is over. A run whose manager is gone without a next one is resumed, as its user would."""
        last = next(reversed(self.records()), None)
        if isinstance(last, Finish):
            return True
        if self._resuming is not None and self._resuming.poll() is None:
            return False
        if not any("-manager-" in name for name in self.jobs().values()):
            assert self._resumes > 0, self.output()
            self._resumes -= 1
            self._resuming = self.start("resume", *IN_JOBS)
        return False

    def reigns(self) -> list[tuple[str, str]]:
        """Return the times of the first and the last act of each manager, by the log of all of them."""
        found: dict[str, tuple[str, str]] = {}
        for at, pid, words in re.findall(r"^(\S+ \S+) [A-Z]+ +(\d+) (.*)$", self.log(), re.MULTILINE):
            if pid in found or "is resumed" in words:
                found[pid] = (found.get(pid, (at, at))[0], at)
        return sorted(found.values())

    def log(self) -> str:
        return (Project(self.directory).run().path / "manager.log").read_text()

    def check_all(self) -> None:
        """Assert that each task ran once, the results are right, and no two managers acted at the same time."""
        tasks = {f"step{k}[{n}]" for k in range(1, self.steps + 1) for n in (1, 2)}
        self.check(len(tasks))
        assert self.executed() == Counter(tasks)
        assert [(self.directory / f"{self.steps}-{n}").read_text() for n in (1, 2)] == [
            f"{10 * n + self.steps}\n" for n in (1, 2)
        ]
        assert all(before[1] <= after[0] for before, after in pairwise(self.reigns())), self.log()
        names = Counter(self.jobs_ever())
        assert set(names.values()) == {1}, "no job was submitted twice"
        assert {name for name in names if "-manager-" not in name} <= set(self.submitted())


def speed() -> int:
    """Return how fast the clock may run on this machine now."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "headway", "--help"], check=True, stdout=subprocess.DEVNULL)
    return round(min(max(MANAGER_S / (STARTS * (time.monotonic() - began)), SPEEDS[0]), SPEEDS[1]))


def run_all(names: Sequence[str], parent: Path) -> Iterator[dict[str, ManagedFlow]]:
    """Begin runs of these names at once on a Slurm of their own, and yield them when all are over."""
    require_slurm(with_fast_clock=True)
    partitions = (Partition("main", 4, max_time_min=1440), Partition("managers", first=5, max_time_min=1440))
    with FastSlurmLab(speed(), Configuration(nodes=5, partitions=partitions, min_job_age_s=86400)) as lab:
        flows: dict[str, ManagedFlow] = {}
        begun = {}
        for name in names:
            directory = parent / name
            directory.mkdir()
            flow = flows[name] = ManagedFlow(lab, directory, STEPS.get(name, SHORT), **_killing(name, directory, lab))
            begun[name] = flow.begin_in_job(*OPTIONS.get(name, ()))
            if name == "next one waits":
                flow.await_end(begun[name])
                run = Project(flow.directory).run()
                wait_until(lambda run=run: manager_jobs(run)[0].state == "runs", "a manager to start")
                lab.submit("sleep 900", "--partition=managers", "--cpus-per-task=7", "--time=600")  # all other cores
        for name, flow in flows.items():
            flow.await_end(begun[name])
        open_ = list(flows.values())
        deadline = time.monotonic() + 900
        while open_ := [flow for flow in open_ if not flow.is_over()]:
            assert time.monotonic() < deadline, open_[0].output() + open_[0].log()
            time.sleep(1)
        yield flows


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ManagedFlow]]:
    yield from run_all(("next one waits", "long", "dask", *SOME_POINTS), tmp_path_factory.mktemp("managed"))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ManagedFlow]]:
    yield from run_all(OTHER_POINTS, tmp_path_factory.mktemp("killed"))


def _killing(name: str, directory: Path, lab: SlurmLab) -> dict[str, str]:
    """Return the variables with which a manager is killed at a named point of the hand-over."""
    flag, sbatch = directory / "crashed", shutil.which("sbatch")
    if name in HAND_OVER_POINTS:
        return {"HEADWAY_CRASH": f"{name}:1:{flag}"}
    if name not in AT_SBATCH:
        return {}
    script = directory / "bin" / "sbatch"
    script.parent.mkdir()
    script.write_text(SBATCH.format(flag=flag, sbatch=sbatch, submit=AT_SBATCH[name].format(sbatch=sbatch)))
    script.chmod(0o755)
    return {"PATH": f"{script.parent}:{lab.environment()['PATH']}"}


def test_a_run_of_twenty_minutes_is_handed_over_every_few_minutes(flows: dict[str, ManagedFlow]) -> None:
    flow = flows["long"]
    flow.check_all()
    jobs = manager_jobs(Project(flow.directory).run())
    assert len(flow.reigns()) >= 5, "four hand-overs"
    assert all(job.state == "over" for job in jobs)
    assert len(flow.submitted()) == 1, "the job of the tasks went on under all managers"


def check_killed(flow: ManagedFlow) -> None:
    assert (flow.directory.parent / "crashed").exists(), "no manager was killed"
    flow.check_all()


@pytest.mark.parametrize("point", SOME_POINTS)
def test_a_manager_killed_at_a_named_point_of_the_hand_over(flows: dict[str, ManagedFlow], point: str) -> None:
    check_killed(flows[point])


@pytest.mark.chaos
@pytest.mark.parametrize("point", OTHER_POINTS)
def test_a_manager_killed_at_other_points_of_the_hand_over(killed: dict[str, ManagedFlow], point: str) -> None:
    check_killed(killed[point])


def test_managers_in_jobs_find_the_nodes_of_earlier_ones_over_the_network(flows: dict[str, ManagedFlow]) -> None:
    flows["dask"].check_all()
    assert len(flows["dask"].reigns()) >= 2


def test_a_next_manager_that_waits_is_cancelled_at_the_end_of_the_run(flows: dict[str, ManagedFlow]) -> None:
    flow = flows["next one waits"]
    flow.check_all()
    jobs = manager_jobs(Project(flow.directory).run())
    assert len(flow.reigns()) == 1
    assert len(jobs) == 2, "the next one was submitted"
    assert not jobs[1].node, "it never started"


@pytest.fixture
def login(slurm: SlurmLab, tmp_path: Path) -> Bench:
    bench = Bench(tmp_path / "work", tmp_path / "home")
    bench.environment |= slurm.environment() | {"EXECUTIONS": str(tmp_path / "executions")}
    bench.environment["HOLD"] = str(tmp_path / "work" / "hold")  # tasks of the second stage wait while it exists
    bench.write(STAGES.replace("sleep 0.2", 'while [ -e "$HOLD" ]; do sleep 0.1; done'))
    return bench


def _counts(login: Bench) -> tuple[int, int]:
    tasks = login.json("status")["tasks"]
    return tasks["succeeded"], tasks["running"]


IN_JOB = ("run", "--on", "slurm", "--manager", "job")


def test_a_mistake_is_reported_before_anything_is_submitted(login: Bench) -> None:
    assert "--manager: only a run on Slurm" in login.fails(2, "run", "--manager", "job")
    assert "--manager-time: 1m 00s are too short" in login.fails(2, *IN_JOB, "--manager-time", "1m")
    assert "there is no partition" in login.fails(3, *IN_JOB, "--manager-partition", "moon")
    assert "--manager-time: a manager's job may take" in login.fails(3, *IN_JOB, "--manager-time", "9d")
    assert not (login.directory / ".headway" / "runs").exists()


def test_a_run_is_reached_where_locks_of_other_machines_are_not_seen(login: Bench, slurm: SlurmLab) -> None:
    (login.directory / "hold").touch()
    begun = login.json(*IN_JOB)
    login.wait_for(lambda: _counts(login) == (3, 3), "the second stage to run")
    lock = login.directory / ".headway" / "lock"
    lock.rename(lock.with_name("lock-elsewhere"))  # as seen from another machine

    status = login.json("status")
    assert status["state"] == "running"
    assert [job["job_id"] for job in status["manager_jobs"]] == [begun["manager_job"]]
    assert f"manager: job {begun['manager_job']} on n" in login.succeeds("status")
    for again in (("resume",), ("run", "--on", "slurm"), ("resume", "--manager", "job")):
        assert f"is managed in job {begun['manager_job']}" in login.fails(4, *again)
    assert "is stopped" in login.succeeds("cancel")
    assert login.json("status")["state"] == "stopped"
    wait_until(lambda: not slurm.run("squeue", "-h").stdout.strip(), "the queue to be empty")

    (login.directory / "hold").unlink()
    login.succeeds("resume", "--manager", "job")
    assert "run 1: succeeded" in login.succeeds("attach")
    assert (login.directory / "total").read_text() == STAGES_TOTAL


def test_tasks_go_on_when_their_managers_job_is_cancelled(login: Bench, slurm: SlurmLab) -> None:
    (login.directory / "hold").touch()
    begun = login.json(*IN_JOB)
    login.wait_for(lambda: _counts(login) == (3, 3), "the second stage to run")
    slurm.run("scancel", str(begun["manager_job"]))
    login.wait_for(lambda: login.json("status")["state"] == "interrupted", "the end of the manager")
    (login.directory / "hold").unlink()
    login.wait_for((login.directory / "made-3").exists, "a task to end without a manager")
    login.succeeds("resume", "--manager", "job")
    assert "run 1: succeeded" in login.succeeds("attach")
    assert (login.directory / "total").read_text() == STAGES_TOTAL
    executions = Path(login.environment["EXECUTIONS"]).read_text().split()
    assert len(executions) == len(set(executions)) == STAGES_TASKS, "no task ran twice"


def test_a_manager_that_waits_in_the_queue_is_cancelled(login: Bench, slurm: SlurmLab) -> None:
    blocker = slurm.submit("sleep 3000", "-N8", "--exclusive")
    slurm.wait_for_job(blocker, "RUNNING")
    begun = login.json(*IN_JOB)
    assert f"job {begun['manager_job']} waits in the queue" in login.succeeds("status")
    assert "is stopped" in login.succeeds("cancel")
    assert slurm.run("squeue", "-h", "-o", "%A").stdout.split() == [str(blocker)]

    login.succeeds("resume", "--manager", "job")
    job = login.json("status")["manager_jobs"][-1]["job_id"]
    slurm.run("scancel", str(job))
    slurm.wait_for_job(job, "CANCELLED")
    assert login.json("status")["state"] == "interrupted"
    assert "headway resume --manager job 1" in login.succeeds("status")
    assert "headway resume --manager job 1" in login.fails(3, "attach")
    slurm.run("scancel", str(blocker))
    login.succeeds("resume", "--manager", "job")
    assert "run 1: succeeded" in login.succeeds("attach")
