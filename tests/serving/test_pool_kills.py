"""The manager of a pool killed at ten named points, one after the other, while two workflows use the pool."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from headway.crash_points import MANAGER_POINTS, POOL_POINTS
from tests.cli.bench import PATIENCE_S, Bench
from tests.serving.pools import Pool, ended

TASKS = 32
FLOW = """
name: {name}
tasks:
  made:
    each: {{n: [%s]}}
    run: echo {{n}} >> {home}/ran-{name}; sleep 0.05; echo {{n}} > made-{{n}}
    outputs: ["made-{{n}}"]
    resources: {{cores: 1, memory: 100 MB, disk: 10 MB}}
  total:
    run: echo total >> {home}/ran-{name}; cat made-* | sort -n > total
    inputs: ["made-*"]
    outputs: [total]
""" % ", ".join(map(str, range(TASKS)))  # noqa: UP031
BEFORE_WORK = ("run-created",)
AT_WORK = (
    *("submitted:1", "handed-over:2", "journalled:4", "launched:2", "ended:2"),
    *("acknowledged:2", "end-told:2", "noted:1"),
)
AT_THE_END = ("released",)


def killed(pool: Pool, process: subprocess.Popen[str], point: str) -> None:
    """Wait until a pool's manager is killed at a point."""
    code = process.wait(PATIENCE_S)
    assert code == -signal.SIGKILL, (point, process.communicate())
    assert (pool.home / point).exists()
    process.communicate()


def join(flows: list[Bench], running: dict[Bench, subprocess.Popen[str]]) -> None:
    """Start the runs that are not at work: one that finds no pool, since that was just killed, does not begin."""
    for flow in flows:
        if flow in running and running[flow].poll() is not None:
            ended(running.pop(flow), 3)
        if flow not in running:
            running[flow] = flow.start("run", "-q", "--pool")


def test_a_pool_killed_at_ten_points_loses_nothing_and_runs_nothing_twice(tmp_path: Path) -> None:
    points = [*BEFORE_WORK, *(point.partition(":")[0] for point in AT_WORK), *AT_THE_END]
    assert sorted(points) == sorted((*MANAGER_POINTS, *POOL_POINTS)) and len(points) == 10

    pool = Pool(tmp_path, started=False)
    killed(pool, pool.start_to_crash("run-created", 1), "run-created")
    flows = [pool.flow(name, FLOW) for name in ("one", "two")]
    running: dict[Bench, subprocess.Popen[str]] = {}
    for each in AT_WORK:
        point, _, count = each.partition(":")
        process = pool.start_to_crash(point, int(count))
        join(flows, running)
        killed(pool, process, point)
    last = pool.start_to_crash("released", 1)
    join(flows, running)
    for flow in flows:
        while running[flow].wait(PATIENCE_S) == 3:  # it had found no pool, and was slow to say so
            ended(running[flow], 3)
            running[flow] = flow.start("run", "-q", "--pool")
        ended(running[flow])
    pool.bench.succeeds("pool", "stop", "--no-wait")
    killed(pool, last, "released")
    pool.start()
    pool.stop()

    for flow in flows:
        name = flow.directory.name
        assert pool.ran(name) == {**{str(n): 1 for n in range(TASKS)}, "total": 1}
        assert (flow.directory / "total").read_text() == "".join(f"{n}\n" for n in range(TASKS))
        assert flow.json("status")["tasks"]["succeeded"] == TASKS + 1
