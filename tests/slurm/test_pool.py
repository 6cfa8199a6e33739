"""`headway pool --on slurm`: workflows that arrive one after the other share the jobs of a real Slurm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headway.model.records import Launch, Submit
from tests.forked import run_headway
from tests.serving.pools import records_of
from tests.slurm.flows import PATIENCE_S, STAGES, STAGES_TASKS, STAGES_TOTAL, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until

# Its second stage waits until the test lets it go on.
GATED = (
    STAGES.replace("name: stages", "name: {name}")
    .replace("sleep 0.2", "while [ ! -e {go} ]; do sleep 0.1; done")
    .replace("    outputs: [", "    resources: {cores: 0.5, memory: 100 MB}\n    outputs: [")
)
NAMES = ("one", "two", "three")


def gated(name: str, go: Path) -> str:
    return GATED.replace("{name}", name).replace("{go}", str(go))


def status(flow: SlurmFlow) -> dict[str, Any]:
    done = run_headway(("status", "--json"), flow.directory, flow.variables(), PATIENCE_S)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_three_workflows_arrive_in_one_pool_and_one_is_cancelled(slurm_of_session: SlurmLab, tmp_path: Path) -> None:
    """Each is a run like any other, a job runs tasks of all, and the others end as they would apart."""
    lab, go, place = slurm_of_session, tmp_path / "go", tmp_path / "pool"
    lab.tidy()
    flows: dict[str, SlurmFlow] = {}
    for name in (*NAMES, "of-pool"):
        (tmp_path / name).mkdir()
        flows[name] = SlurmFlow(lab, tmp_path / name, gated(name, go))
    pool = flows.pop("of-pool")
    manager = pool.start("pool", "start", str(place), "-q", "--on", "slurm", "--nodes", "whole", "--grace", "1s")
    wait_until((place / ".headway" / "pool").is_symlink, "the pool's socket")
    running = {}
    for name, flow in flows.items():  # the next arrives when the one before is in its second stage
        running[name] = flow.start("run", "workflow.yaml", "--pool", str(place))
        wait_until(lambda flow=flow: len(flow.executed()) == STAGES_TASKS - 1, f"the second stage of {name}")
    for name, flow in flows.items():
        said = status(flow)
        assert (said["name"], said["state"]) == (name, "running")
        assert (said["tasks"]["succeeded"], said["tasks"]["running"]) == (3, 3)  # none of its neighbours' tasks

    flows["two"].headway("cancel")
    flows["two"].await_end(running["two"], 130)
    assert status(flows["two"])["state"] == "stopped"
    assert status(flows["one"])["tasks"]["running"] == status(flows["three"])["tasks"]["running"] == 3
    go.touch()
    for name in ("one", "three"):
        flows[name].await_end(running[name])
        flows[name].check()
        assert flows[name].total() == STAGES_TOTAL
    assert not (flows["two"].directory / "total").exists()
    for flow in flows.values():
        assert set(flow.executed().values()) == {1}

    flows["two"].headway("resume")  # what was stopped runs again, and nothing else
    flows["two"].check()
    assert flows["two"].total() == STAGES_TOTAL
    again = {f"work[{n}]": 2 for n in (1, 2, 3)}
    assert flows["two"].executed() == {f"split[{n}]": 1 for n in (1, 2, 3)} | again | {"total": 1}
    pool.headway("pool", "stop", str(place))
    pool.await_end(manager)
    pool.check_queue()

    told = records_of(place)
    launches = [record for record in told if isinstance(record, Launch)]
    ran_in = {tag: {record.task.partition("/")[0] for record in launches if record.tag == tag} for tag in jobs_of(told)}
    assert max(map(len, ran_in.values())) == len(NAMES)  # a job that ran tasks of all three
    assert len(ran_in) < run_apart(lab, tmp_path / "apart", go)


def run_apart(lab: SlurmLab, parent: Path, go: Path) -> int:
    """Run the same workflows at the same time without a pool; return how many jobs they needed."""
    flows = []
    for name in NAMES:
        (parent / name).mkdir(parents=True)
        flows.append(SlurmFlow(lab, parent / name, gated(name, go)))
    for flow, command in [(flow, flow.begin()) for flow in flows]:
        flow.await_end(command)
        flow.check()
        assert flow.total() == STAGES_TOTAL
    return sum(len(flow.submitted()) for flow in flows)


def jobs_of(told: list[Any]) -> list[str]:
    return [record.tag for record in told if isinstance(record, Submit)]
