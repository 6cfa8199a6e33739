"""Tasks that run out of memory or time on a real Slurm are retried with more, under each way to enforce memory limits.

Slurm's clock runs fast, so that the minutes of a job take seconds.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from headway.model.outcome import Ending
from headway.model.records import NodeLost, Submit
from tests.slurm.configuration import Configuration, Enforcement, cgroup_obstacle
from tests.slurm.conftest import require_slurm
from tests.slurm.fast import FastSlurmLab
from tests.slurm.fast_flow import FastFlow

SPEED = 60
MODES: tuple[Enforcement, ...] = ("over-memory-kill", "cgroup")

# The node's supervisor enforces a task's limits; the limits of the whole job are much higher.
TOO_LITTLE = """
name: too little
tasks:
  greedy:
    each: {n: [1, 2]}
    run: python3 -c "held = b'x' * 300_000_000; import time; time.sleep(1)" && echo > greedy-{n}
    outputs: ["greedy-{n}"]
    resources: {memory: 100 MB}
"""

# The first attempt outlasts every job, however late it starts; the second attempt ends at once.
CUT_OFF = """
name: cut off
tasks:
  long:
    run: test $HEADWAY_TRY -gt 1 || sleep 900; echo > long
    outputs: [long]
"""


class Runs(NamedTuple):
    """One started run of each workflow."""

    too_little: FastFlow
    cut_off: FastFlow
    commands: dict[str, subprocess.Popen[bytes]]

    def ended(self, flow: FastFlow) -> FastFlow:
        flow.await_end(self.commands[flow.directory.parent.name])
        return flow


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Runs]]:
    """Start a Slurm for each mode that this machine allows, and all runs at once, since they mostly wait."""
    require_slurm(with_fast_clock=True)
    with ExitStack() as stack:
        runs: dict[str, Runs] = {}
        for mode in MODES:
            if mode == "cgroup" and cgroup_obstacle():
                continue
            lab = stack.enter_context(FastSlurmLab(SPEED, Configuration(nodes=2, cpus=4, enforcement=mode)))
            too_little, cut_off = (_flow(lab, tmp_path_factory, text) for text in (TOO_LITTLE, CUT_OFF))
            commands = {
                too_little.directory.parent.name: too_little.begin_plan("one-job", sizer="user"),
                cut_off.directory.parent.name: cut_off.begin_plan("headway"),
            }
            runs[mode] = Runs(too_little, cut_off, commands)
        yield runs


def _flow(lab: FastSlurmLab, directories: pytest.TempPathFactory, workflow: str) -> FastFlow:
    return FastFlow(lab, directories.mktemp("enforced"), workflow)


@pytest.fixture(params=MODES)
def runs(request: pytest.FixtureRequest, begun: dict[str, Runs]) -> Runs:
    if request.param not in begun:
        pytest.skip(cgroup_obstacle() or "")
    return begun[request.param]


def test_a_retry_gets_more_of_the_resource_that_ran_out(runs: Runs) -> None:
    flow = runs.ended(runs.too_little)
    flow.check(tasks=2)
    ends = {(outcome.task, outcome.attempt): outcome.ending for outcome in flow.outcomes()}
    given: dict[str, list[int]] = {}
    for launch in flow.launches():
        if ends.get((launch.task, launch.attempt)) is not Ending.CANCELLED:  # cancelled because its job ended
            given.setdefault(launch.task, []).append(launch.resources.memory_bytes)
    for task in ("greedy[1]", "greedy[2]"):
        assert ends[task, 1] is Ending.MEMORY
        assert given[task][0] < given[task][-1], given
        assert given[task] == sorted(given[task])


def test_a_task_whose_job_reached_its_walltime_gets_a_longer_job(runs: Runs) -> None:
    """The lost attempt does not count as a failure: this task may not fail even once."""
    flow = runs.ended(runs.cut_off)
    flow.check(tasks=1)
    records = flow.records()
    assert any(isinstance(record, NodeLost) and record.expired for record in records), flow.output()
    asked = {record.tag: record.request.per_node.walltime_s or 0.0 for record in records if isinstance(record, Submit)}
    assert len(flow.launches()) >= 2
    first, *later = asked.values()
    assert later and min(later) > 1.5 * first, asked
