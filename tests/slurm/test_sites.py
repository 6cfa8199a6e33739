"""A site with partitions, nodes and prices that differ, and tasks that say where they run, on a real Slurm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.model.records import Launch, Submit
from tests.slurm.configuration import Configuration, Partition, our_name
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab

SITE = Configuration(
    nodes=4,
    cpus=2,
    memory_mb=4000,
    accounting=True,
    enforce="associations,limits,qos",
    partitions=(Partition("std", 3, 60), Partition("gpu", None, 60, first=4), Partition("quick", 2, 60)),
    more=("GresTypes=gpu",),
    unlike={3: {"CPUs": 4, "RealMemory": 8000}, 4: {"Gres": "gpu:a100:2", "Feature": "ib"}},
)
RIGHTS = ("add account physics cluster=lab", "add qos long")
# Each task says where it ran.
WHERE = 'echo $SLURM_JOB_PARTITION $SLURM_JOB_ACCOUNT $SLURM_JOB_QOS "${SLURM_GPUS_PER_NODE:-}" > '
WISHES = f"""
name: wishes
tasks:
  plain:
    run: {WHERE} plain
    outputs: [plain]
  train:
    run: {WHERE} train
    inputs: [plain]
    outputs: [train]
    resources: {{gpus: 1}}
    partition: gpu
    gpu-type: a100
  charged:
    run: {WHERE} charged
    inputs: [train]
    outputs: [charged]
    account: physics
    qos: long
    constraint: ib
    partition: std,gpu
  last:
    run: {WHERE} last
    inputs: [charged]
    outputs: [last]
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    require_slurm(with_accounting=True)
    with SlurmLab(SITE) as lab:
        for line in (*RIGHTS, f"add user {our_name()} account=physics", f"modify user {our_name()} set qos+=long"):
            lab.run("sacctmgr", "-i", *line.split())
        yield lab


def test_a_task_runs_where_it_says(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, WISHES)
    (flow.directory / "headway.toml").write_text('prefer-partitions = ["quick"]\navoid-partitions = ["gpu"]\n')
    flow.await_end(flow.begin("--nodes", "shared"))
    flow.check(4)
    ran = {name: (flow.directory / name).read_text().split() for name in ("plain", "train", "charged", "last")}
    assert ran == {
        "plain": ["quick", "lab", "normal"],
        "train": ["gpu", "lab", "normal", "a100:1"],
        "charged": ["gpu", "physics", "long"],
        "last": ["quick", "lab", "normal"],
    }
    asked = {record.tag: record.request.wish for record in flow.records() if isinstance(record, Submit)}
    assert len({asked[record.tag] for record in flow.records() if isinstance(record, Launch)}) == 3


# No task ends before eight have begun: as many as have room on nodes with 2, 2 and 4 cores.
EIGHT = """
name: eight
tasks:
  wait:
    each: {n: 1..12}
    run: |
      touch began-{n}
      for _ in $(seq 100); do if [ "$(ls began-* | wc -l)" -ge 8 ]; then exit 0; fi; sleep 0.5; done
      exit 1
    resources: {cores: 1, memory: 100 MB, time: 2m}
"""
# Only one node of the default partition has so many cores.
THREE_CORES = """
name: three-cores
tasks:
  three:
    each: {n: 1..2}
    run: echo $SLURM_JOB_PARTITION $SLURMD_NODENAME > three-{n}
    outputs: ["three-{n}"]
    resources: {cores: 3, memory: 100 MB}
  one:
    run: touch one
    outputs: [one]
    resources: {cores: 1, memory: 100 MB}
"""


def test_a_job_with_whole_nodes_uses_all_cores_of_the_larger_ones(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, EIGHT)
    flow.await_end(flow.begin("--nodes", "whole", "--partition", "std", "--plan", "one-job"))
    flow.check(12)
    cores = {record.node.partition("#")[0]: record.capacity.cores for record in flow.nodes()}
    assert cores == {"n1": 2, "n2": 2, "n3": 4}


def test_a_share_may_be_as_large_as_the_largest_node_of_a_partition(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, THREE_CORES)
    flow.await_end(flow.begin("--nodes", "shared"))
    flow.check(3)
    assert {(flow.directory / f"three-{number}").read_text() for number in (1, 2)} == {"std n3\n"}
    asked = [record.request.per_node for record in flow.records() if isinstance(record, Submit)]
    assert [(each.cores, each.nodes) for each in asked if each.cores > 2] == [(3, 1)]  # one job for both tasks


UNKNOWN = {
    "partition: gpus": "task make asks for partition gpus: there is no partition gpus; name one of gpu, quick, std",
    "account: phsics": "you have no account phsics on this cluster; your accounts here are physics, lab, root",
    "qos: short": "account lab may not use QOS short; it may use",
    "constraint: avx": "no node of std, quick, gpu has avx; ask for what nodes there have: ib",
    "gpu-type: h100": "no node of std, quick, gpu has GPUs of type h100; ask for what nodes there have: a100",
}


def test_what_the_site_cannot_grant_ends_a_run_before_anything_is_submitted(lab: SlurmLab, tmp_path: Path) -> None:
    begun = {}
    for number, line in enumerate(UNKNOWN):
        text = f"name: w\ntasks:\n  make:\n    run: touch made\n    resources: {{gpus: 1}}\n    {line}\n"
        (tmp_path / str(number)).mkdir()
        flow = SlurmFlow(lab, tmp_path / str(number), text)
        begun[line] = (flow, flow.begin(COLUMNS="400"))
    for line, (flow, command) in begun.items():
        flow.await_end(command, code=3)
        output = " ".join(flow.output().split())
        assert "workflow.yaml:3: task make asks for" in output, line
        assert UNKNOWN[line] in output
        assert not flow.submitted()
