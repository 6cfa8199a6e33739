"""Tasks that span nodes: an MPI program through `srun`, beside tasks that share nodes."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until

SUM = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
mine = int(open(f"part-{world.rank % 3 + 1}").read())
total = world.allreduce(mine)
nodes = world.gather(os.environ["SLURMD_NODENAME"])
if world.rank == 0:
    with open("sum", "w") as out:
        print(total, world.size, *sorted(set(nodes)), file=out)
"""
MIXED = """
name: mixed
tasks:
  part:
    each: {{n: [1, 2, 3]}}
    run: echo {{n}} > part-{{n}}
    outputs: ["part-{{n}}"]
  sum:
    run: $HEADWAY_LAUNCH --mpi=pmi2 --ntasks=6 --ntasks-per-node=3 {python} sum.py
    inputs: [sum.py, "part-*"]
    outputs: [sum]
    resources: {{nodes: 2}}
  other:
    each: {{n: [1, 2, 3]}}
    run: expr $(cat part-{{n}}) + 1 > other-{{n}}
    inputs: ["part-{{n}}"]
    outputs: ["other-{{n}}"]
"""
PLANS = ("headway", "one-job-per-task", "per-stage")


@pytest.fixture(scope="module")
def flows(slurm_of_session: SlurmLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, SlurmFlow]:
    slurm_of_session.tidy()
    workflow = MIXED.format(python=sys.executable)
    flows = {plan: SlurmFlow(slurm_of_session, tmp_path_factory.mktemp(plan), workflow) for plan in PLANS}
    for flow in flows.values():
        (flow.directory / "sum.py").write_text(SUM)
    runs = {plan: flow.begin("--plan", plan) for plan, flow in flows.items()}
    for plan, flow in flows.items():
        flow.await_end(runs[plan])
    return flows


@pytest.mark.parametrize("plan", PLANS)
def test_an_mpi_program_runs_on_whole_nodes_of_one_job(flows: dict[str, SlurmFlow], plan: str) -> None:
    flow = flows[plan]
    flow.check(tasks=7)
    total, size, *nodes = (flow.directory / "sum").read_text().split()
    assert (total, size) == ("12", "6")  # 1 + 2 + 3, twice
    [launch] = [launch for launch in flow.launches() if launch.task == "sum"]
    spanned = (launch.node, *launch.also)
    assert nodes == sorted(name.partition("#")[0] for name in spanned)
    assert len({name.partition("#")[2] for name in spanned}) == 1
    capacity = {up.node: up.capacity.cores for up in flow.nodes()}
    assert [launch.resources.cores] * 2 == [capacity[name] for name in spanned]


def test_killing_the_supervisor_of_a_spanning_task_ends_its_processes_on_all_nodes(
    slurm: SlurmLab, tmp_path: Path
) -> None:
    """The supervisor's `srun` must be killed too: its processes on other hosts cannot be found by their environment."""
    begun = tmp_path / "begun"
    workflow = """
name: orphaned
tasks:
  all:
    run: $HEADWAY_LAUNCH true
    resources: {nodes: 3}
  most:
    needs: all
    run: $HEADWAY_LAUNCH --ntasks=2 --ntasks-per-node=1 env --unset=HEADWAY_ATTEMPT sh rank.sh
    inputs: [rank.sh]
    resources: {nodes: 2}
"""
    flow = SlurmFlow(slurm, tmp_path, workflow)
    again = f"for pid in $(cat {begun}); do if kill -0 $pid; then exit 3; fi; done; exit 0"
    first = f"echo $$ >> {begun}; trap '' TERM; while :; do sleep 1; done"
    (flow.directory / "rank.sh").write_text(f"if [ $HEADWAY_TRY = 2 ]; then {again}; fi; {first}")
    run = flow.begin("--plan", "big-job")
    wait_until(lambda: begun.exists() and len(begun.read_text().split()) == 2, "both ranks to start")
    node = flow.launches()[-1].node.partition("#")[0]
    [lock] = flow.directory.glob(f".headway/runs/*/jobs/*/nodes/{node}/lock")
    os.kill(int(lock.read_text()), signal.SIGKILL)
    flow.await_end(run)
    flow.check(tasks=2)
    assert len(flow.submitted()) == 1


def test_a_task_that_needs_more_nodes_than_the_cluster_has_fails(slurm: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(slurm, tmp_path, "name: wide\ntasks: {wide: {run: echo, resources: {nodes: 100}}}\n")
    flow.await_end(flow.begin(), code=1)
    assert "it asks for 100 nodes, and one task can have 8 nodes here" in flow.output()
