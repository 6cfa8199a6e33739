"""Runs on a real Slurm with connections through Dask, while a node or a process of the pool is killed.

No task is lost, no task succeeds twice, and no process is left behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from headway import locks
from headway.model.records import GiveUp, NodeLost
from headway.workers.pool.address import LOCK
from tests.slurm.configuration import Configuration
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import PATIENCE_S, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import kill_all, mentioning, wait_until

CHAINS = 4
# Each stage has as many tasks as two nodes have cores. The middle tasks run until the test creates the file `go`.
WORKFLOW = """
name: chains
tasks:
  first:
    each: {n: [1, 2, 3, 4]}
    run: echo "first[{n}]" >> "$EXECUTIONS"; echo {n} > first-{n}
    outputs: ["first-{n}"]
    resources: {cores: 1, memory: 100 MB}
  middle:
    each: {n: [1, 2, 3, 4]}
    run: |
      echo "middle[{n}]" >> "$EXECUTIONS"
      while [ ! -e "$EXECUTIONS.go" ]; do sleep 0.1; done
      echo {n} > middle-{n}
    inputs: ["first-{n}"]
    outputs: ["middle-{n}"]
    resources: {cores: 1, memory: 100 MB}
  last:
    each: {n: [1, 2, 3, 4]}
    run: echo "last[{n}]" >> "$EXECUTIONS"; cat middle-{n} > last-{n}
    inputs: ["middle-{n}"]
    outputs: ["last-{n}"]
    resources: {cores: 1, memory: 100 MB}
"""
# The killer task finds the supervisor among its ancestor processes.
KILLER = """
name: killer
tasks:
  killer:
    run: |
      pid=$PPID
      until tr '\\0' ' ' < /proc/$pid/cmdline | grep -q headway.workers.supervisor; do
        pid=$(awk '{print $4}' /proc/$pid/stat)
        if [ "$pid" -lt 2 ]; then exit 3; fi
      done
      kill -9 $pid
      sleep 600
    resources: {cores: 1, memory: 100 MB}
  after:
    needs: [killer]
    run: "true"
  other:
    each: {n: [1, 2]}
    run: echo > other-{n}
    outputs: ["other-{n}"]
    resources: {cores: 1, memory: 100 MB}
"""


def under_way(flow: SlurmFlow) -> int:
    return sum(name.startswith("middle") for name in flow.executed())


def scheduler_of(flow: SlurmFlow) -> int | None:
    """Return the process id of the run's Dask scheduler, or None if it is not running."""
    words = locks.holder(flow.directory / ".headway/runs/1/pool" / LOCK)
    return int(words.split()[1]) if words else None


def processes_of(flow: SlurmFlow, module: str) -> list[int]:
    """Return the processes that run a module of Headway for the flow's directory."""
    return [pid for pid in sorted(mentioning(flow.directory)) if module.encode() in words_of(pid)]


def words_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # the process has ended meanwhile
        return []


def kill_scheduler(flow: SlurmFlow, run: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    killed = scheduler_of(flow)
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: scheduler_of(flow) not in (None, killed), "another scheduler")
    return run


def kill_relay(flow: SlurmFlow, run: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    os.kill(processes_of(flow, "headway.workers.pool.relay")[0], signal.SIGKILL)
    return run


def kill_supervisor(flow: SlurmFlow, run: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    os.kill(processes_of(flow, "headway.workers.supervisor")[0], signal.SIGKILL)
    return run


def kill_manager_and_scheduler(flow: SlurmFlow, run: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    killed = scheduler_of(flow)
    assert killed is not None
    run.kill()
    os.kill(killed, signal.SIGKILL)
    run.wait()
    return flow.start("resume")


def kill_node(flow: SlurmFlow, run: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    flow.lab.kill_node(flow.nodes()[-1].node.partition("#")[0])
    return run


KILLS: dict[str, Callable[[SlurmFlow, subprocess.Popen[bytes]], subprocess.Popen[bytes]]] = {
    "node": kill_node,
    "scheduler": kill_scheduler,
    "relay": kill_relay,
    "supervisor": kill_supervisor,
    "manager and scheduler": kill_manager_and_scheduler,
}
LOSES_A_NODE = ("node", "supervisor")
IN_TURN = (
    ("node",),
    tuple(who for who in KILLS if who != "node"),
)  # first the node: Slurm needs half a minute to notice its death


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    """A Slurm with two nodes for each run."""
    require_slurm()
    with SlurmLab(Configuration(nodes=2 * len(KILLS) + 2, cpus=2, memory_mb=4000)) as lab:
        yield lab


@pytest.fixture(scope="module")
def killer(
    lab: SlurmLab, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[SlurmFlow, subprocess.Popen[bytes]]]:
    """Start a run with a task that kills its supervisor at every attempt; it runs beside the other runs."""
    flow = SlurmFlow(lab, tmp_path_factory.mktemp("killer"), KILLER)
    run = flow.begin("--plan", "one-job", "--keep-going")
    yield flow, run
    run.kill()


@pytest.fixture(scope="module")
def flows(
    lab: SlurmLab, killer: tuple[SlurmFlow, subprocess.Popen[bytes]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, SlurmFlow]]:
    """Finish one run for each kind of kill, side by side, each on its own two nodes."""
    runs: dict[str, subprocess.Popen[bytes]] = {}
    flows = {who: SlurmFlow(lab, tmp_path_factory.mktemp("pool"), WORKFLOW) for who in KILLS}
    try:
        for some in IN_TURN:
            runs |= {who: flows[who].begin("--plan", "big-job", "--lines", "dask") for who in some}
            for who in some:
                flow = flows[who]
                wait_until(lambda flow=flow: under_way(flow) == CHAINS, "the middle tasks", patience_s=PATIENCE_S)
                runs[who] = KILLS[who](flow, runs[who])
                (flow.directory.parent / "executions.go").touch()
        for who, flow in flows.items():
            flow.await_end(runs[who])
        yield flows
    finally:
        for run in runs.values():
            run.kill()
        for flow in flows.values():
            kill_all(mentioning(flow.directory))


@pytest.mark.parametrize("who", KILLS)
def test_a_run_succeeds_despite_a_kill(flows: dict[str, SlurmFlow], who: str) -> None:
    flow = flows[who]
    flow.check(3 * CHAINS)
    lost = [record for record in flow.records() if isinstance(record, NodeLost)]
    assert bool(lost) == (who in LOSES_A_NODE)
    assert len(flow.executed()) == 3 * CHAINS
    if not lost:  # messages may be repeated, but no command may run twice
        assert set(flow.executed().values()) == {1}


@pytest.mark.parametrize("who", KILLS)
def test_no_process_of_the_pool_survives_the_run(flows: dict[str, SlurmFlow], who: str) -> None:
    flow = flows[who]
    wait_until(lambda: scheduler_of(flow) is None, "the scheduler to leave")
    wait_until(lambda: not mentioning(flow.directory), "all of the run's processes to leave")


def test_a_task_that_kills_five_supervisors_is_given_up_and_named(
    killer: tuple[SlurmFlow, subprocess.Popen[bytes]],
) -> None:
    flow, run = killer
    flow.await_end(run, 1)
    flow.check_queue()
    given_up = [record for record in flow.records() if isinstance(record, GiveUp)]
    assert [record.task for record in given_up] == ["killer"]
    assert given_up[0].why.rule == "kills-nodes"
    # At the first death, other tasks may have run on the same node; from the second attempt on, the task runs alone.
    assert len([record for record in flow.records() if isinstance(record, NodeLost)]) in (5, 6, 7)
    assert "killer: 5 nodes died while it alone was running there" in " ".join(flow.output().split())
    assert flow.successes() == {"other[1]": 1, "other[2]": 1}
    wait_until(lambda: not mentioning(flow.directory), "all of the run's processes to leave")
