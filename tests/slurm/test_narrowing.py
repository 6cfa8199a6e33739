"""Running jobs that give back nodes, on a real Slurm with accounting."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.site_reading import read_settings
from headway.model.job import JobPhase
from headway.model.records import (
    AvoidNode,
    CallsCounted,
    Decision,
    Event,
    JobState,
    LimitsRead,
    NodeLost,
    NodeUp,
    Release,
    Shrink,
    Shrunk,
)
from headway.report.run.summary import RunSummary
from tests.slurm.flows import PATIENCE_S, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.narrowing import NODES
from tests.slurm.processes import wait_until

ROOT = str(Path(__file__).parents[2])
FEW_CALLS = 20
# All tasks wait for a file, `last` for another one.
WORKFLOW = """
name: narrows
tasks:
  short:
    each: {n: 1..3}
    run: while [ ! -e "${EXECUTIONS}-go" ]; do sleep 0.1; done; touch short-{n}
    outputs: ["short-{n}"]
    resources: {cores: 1, memory: 500 MB}
  last:
    run: while [ ! -e "${EXECUTIONS}-end" ]; do sleep 0.1; done; echo "last" >> "$EXECUTIONS"; touch last
    outputs: [last]
    resources: {cores: 1, memory: 500 MB}
"""


class Narrowing(SlurmFlow):
    """Runs that give back idle nodes."""

    def headway_with_plan(self, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        return self.run([sys.executable, "-m", "tests.slurm.narrowing", *words], PYTHONPATH=path, **environment)

    def begin_narrow(self, nodes: str, **environment: str) -> subprocess.Popen[bytes]:
        words = ("run", "workflow.yaml", "--on", "slurm", "--nodes", nodes, "--plan", "narrowing")
        run = self.headway_with_plan(*words, **environment)
        self.until(run, lambda: len(self.nodes()) == NODES and len(self.launches()) == NODES, "all tasks to run")
        return run

    def let(self, what: str) -> None:
        (self.directory.parent / f"executions-{what}").touch()

    def until(self, run: subprocess.Popen[bytes], condition: Callable[[], object], what: str) -> None:
        def there() -> bool:
            assert run.poll() is None, self.output()
            return bool(condition())

        wait_until(there, what, patience_s=PATIENCE_S)

    def of(self, kind: type) -> list:
        return [record for record in self.records() if isinstance(record, kind)]

    def spare(self) -> set[str]:
        """The nodes without that of the job's script and that of the last task, which may be another one."""
        needed = {launch.node for launch in self.launches() if launch.task == "last"}
        return {node.node for node in self.of(NodeUp) if not node.keeps_job} - needed

    def given(self) -> set[str]:
        return {node for record in self.of(Shrunk) for node in record.nodes}

    def shown(self, column: str) -> str:
        """What squeue shows of the only job."""
        return self.lab.run("squeue", "-h", "-o", column).stdout.strip()


def test_nodes_are_given_back_and_charged_until_then(slurm_with_accounting: SlurmLab, tmp_path: Path) -> None:
    flow = Narrowing(slurm_with_accounting, tmp_path, WORKFLOW)
    run = flow.begin_narrow("whole")
    number = next(iter(flow.jobs()))
    flow.let("go")
    spare = flow.spare()
    flow.until(run, lambda: flow.given() == spare, "nodes to be given back")
    assert flow.shown("%D") == str(NODES - len(spare))
    flow.headway("status")
    assert f"; gave back {len(spare)} nodes" in flow.output()
    time.sleep(3)  # Slurm charges by the second: the nodes that are left are needed for some
    flow.let("end")
    flow.await_end(run)
    flow.check(4)
    assert not flow.of(NodeLost) and not flow.of(AvoidNode)
    assert f"narrower job {number} (4 nodes with 8 cores" in flow.output()
    (calls,) = flow.of(CallsCounted)
    assert sum(calls.calls.values()) < FEW_CALLS, calls.calls
    flow.headway("why", "last")
    assert f"the job gave back {len(spare)} nodes" in flow.output()
    _compare_with_accounting(flow, number)


def _compare_with_accounting(flow: Narrowing, number: int) -> None:
    columns = "State,NNodes,CPUTimeRAW,Start,End"

    def rows() -> list[list[str]]:
        text = flow.lab.run(
            "env", "SLURM_TIME_FORMAT=%s", "sacct", "-D", "-X", "-n", "-P", f"-j{number}", f"-o{columns}"
        )
        return [line.split("|") for line in text.stdout.splitlines()]

    def is_over() -> bool:
        return any(row[0].startswith(("COMPLETED", "CANCELLED")) for row in rows())  # none before accounting knows it

    wait_until(is_over, "the end in accounting")
    *resizes, _ = found = rows()
    assert [row[0] for row in resizes] == ["RESIZING"] * len(flow.of(Shrunk))
    decided = flow.of(Shrink)[0].at
    for row, shrunk in zip(resizes, flow.of(Shrunk), strict=True):
        assert decided - 1 <= float(row[4]) <= shrunk.at + 1
    summary = RunSummary()
    for record in flow.records():
        summary.apply(record)
    charged_s = sum(float(row[2]) for row in found)
    assert charged_s < 8 * NODES * (float(found[-1][4]) - float(found[0][3]))  # than if no node had been given back
    running = [record for record in flow.of(JobState) if record.phase is JobPhase.RUNNING]
    began = min(record.at if record.since is None else record.since for record in running)
    ended = min(record.at for record in flow.records() if _ends_job(record))
    back_s = sum(len(shrunk.nodes) * (ended - shrunk.at) for shrunk in flow.of(Shrunk))
    held_s = 3600 * summary.jobs.held_core_hours(summary.last_at)
    assert held_s == pytest.approx(8 * (NODES * (ended - began) - back_s), abs=1.0)


def _ends_job(record: Event | Decision) -> bool:
    return isinstance(record, Release) or (isinstance(record, JobState) and record.phase is JobPhase.ENDED)


def test_a_manager_that_died_before_it_told_slurm_tells_it_when_it_is_resumed(
    slurm_with_accounting: SlurmLab, tmp_path: Path
) -> None:
    flow = Narrowing(slurm_with_accounting, tmp_path, WORKFLOW)
    run = flow.begin_narrow("shared", FORGETFUL="1")
    flow.let("go")
    flow.until(run, lambda: len(flow.successes()) == NODES - 1 and flow.of(Shrink), "nodes to be given back")
    run.kill()
    run.wait()
    assert flow.shown("%D") == str(NODES)
    again = flow.headway_with_plan("resume")
    flow.until(again, lambda: flow.given() == flow.spare(), "the nodes to be given back")
    assert flow.shown("%D") == str(NODES - len(flow.given()))
    flow.let("end")
    flow.await_end(again)
    flow.check(4)
    assert flow.executed()["last"] == 1
    assert not flow.of(NodeLost)


def test_a_refusal_is_told_once_and_the_run_goes_on(
    slurm_with_accounting: SlurmLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = Narrowing(slurm_with_accounting, tmp_path, WORKFLOW)
    run = flow.begin_narrow("whole")
    lab = slurm_with_accounting
    conf = lab.root / "etc/slurm.conf"
    before = conf.read_text()
    assert "SchedulerParameters=" in before
    conf.write_text(before.replace("SchedulerParameters=", "SchedulerParameters=disable_job_shrink,"))
    try:
        lab.run("scontrol", "reconfigure")
        flow.let("go")
        flow.until(run, lambda: flow.of(Shrunk), "the refusal")
        assert flow.shown("%D") == str(NODES)
        flow.let("end")
        flow.await_end(run)
        for name, value in lab.environment().items():
            monkeypatch.setenv(name, value)
        settings = read_settings(Commands())
        assert settings is not None and not settings.configuration.shrinks  # the next run does not try
    finally:
        conf.write_text(before)
        lab.run("scontrol", "reconfigure")
    flow.check(4)
    assert [site.shrinks for site in flow.of(LimitsRead)] == [True]
    (refusal,) = flow.of(Shrunk)
    assert "not supported on this system" in refusal.refused
    assert flow.output().count("takes no nodes back from running jobs") == 1
    assert not flow.of(NodeLost)
