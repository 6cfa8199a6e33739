"""Runs on a real Slurm while processes, nodes, jobs and the controller die: nothing is lost, and nothing succeeds
twice."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.model.outcome import Ending
from headway.model.records import NodeLost
from tests.slurm.configuration import Configuration
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import kill_jobs, of_jobs, wait_until

# So long that some of it is under way when something dies, on nodes that are six times two cores.
WIDE = """
name: wide
tasks:
  part:
    each: {{n: [{numbers}]}}
    run: sleep {seconds}; echo "$SLURMD_NODENAME" > part-{{n}}
    outputs: ["part-{{n}}"]
  total:
    run: cat part-* | wc -l > total
    inputs: ["part-*"]
    outputs: [total]
"""


Going = tuple[SlurmFlow, subprocess.Popen[bytes]]  # a run that is under way


def wide(tasks: int, seconds: float) -> str:
    return WIDE.format(numbers=", ".join(map(str, range(tasks))), seconds=seconds)


@pytest.fixture(scope="module")
def small_slurm() -> Iterator[SlurmLab]:
    """Six nodes of two cores."""
    require_slurm()
    with SlurmLab(Configuration(nodes=6, cpus=2, memory_mb=4000)) as lab:
        yield lab


@pytest.fixture
def lab(small_slurm: SlurmLab) -> SlurmLab:
    small_slurm.tidy()
    return small_slurm


def processes(flow: SlurmFlow, module: str) -> list[int]:
    """Those processes of a flow's jobs that run a module of ours."""
    found = []
    for pid in of_jobs(flow.lab.root):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if os.path.exists(f"/proc/{pid}") else []
        if module.encode() in words and any(word.startswith(str(flow.directory).encode()) for word in words):
            found.append(pid)
    return sorted(found)


def kill_controller(flow: SlurmFlow) -> None:
    """With all that it knows of a job on disk, since it saves that some seconds late."""
    at = time.time()
    number = flow.job_number(flow.submitted()[0])
    flow.lab.run("scontrol", "update", f"jobid={number}", "comment=save-it")
    state = flow.lab.root / "state/job_state"
    wait_until(lambda: state.exists() and state.stat().st_mtime > at, "the controller to save its state")
    flow.lab.kill_controller()


def finish(flow: SlurmFlow, run: subprocess.Popen[bytes], tasks: int) -> None:
    flow.await_end(run)
    flow.check(tasks + 1)
    assert flow.total() == f"{tasks}\n"


@pytest.mark.parametrize("who", ["supervisor", "file_relay", "node"])
def test_a_process_on_a_node_is_killed(lab: SlurmLab, tmp_path: Path, who: str) -> None:
    flow = SlurmFlow(lab, tmp_path, wide(24, 1))
    run = flow.begin("--plan", "big-job", "--lines", "files")
    flow.wait(run, 3)
    os.kill(processes(flow, f"headway.workers.{who}")[0], signal.SIGKILL)
    finish(flow, run, 24)
    lost = [record for record in flow.records() if isinstance(record, NodeLost)]
    assert bool(lost) == (who != "file_relay")


def test_a_node_dies(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, wide(24, 1))
    run = flow.begin("--plan", "big-job")
    flow.wait(run, 3)
    lab.kill_node(flow.nodes()[0].node.partition("#")[0])
    finish(flow, run, 24)


def test_the_controller_is_away_for_a_while(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, wide(24, 5))
    run = flow.begin("--plan", "big-job")
    wait_until(lambda: len(flow.launches()) == 12, "tasks on all nodes")
    kill_controller(flow)
    flow.wait(run, 12)  # what has its nodes goes on
    lab.start_controller()
    finish(flow, run, 24)


def test_somebody_cancels_a_job(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, wide(24, 1))
    run = flow.begin("--plan", "big-job")
    flow.wait(run, 3)
    lab.run("scancel", str(flow.job_number(flow.submitted()[0])))
    finish(flow, run, 24)
    assert {outcome.ending for outcome in flow.outcomes()} <= {Ending.SUCCESS, Ending.CANCELLED}


def test_a_task_runs_out_of_memory(lab: SlurmLab, tmp_path: Path) -> None:
    workflow = """
name: greedy
tasks:
  greedy:
    each: {n: [1, 2]}
    run: python3 -c "held = b'x' * 300_000_000; import time; time.sleep(1)"; echo > greedy-{n}
    outputs: ["greedy-{n}"]
    resources: {memory: 100 MB}
"""
    flow = SlurmFlow(lab, tmp_path, workflow)
    flow.await_end(flow.begin("--plan", "one-job", "--sizer", "user"))
    flow.check(2)
    assert [one.ending for one in flow.outcomes()].count(Ending.MEMORY) >= 2
    assert len(flow.submitted()) == 1


# --- what takes more than a minute: it begins before all other tests, and is looked at after them ---


@pytest.fixture(scope="module", autouse=True)
def without_controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Going]]:
    """Two runs whose controller dies and is away for a minute.

    Meanwhile the tasks of one are done, so that its job ends and another is asked for. The job of the other dies with
    all that it has on its node, so that nobody tells of it.
    """
    require_slurm()
    workflow = """
name: two stages
tasks:
  first:
    each: {n: [1, 2]}
    run: |
      echo "first[{n}]" >> "$EXECUTIONS"
      until [ -e "$EXECUTIONS.enough" ]; do sleep 0.2; done
      echo {n} > first-{n}
    outputs: ["first-{n}"]
  second:
    run: echo second >> "$EXECUTIONS"; cat first-* > total
    inputs: ["first-*"]
    outputs: [total]
"""
    with SlurmLab(Configuration(nodes=2, cpus=2, memory_mb=4000, min_job_age_s=3600)) as lab:
        places = {job: tmp_path_factory.mktemp(job) for job in ("ends", "dies")}
        flows = {job: SlurmFlow(lab, place, workflow) for job, place in places.items()}
        going = {job: (flow, flow.begin("--plan", "per-stage")) for job, flow in flows.items()}
        wait_until(lambda: all(len(flow.executed()) == 2 for flow in flows.values()), "the tasks to begin")
        kill_controller(flows["dies"])
        kill_jobs(lab.root, flows["dies"].nodes()[0].node.partition("#")[0])
        for place in places.values():
            (place / "executions.enough").touch()
        comes_back = threading.Timer(60, lab.start_controller)
        comes_back.start()
        yield going
        comes_back.cancel()
        comes_back.join()
        for _, run in going.values():
            run.kill()  # if nobody waited for it


@pytest.fixture(scope="module", autouse=True)
def cut_off(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Going]:
    """A run with a job that is too short: Slurm's shortest is a minute."""
    require_slurm()
    workflow = """
name: longer than thought
tasks:
  long:
    run: if [ "$HEADWAY_TRY" = 1 ]; then sleep 600; fi; echo > long
    outputs: [long]
"""
    with SlurmLab(Configuration(nodes=1)) as lab:
        flow = SlurmFlow(lab, tmp_path_factory.mktemp("cut-off"), workflow)
        run = flow.begin("--plan", "one-job")
        wait_until(lambda: bool(flow.launches()), "the task to begin")
        lab.run("scontrol", "update", f"jobid={flow.job_number(flow.submitted()[0])}", "timelimit=1")
        yield flow, run
        run.kill()  # if nobody waited for it


def test_a_job_ends_before_its_tasks(cut_off: Going) -> None:
    """They run again, and it is not held against them: this one may not fail even once."""
    flow, run = cut_off
    flow.await_end(run)
    flow.check(1)
    assert {outcome.ending for outcome in flow.outcomes()} <= {Ending.SUCCESS, Ending.CANCELLED}
    assert max(outcome.attempt for outcome in flow.outcomes()) == 2


@pytest.mark.parametrize("job", ["ends", "dies"])
def test_the_controller_is_away_for_a_minute(without_controller: dict[str, Going], job: str) -> None:
    flow, run = without_controller[job]
    flow.await_end(run)
    flow.check(3)
    assert flow.total() == "1\n2\n"
    firsts = 2 if job == "dies" else 1
    assert flow.executed() == {"first[1]": firsts, "first[2]": firsts, "second": 1}
    assert sorted(flow.jobs_ever()) == sorted(flow.submitted())
