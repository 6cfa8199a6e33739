"""The nodes of several allocations form one pool."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from headway.drivers.run_settings import RunSettings
from headway.drivers.runs import start
from headway.formats.headway_yaml import read_workflow
from headway.model.records import Decision, JobState, Release, Submit, Why
from headway.planning import PLANS, Plan
from headway.planning.base import Estimate, Planner, View
from tests.slurm.configuration import Configuration
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import PATIENCE_S, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until

TASKS = 200
WORKFLOW = f"""
name: wide
tasks:
  part:
    each: {{n: [{", ".join(map(str, range(TASKS)))}]}}
    run: sleep 0.5; echo "$SLURMD_NODENAME" > part-{{n}}
    outputs: ["part-{{n}}"]
"""


class ThreeJobs(Planner):
    """Submit three jobs of two nodes at the beginning, and no others."""

    name = "three-jobs"

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate

    def plan(self, view: View, now: float) -> list[Decision]:
        why = Why(self.name, "test")
        if not view.unfinished:
            return [Release(now, job.tag, why) for job in view.live]
        tags = [view.next_tag(offset) for offset in range(3)] if not view.jobs else []
        return [Submit(now, tag, view.request(2, 600.0), why) for tag in tags]


def test_a_run_on_three_jobs_survives_the_loss_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_slurm()
    monkeypatch.setitem(PLANS, ThreeJobs.name, Plan(ThreeJobs.name, "", ThreeJobs))
    with SlurmLab(Configuration(nodes=6, cpus=2, memory_mb=4000)) as lab:
        for name, value in lab.environment().items():
            monkeypatch.setenv(name, value)
        flow = SlurmFlow(lab, tmp_path, WORKFLOW)
        workflow = read_workflow(flow.directory / "workflow.yaml")
        options = RunSettings(history="none", cluster="slurm", plan=ThreeJobs.name)
        run = threading.Thread(target=start, args=(workflow, flow.directory, options), daemon=True)
        run.start()
        wait_until(lambda: len(flow.nodes()) == 6 and len(flow.successes()) > 20, "all six nodes to work")
        first = flow.submitted()[0]
        lab.run("scancel", str(flow.job_number(first)))
        run.join(PATIENCE_S)
        assert not run.is_alive()
        flow.check(TASKS)
    names = {record.node: record.tag for record in flow.nodes()}
    assert {name.partition("#")[0] for name in names} == set(lab.nodes)  # Slurm's node names, not the host's name
    assert {name.partition("#")[2]: tag for name, tag in names.items()} == dict(
        zip("123", flow.submitted(), strict=True)
    )
    records = flow.records()
    ended = [at for at, one in enumerate(records) if isinstance(one, JobState) and one.tag == first][-1]
    later = {one.tag for one in flow.launches() if one.at > records[ended].at}
    assert later, "no task started after the cancel: it came too late"
    assert later <= set(flow.submitted()[1:])
