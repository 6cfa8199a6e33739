"""Jobs that ask for shares of nodes, on a real Slurm whose nodes are shared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.model.outcome import Ending
from headway.model.records import Release, Submit
from tests.slurm.configuration import Configuration, Partition
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab

CPUS = 32
WIDTH = 20  # of each stage
# Sixty tasks of one core in three stages, whose memory differs from stage to stage.
STAGES = """
name: stages
tasks:
  light:
    each: {n: 1..20}
    run: python3 -c "x = bytearray(50_000_000); import time; time.sleep(1)"; touch a-{n}
    outputs: ["a-{n}"]
    resources: {cores: 1, memory: 1 GB}
  middling:
    each: {n: 1..20}
    run: python3 -c "x = bytearray(200_000_000); import time; time.sleep(1)"; touch b-{n}
    inputs: ["a-{n}"]
    outputs: ["b-{n}"]
    resources: {cores: 1, memory: 1 GB}
  heavy:
    each: {n: 1..20}
    run: python3 -c "x = bytearray(500_000_000); import time; time.sleep(1)"; touch c-{n}
    inputs: ["b-*"]
    outputs: ["c-{n}"]
    resources: {cores: 1, memory: 1 GB}
"""
# Needs four times what the workflow says.
GROWS = """
name: grows
tasks:
  grows:
    run: python3 -c "x = bytearray(900_000_000); import time; time.sleep(2)"; touch made
    outputs: [made]
    resources: {cores: 1, memory: 200 MB}
"""
# One of its tasks needs more memory than a node of the default partition has.
MIXED = """
name: mixed
tasks:
  small:
    each: {n: 1..4}
    run: touch small-{n}
    outputs: ["small-{n}"]
    resources: {cores: 1, memory: 1 GB}
  large:
    run: echo $SLURM_JOB_PARTITION > large
    outputs: [large]
    resources: {cores: 1, memory: 60 GB}
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    require_slurm()
    alone = Partition("alone", nodes=2, more="OverSubscribe=EXCLUSIVE")
    partitions = (Partition("main", nodes=2), Partition("fat", first=3), alone)
    with SlurmLab(Configuration(nodes=3, cpus=CPUS, memory_mb=32_000, fat_nodes=1, partitions=partitions)) as lab:
        yield lab


def test_a_job_has_no_more_cores_than_its_tasks_can_use(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, STAGES)
    flow.await_end(flow.begin("--nodes", "shared"))
    flow.check(60)
    assert {outcome.ending for outcome in flow.outcomes()} == {Ending.SUCCESS}
    asked = [record.request.per_node for record in flow.records() if isinstance(record, Submit)]
    assert asked
    assert all(request.cores * request.nodes <= WIDTH for request in asked)
    assert "tasks ran in" in flow.output()


@pytest.mark.parametrize("words", [("--nodes", "whole"), ("--partition", "alone")])
def test_jobs_have_whole_nodes_where_the_user_or_the_site_wants_that(
    lab: SlurmLab, tmp_path: Path, words: tuple[str, ...]
) -> None:
    flow = SlurmFlow(lab, tmp_path, GROWS)
    flow.await_end(flow.start("run", "--on", "slurm", *words))
    asked = [record.request.per_node.cores for record in flow.records() if isinstance(record, Submit)]
    assert set(asked) == {CPUS}


def test_a_task_that_outgrows_its_job_gets_a_larger_one(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, GROWS)
    flow.await_end(flow.begin("--nodes", "shared"))
    flow.check(1)
    asked = [record.request.per_node.memory_bytes for record in flow.records() if isinstance(record, Submit)]
    assert asked == sorted(set(asked))
    assert asked[-1] >= 900_000_000
    rules = {record.why.rule for record in flow.records() if isinstance(record, Release)}
    assert "too-small" in rules


def test_a_task_that_needs_a_larger_node_goes_to_the_partition_that_has_it(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, MIXED)
    flow.await_end(flow.begin("--nodes", "shared"))
    flow.check(5)
    assert (flow.directory / "large").read_text() == "fat\n"
    asked = [record.request.per_node for record in flow.records() if isinstance(record, Submit)]
    fat = [request for request in asked if request.memory_bytes >= 60 * 10**9]
    assert [request.cores for request in fat] == [1]
    assert len(asked) > len(fat)
