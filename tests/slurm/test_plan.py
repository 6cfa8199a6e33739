"""`headway plan W --on slurm` compares the plans on the real queue and submits nothing."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from headway.api.plan_on_slurm import imagined
from headway.clusters.slurm.queue_now import QueueNow, _taken
from headway.model.records import QueueRead
from headway.model.resources import Resources
from tests.cli.bench import SMALL, Bench
from tests.dashboard.servers import serving
from tests.slurm.lab import SlurmLab
from tests.slurm.lies import Liar, lying

FLOW = """
    name: flow
    tasks:
      part:
        each: {n: [1, 2, 3, 4, 5, 6]}
        run: sleep 0.1
        resources: {memory: 500 MB, disk: 1 GB, time: 20m}
      whole:
        needs: [part]
        run: sleep 0.1
        resources: {memory: 500 MB, time: 5m}
"""


@pytest.fixture
def told(slurm: SlurmLab) -> Liar:
    """A Slurm that never lies and whose calls are recorded."""
    return lying(slurm, "errors", 0.0, seed=1)


@pytest.fixture
def login(told: Liar, tmp_path: Path) -> Bench:
    bench = Bench(tmp_path / "work", tmp_path / "home")
    bench.environment |= told.environment()
    bench.write(FLOW)
    return bench


def planned(login: Bench, *words: str) -> dict[str, Any]:
    answer: dict[str, Any] = login.json("plan", "workflow.yaml", "--on", "slurm", *words)
    return answer


def test_planning_on_an_idle_queue_submits_nothing(login: Bench, told: Liar, slurm: SlurmLab) -> None:
    before = slurm.run("squeue", "-h", "--states=all", "-o", "%i").stdout.split()  # jobs of earlier tests
    table = login.succeeds("plan", "workflow.yaml", "--on", "slurm", "--futures", "2")
    assert "makespan" in table
    assert "one-job-per-task" in table
    assert "(2 imagined futures)" in table
    after = slurm.run("squeue", "-h", "--states=all", "-o", "%i").stdout.split()
    assert set(after) <= set(before), "nothing was submitted"
    submissions = told.calls("sbatch")
    assert len(submissions) <= 5
    assert all("--test-only" in call.arguments for call in submissions)
    answer = planned(login)
    assert answer["probes"] <= 5
    assert (answer["machine"], answer["cores_taken"], answer["jobs_waiting"]) == (64, 0, 0)
    assert {plan["makespan_s"] for plan in answer["plans"]} == {1500.0}, "20 minutes, then 5 minutes, without a wait"


def test_tasks_that_need_other_nodes_are_planned_as_if_usual_ones_had_it(login: Bench) -> None:
    """A run finds such nodes in another partition."""
    login.write(FLOW.replace("memory: 500 MB, time: 5m", "memory: 500 MB, gpus: 1, cores: 9, time: 5m"))
    done = login("plan", "workflow.yaml", "--on", "slurm", "--plan", "one-job", "--futures", "1")
    assert "one-job: expected to finish" in done.stdout, done.stderr
    said = "whole: asks for more than a usual node of partition main has; the plan reckons as if its nodes had it"
    assert said in " ".join(done.stderr.split())
    login.write(FLOW.replace("memory: 500 MB, time: 5m", "cores: 65, time: 5m"))
    said = login.fails(2, "plan", "workflow.yaml", "--on", "slurm")
    assert "'whole' asks for 65 cores: partition main has 64" in said


def test_running_and_waiting_jobs_delay_the_plans(login: Bench, slurm: SlurmLab) -> None:
    first = slurm.submit("sleep 3000", "-N8", "--exclusive", "--time=60")
    slurm.wait_for_job(first, "RUNNING")
    second = slurm.submit("sleep 3000", "-N8", "--exclusive", "--time=30")
    answer = planned(login, "--plan", "one-job", "--plan", "headway", "--futures", "4")
    assert (answer["cores_taken"], answer["jobs_waiting"]) == (64, 1)
    for plan in answer["plans"]:
        assert 60 * 60 < plan["longest_s"] - 1500 <= 90 * 60, "at most the walltimes of both jobs"
        assert plan["shortest_s"] < plan["longest_s"], "in other futures the jobs end before their walltimes"
    whole = planned(login, "--nodes", "whole", "--plan", "one-job", "--futures", "1")
    assert (whole["machine"], whole["nodes_taken"], whole["jobs_waiting"]) == (8, 8, 1)
    assert slurm.run("squeue", "-h", "-o", "%i").stdout.split() == [str(second), str(first)]


def test_a_share_starts_beside_other_jobs(login: Bench, slurm: SlurmLab) -> None:
    others = slurm.submit("sleep 3000", "-N8", "-n8", "--mem=100M", "--time=60")
    slurm.wait_for_job(others, "RUNNING")
    plans = ("--plan", "one-job", "--plan", "headway", "--futures", "1")
    shares, whole = (planned(login, *plans, "--nodes", nodes) for nodes in ("shared", "whole"))
    assert [plan["makespan_s"] for plan in shares["plans"]] == [1500.0, 1500.0]
    assert all(plan["makespan_s"] > 3000 for plan in whole["plans"])
    assert shares["plans"][0]["core_hours"] < whole["plans"][0]["core_hours"]


def test_run_times_from_earlier_runs_on_this_site_replace_hints(login: Bench) -> None:
    login.succeeds("run", *SMALL, "--quiet")
    (plan,) = planned(login, "--plan", "one-job", "--futures", "1")["plans"]
    assert plan["makespan_s"] == 1500.0, "runs on this machine say nothing about the cluster"
    login.succeeds("run", "--again", "--on", "slurm", "--quiet")
    assert {each["site"] for each in login.json("history")["categories"]} == {"lab", socket.gethostname()}
    (plan,) = planned(login, "--plan", "one-job", "--futures", "1")["plans"]
    assert plan["makespan_s"] < 600
    login.write(FLOW.replace(", time: 20m", "").replace("flow", "flaw"), "unknown.yaml")
    done = login("plan", "unknown.yaml", "--on", "slurm", "--plan", "one-job")
    assert "nothing is known of how long 6 tasks will run: 10 minutes is assumed" in done.stderr


@pytest.mark.parametrize(
    ("deadline", "said"),
    [
        ("1h", "in time in 20 of 20 imagined futures"),
        ("10m", "the deadline is not likely to be kept: in time in 0 of 20 imagined futures at best"),
    ],
)
def test_a_run_says_whether_it_will_most_likely_keep_its_deadline(login: Bench, deadline: str, said: str) -> None:
    """The tasks are expected to take 25 minutes; nothing is submitted."""
    done = login("run", "--on", "slurm", "--deadline", deadline, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert f"{said}, with --prefer " in done.stderr


def test_wrong_options_are_refused(login: Bench, tmp_path: Path) -> None:
    assert "there is no partition moon" in login.fails(
        3, "plan", "workflow.yaml", "--on", "slurm", "--partition", "moon"
    )
    error = login.fails(2, "plan", "workflow.yaml", "--on", "slurm", "--start", "3d")
    assert "this is for logs, and this queue is a real one" in error
    error = login.fails(2, "plan", "workflow.yaml", "--on", "lublin", "--partition", "main")
    assert "this is for a real queue, and this is a log" in error
    assert "no login node" in login.fails(3, "plan", "workflow.yaml", "--on", "slurm", PATH=str(tmp_path))


def test_futures_are_the_same_for_the_same_seed() -> None:
    now = QueueNow("lab", "main", 8, [(3, 600.0), (5, 90.0)], [(8, 1200.0)], Resources(cores=8), None, 0)
    asked = imagined(now, 0, 7, 16).waits([1, 8], [60, 60]).tolist()
    assert asked == [90.0, 1800.0]

    def starts(number: int, seed: int) -> list[float]:
        queue = imagined(now, number, seed, 16)
        queue.run()
        started: list[float] = queue.starts.tolist()
        return started

    assert starts(0, 7) == [0.0, 0.0, 600.0]
    assert starts(1, 7) == starts(1, 7)
    assert 0 < starts(1, 7)[2] < 600
    assert starts(1, 7) != starts(2, 7)


def test_taken_nodes_are_expressed_as_running_jobs() -> None:
    plan = QueueRead(100.0, [100.0, 150.0, 200.0, 300.0], [2.0, 5.0, 3.0, 8.0])
    assert _taken(plan, 8) == [(5, 200.0), (1, 50.0)], "nodes that are taken later count as taken until then"
    assert _taken(QueueRead(100.0, [100.0], [8.0]), 8) == []


def test_waits_on_slurm_are_those_of_the_queue_as_it_is_now(login: Bench, slurm: SlurmLab) -> None:
    first = slurm.submit("sleep 3000", "-N8", "--exclusive", "--time=60")
    slurm.wait_for_job(first, "RUNNING")
    table = login.succeeds("waits", "--on", "slurm")
    assert "lab, main: 64 of 64 cores taken, 0 jobs waiting" in table
    answer = login.json("waits", "--on", "slurm", "--partition", "main", "--account", "any")
    assert {each["cores"] for each in answer["waits"]} == {1, 2, 4, 8, 16, 32, 64}
    assert {(each["nodes"], each["partition"]) for each in answer["waits"]} == {(n, "main") for n in (1, 2, 4, 8)}
    with serving(login) as server:  # the page for a shape that is typed in
        asked = server.ask("/queue/wait?nodes=2&cores=4&minutes=10").json()["asked"]
        assert (asked["nodes"], asked["cores"], asked["partition"]) == (2, 8, "main")
        assert 3400 < asked["wait_s"] <= 3600
        assert server.ask("/queue/wait?nodes=1&cores=999&minutes=10").json()["asked"]["wait_s"] is None, "never"
    login.write('nodes = "whole"\n', "headway.toml")
    assert {each["nodes"] for each in login.json("waits", "--on", "slurm")["waits"]} == {1, 2, 4, 8}
    assert all(3400 < each["wait_s"] <= 3600 for each in answer["waits"]), "until the job's time is up"
    assert "this is for logs" in login.fails(2, "waits", "--on", "slurm", "--load", "0.5")
    assert "no queue is named" in login.fails(2, "waits")
    assert "there is no queue called 'moon'" in login.fails(2, "waits", "--on", "moon")
    assert "this is for a real queue" in login.fails(2, "waits", "lublin", "--partition", "main")


def test_a_short_workflow_does_not_cost_nothing(login: Bench) -> None:
    login.write("name: w\ntasks:\n  a:\n    run: 'true'\n    resources: {time: 30s, memory: 100 MB}\n", "short.yaml")
    table = login.succeeds("plan", "short.yaml", "--on", "slurm", "--plan", "one-job", "--futures", "1")
    assert "30 s" in table
    assert "0.0 " not in table
