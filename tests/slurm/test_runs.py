"""Whole runs on a real Slurm: every plan, the files of a run, and ways to stop a run."""

from __future__ import annotations

import signal
import stat
from pathlib import Path

import pytest

import headway
from headway.model.outcome import Ending
from headway.model.records import CallsCounted, UserCancel
from headway.planning import PLANS
from tests.api.crate_checker import complaints
from tests.slurm.flows import PATIENCE_S, STAGES_TOTAL, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until

LONG = """
name: long
tasks:
  quick:
    run: echo > quick
    outputs: [quick]
  long:
    each: {n: [1, 2]}
    run: sleep 600; echo > long-{n}
    inputs: [quick]
    outputs: ["long-{n}"]
"""


@pytest.fixture(scope="module")
def flows(slurm_of_session: SlurmLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, SlurmFlow]:
    """Finish a run under every plan, all at once; some of their jobs have to wait in the queue."""
    slurm_of_session.tidy()
    flows = {plan: SlurmFlow(slurm_of_session, tmp_path_factory.mktemp(plan)) for plan in sorted(PLANS)}
    runs = {plan: flow.begin("--plan", plan) for plan, flow in flows.items()}
    for plan, flow in flows.items():
        flow.await_end(runs[plan])
    return flows


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_the_workflow_succeeds_under_every_plan(flows: dict[str, SlurmFlow], plan: str) -> None:
    flow = flows[plan]
    assert flow.total() == STAGES_TOTAL
    flow.check()
    assert set(flow.executed().values()) == {1}
    assert {launch.node.partition("#")[0] for launch in flow.launches()} <= set(flow.lab.nodes)


def test_calls_to_slurm_are_counted_and_shown(flows: dict[str, SlurmFlow]) -> None:
    flow = flows["per-stage"]
    [counted] = [record for record in flow.records() if isinstance(record, CallsCounted)]
    assert counted.calls["sbatch"] >= len(flow.submitted()) == 3
    assert f"3 jobs; Slurm was asked {sum(counted.calls.values())} times: " in flow.output()


def test_the_page_and_the_crate_of_such_a_run(flows: dict[str, SlurmFlow], tmp_path: Path) -> None:
    flow = flows["headway"]
    page = headway.write_report("1", flow.directory, out=tmp_path / "page.html").data
    assert page.queued and [job.started for job in page.jobs if job.name.startswith("job ")]
    assert {"core-hours held by jobs", "mean wait of a job in the queue"} <= {tile.name for tile in page.tiles}
    assert all(node in dict(page.settings)["machines"] for node in {node.name for node in page.nodes})
    made = headway.export(tmp_path / "crate", "1", flow.directory, with_files=True)
    assert (made.state, made.profile, made.left_out) == ("succeeded", "Provenance Run Crate", [])
    assert complaints(tmp_path / "crate", "provenance-run-crate", tmp_path / "cache") == []


def test_the_files_of_jobs_are_private(flows: dict[str, SlurmFlow]) -> None:
    jobs = flows["headway"].directory / ".headway/runs/1/jobs"
    closed = [jobs, *(path for path in jobs.rglob("*") if path.is_dir())]
    assert len(closed) > 3
    assert not [path for path in closed if stat.S_IMODE(path.stat().st_mode) & 0o077]
    inside = [path for path in jobs.rglob("*") if path.is_file() and not path.is_symlink()]
    assert {"order.json", "script.sh", "asked.json"} <= {path.name for path in inside}
    assert not [path for path in inside if stat.S_IMODE(path.stat().st_mode) & 0o077]


def test_one_ctrl_c_lets_running_tasks_end(slurm: SlurmLab, tmp_path: Path) -> None:
    """The running tasks are the last of this workflow, so the run succeeds."""
    flow = SlurmFlow(slurm, tmp_path, LONG.replace("sleep 600", "sleep 3"))
    run = flow.begin()
    wait_until(lambda: len(flow.launches()) == 3, "both to run")
    run.send_signal(signal.SIGINT)
    flow.await_end(run)
    flow.check(tasks=3)


@pytest.mark.parametrize("how", ["ctrl-c", "cancel"])
def test_cancel_or_a_second_ctrl_c_stops_a_run_at_once(slurm: SlurmLab, tmp_path: Path, how: str) -> None:
    flow = SlurmFlow(slurm, tmp_path, LONG)
    run = flow.begin()
    wait_until(lambda: len(flow.launches()) == 3, "both to run")
    if how == "cancel":
        flow.headway("cancel")
    else:
        run.send_signal(signal.SIGINT)
        wait_until(
            lambda: any(isinstance(record, UserCancel) for record in flow.records()), "the first Ctrl-C to be recorded"
        )
        run.send_signal(signal.SIGINT)
    assert run.wait(PATIENCE_S) != 0
    flow.check_queue()
    assert [one.ending for one in flow.outcomes()] == [Ending.SUCCESS, Ending.CANCELLED, Ending.CANCELLED]


def test_cancel_works_without_a_manager(slurm: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(slurm, tmp_path, LONG)
    run = flow.begin()
    wait_until(lambda: len(flow.launches()) == 3, "both to run")
    run.kill()
    run.wait()
    assert flow.jobs()
    flow.headway("cancel")
    flow.check_queue()
