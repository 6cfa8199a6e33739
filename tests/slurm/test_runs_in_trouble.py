"""Runs on a real Slurm while processes, nodes, jobs and the controller die.

No task is lost, and no task succeeds twice.
"""

from __future__ import annotations

import contextlib
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

# Enough work that tasks are still running at the time of a kill, on six nodes of two cores.
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
    """A Slurm with six nodes of two cores."""
    require_slurm()
    with SlurmLab(Configuration(nodes=6, cpus=2, memory_mb=4000)) as lab:
        yield lab


@pytest.fixture
def lab(small_slurm: SlurmLab) -> SlurmLab:
    small_slurm.tidy()
    return small_slurm


def processes(flow: SlurmFlow, module: str, node: str | None = None) -> list[int]:
    """Return the processes of the flow's jobs that run a module of Headway, on one node or on all."""
    found = []
    for pid in of_jobs(flow.lab.root, node):
        words = []
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if module.encode() in words and any(word.startswith(str(flow.directory).encode()) for word in words):
            found.append(pid)
    return sorted(found)


def kill_controller(flow: SlurmFlow) -> None:
    """Kill the controller after it has saved what it knows of the job, which takes it some seconds."""
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


@pytest.mark.parametrize("who", ["headway.workers.supervisor", "headway.workers.file_relay", "srun"])
def test_a_run_survives_the_kill_of_a_process_on_a_node(lab: SlurmLab, tmp_path: Path, who: str) -> None:
    flow = SlurmFlow(lab, tmp_path, wide(24, 1))
    run = flow.begin("--plan", "big-job", "--lines", "files")
    flow.wait(run, 3)
    answered = flow.nodes()[0].node.partition("#")[0]  # others may still be starting: they would not be missed
    os.kill(processes(flow, who, answered if who != "srun" else None)[0], signal.SIGKILL)
    finish(flow, run, 24)
    lost = [record for record in flow.records() if isinstance(record, NodeLost)]
    assert bool(lost) == (who != "headway.workers.file_relay")


def test_a_run_survives_the_death_of_a_node(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, wide(24, 1))
    run = flow.begin("--plan", "big-job")
    flow.wait(run, 3)
    lab.kill_node(flow.nodes()[0].node.partition("#")[0])
    finish(flow, run, 24)


def test_a_run_survives_a_short_outage_of_the_controller(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, wide(24, 5))
    run = flow.begin("--plan", "big-job")
    wait_until(lambda: len(flow.launches()) == 12, "tasks on all nodes")
    kill_controller(flow)
    flow.wait(run, 12)  # tasks on nodes that the run already holds go on
    lab.start_controller()
    finish(flow, run, 24)


def test_jobs_of_a_run_whose_journal_is_damaged_are_found(lab: SlurmLab, tmp_path: Path) -> None:
    """A new run beside them might make the same files twice at a time."""
    flow = SlurmFlow(lab, tmp_path, wide(2, 600))
    run = flow.begin("--plan", "big-job")
    wait_until(lambda: len(flow.launches()) > 0, "a task to run")
    number = flow.job_number(flow.submitted()[0])
    run.kill()
    run.wait()
    journal = flow.directory / ".headway/runs/1/journal.db"
    for path in journal.parent.glob("journal.db*"):
        path.write_bytes(b"nothing that can be read" * 1000)
    (flow.directory / "workflow.yaml").write_text("name: w\ntasks: {again: {run: echo done > total, outputs: total}}\n")
    flow.headway("run", "workflow.yaml", "--again", "--quiet", code=4)
    assert f"end them with `scancel {number}`" in flow.output()
    lab.run("scancel", str(number))
    wait_until(lambda: number not in flow.jobs(), "the job to end")
    flow.headway("run", "workflow.yaml", "--again", "--quiet")
    assert flow.total() == "done\n"


def test_a_run_survives_an_scancel_of_its_job(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, wide(24, 1))
    run = flow.begin("--plan", "big-job")
    flow.wait(run, 3)
    lab.run("scancel", str(flow.job_number(flow.submitted()[0])))
    finish(flow, run, 24)
    assert {outcome.ending for outcome in flow.outcomes()} <= {Ending.SUCCESS, Ending.CANCELLED}


def test_a_task_that_ran_out_of_memory_is_retried_in_the_same_job(lab: SlurmLab, tmp_path: Path) -> None:
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


# --- runs of more than a minute: they start before all other tests and are checked after them ---


@pytest.fixture(scope="module", autouse=True)
def without_controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Going]]:
    """Start two runs whose controller dies and is restarted after a minute.

    During the outage, the tasks of the first run end, so its job ends and the run requests another one. All processes
    of the second run's job are killed, so nothing reports the end of that job.
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
        directories = {job: tmp_path_factory.mktemp(job) for job in ("ends", "dies")}
        flows = {job: SlurmFlow(lab, directory, workflow) for job, directory in directories.items()}
        going = {job: (flow, flow.begin("--plan", "per-stage")) for job, flow in flows.items()}
        wait_until(lambda: all(len(flow.executed()) == 2 for flow in flows.values()), "the tasks to begin")
        kill_controller(flows["dies"])
        kill_jobs(lab.root, flows["dies"].nodes()[0].node.partition("#")[0])
        for directory in directories.values():
            (directory / "executions.enough").touch()
        comes_back = threading.Timer(60, lab.start_controller)
        comes_back.start()
        yield going
        comes_back.cancel()
        comes_back.join()
        for _, run in going.values():
            run.kill()  # in case no test waited for it


@pytest.fixture(scope="module", autouse=True)
def cut_off(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Going]:
    """Start a run whose job is too short: one minute, the shortest walltime in Slurm."""
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
        run.kill()  # in case no test waited for it


def test_tasks_cut_off_by_the_end_of_their_job_run_again(cut_off: Going) -> None:
    """The lost attempt does not count as a failure: this task may not fail even once."""
    flow, run = cut_off
    flow.await_end(run)
    flow.check(1)
    assert {outcome.ending for outcome in flow.outcomes()} <= {Ending.SUCCESS, Ending.CANCELLED}
    assert max(outcome.attempt for outcome in flow.outcomes()) == 2


@pytest.mark.parametrize("job", ["ends", "dies"])
def test_a_run_survives_a_controller_outage_of_a_minute(without_controller: dict[str, Going], job: str) -> None:
    flow, run = without_controller[job]
    flow.await_end(run)
    flow.check(3)
    assert flow.total() == "1\n2\n"
    firsts = 2 if job == "dies" else 1
    assert flow.executed() == {"first[1]": firsts, "first[2]": firsts, "second": 1}
    assert sorted(flow.jobs_ever()) == sorted(flow.submitted())
