"""A site with partitions, nodes and prices that differ, and tasks that say where they run, on a real Slurm."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.squeue import everybody
from headway.model.errors import SiteError
from headway.model.job import JobRequest
from headway.model.records import JobSeen, Launch, Submit
from headway.model.resources import Resources
from tests.gpu.fake import GB, FakeDriver
from tests.slurm.configuration import Configuration, Partition, our_name
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.test_cluster import cluster, reach

SITE = Configuration(
    nodes=5,
    cpus=2,
    memory_mb=4000,
    accounting=True,
    enforce="associations,limits,qos",
    partitions=(
        Partition("std", 3, 60, more="TRESBillingWeights=CPU=4.0"),
        Partition("gpu", 4, 60, first=4),
        Partition("slices", None, 60, first=5),
        Partition("quick", 2, 60, more="TRESBillingWeights=CPU=1.0"),
    ),
    more=("GresTypes=gpu", "AccountingStorageTRES=gres/gpu"),
    unlike={
        3: {"CPUs": 4, "RealMemory": 8000},
        4: {"Gres": "gpu:a100:2", "Feature": "ib"},
        5: {"Gres": "gpu:a100_1g.10gb:2"},
    },
)
RIGHTS = (
    "add account physics cluster=lab",
    "add qos long,brief",
    "modify qos long set UsageFactor=2",
    "modify qos brief set UsageFactor=0.5 MaxWall=10",
)
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
# What all jobs may use is not where this task runs, nor a reason not to run it.
STAYS = f"""
name: stays
tasks:
  make:
    run: {WHERE} made
    outputs: [made]
    partition: std
    account: physics
"""
STAYS_TOML = 'avoid-partitions = ["std", "gpu", "quick", "slices"]\npreemptible = ["quick"]\naccount = "nobody"\n'
NINE = "name: nine\ntasks:\n  make:\n    run: touch made\n    resources: {cores: 9}\n"
UNKNOWN = {
    "partition: gpus": "task make asks for partition gpus: there is no partition gpus; name one of gpu, quick, ",
    "account: phsics": "you have no account phsics on this cluster; your accounts here are physics, lab, root",
    "qos: short": "account lab may not use QOS short; it may use",
    "constraint: avx": "no node of std, quick, gpu, slices has avx; ask for what nodes there have: ib",
    "gpu-type: h100": "has GPUs of type h100; ask for what nodes there have: a100, a100_1g.10gb",
}


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    require_slurm(with_accounting=True)
    with SlurmLab(SITE) as lab:
        for line in (
            *RIGHTS,
            f"add user {our_name()} account=physics",
            f"modify user {our_name()} set qos+=long,brief",
        ):
            lab.run("sacctmgr", "-i", *line.split())
        yield lab


@pytest.fixture(scope="module")
def flows(lab: SlurmLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, SlurmFlow]:
    """Runs that went on side by side: by name, or by the line that the site cannot grant."""
    refused = "name: w\ntasks:\n  make:\n    run: touch made\n    resources: {gpus: 1}\n    "
    texts = {"wishes": WISHES, "three": THREE_CORES, "stays": STAYS, "nine": NINE}
    texts |= {line: f"{refused}{line}\n" for line in UNKNOWN}
    begun = {}
    for name, text in texts.items():
        flow = SlurmFlow(lab, tmp_path_factory.mktemp("site"), text, {"COLUMNS": "400"})
        if name == "wishes":
            (flow.directory / "headway.toml").write_text('prefer-partitions = ["quick"]\navoid-partitions = ["gpu"]\n')
        if name == "stays":
            (flow.directory / "headway.toml").write_text(STAYS_TOML)
        begun[name] = (flow, flow.begin("--nodes", "shared"))
    for name, (flow, command) in begun.items():
        flow.await_end(command, code=3 if name in UNKNOWN else 1 if name == "nine" else 0)
    return {name: flow for name, (flow, _) in begun.items()}


def test_a_task_runs_where_it_says(flows: dict[str, SlurmFlow]) -> None:
    flow = flows["wishes"]
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
    in_gpu = {record.billing for record in flow.records() if isinstance(record, JobSeen) and record.partition == "gpu"}
    assert in_gpu == {None, 2}  # no price by itself; with QOS long a core counts twice


def test_a_task_that_names_a_partition_runs_nowhere_else(flows: dict[str, SlurmFlow]) -> None:
    """Neither a cheaper partition that may be preempted nor what is wrong with other jobs matters."""
    flows["stays"].check(1)
    assert (flows["stays"].directory / "made").read_text().split()[:2] == ["std", "physics"]


def test_the_most_that_a_task_can_have_is_that_of_the_largest_node(flows: dict[str, SlurmFlow]) -> None:
    assert "it asks for 9 cores, and one task can have 4 cores here" in flows["nine"].output()


@pytest.mark.parametrize("line", UNKNOWN)
def test_what_the_site_cannot_grant_ends_a_run_at_once(flows: dict[str, SlurmFlow], line: str) -> None:
    words = " ".join(flows[line].output().split())
    assert "workflow.yaml:3: task make asks for" in words
    assert UNKNOWN[line] in words
    assert not flows[line].submitted()


def test_a_share_may_be_as_large_as_the_largest_node_and_goes_where_it_is_cheap(
    lab: SlurmLab, flows: dict[str, SlurmFlow]
) -> None:
    flow = flows["three"]
    flow.check(3)
    assert {(flow.directory / f"three-{number}").read_text() for number in (1, 2)} == {"std n3\n"}
    asked = [record.request.per_node for record in flow.records() if isinstance(record, Submit)]
    assert [(each.cores, each.nodes) for each in asked if each.cores > 2] == [(3, 1)]  # one job for both tasks
    seen = {record.job_id: record for record in flow.records() if isinstance(record, JobSeen) and record.job_id}
    for number, record in seen.items():
        shown = lab.run("scontrol", "show", "job", "--oneliner", str(number)).stdout
        assert f" Partition={record.partition} " in shown
        assert f",billing={record.billing:g} " in shown
    assert {record.partition for record in seen.values()} == {"std", "quick"}
    assert "billing-hours" in flow.output()
    flow.headway("why", "one")
    words = " ".join(flow.output().split())
    assert "in partition quick, which is charged 1 billing units while it runs; partition quick: std costs 4 " in words
    flow.headway("doctor", "--on", "slurm")
    words = " ".join(flow.output().split())
    assert "billing units for a core with its share of a node's memory: std 4, quick 1" in words


def test_of_several_accounts_and_qos_a_job_gets_the_cheapest_that_accepts_it(
    lab: SlurmLab, flows: dict[str, SlurmFlow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach(lab, monkeypatch)
    options = SlurmOptions(interval_s=0.2, partition="std", account="physics,lab", qos="long,normal,brief")
    slurm = cluster(tmp_path, options=options)
    slurm.limits()
    shares = {
        tag: JobRequest(Resources(cores=1, memory_bytes=10**8, walltime_s=walltime_s), places=1)
        for tag, walltime_s in (("run1-a", 300.0), ("run1-b", 3000.0))
    }
    for tag, request in shares.items():
        slurm.submit(request, tag)
    news = slurm.news(shares)
    shown = [lab.run("scontrol", "show", "job", str(each.job_id)).stdout for each in news.values()]
    slurm.cancel(shares)
    got = [re.findall(r"(?:Account|QOS)=(\w+)", text) for text in shown]
    assert got == [["physics", "brief"], ["physics", "normal"]]
    assert "physics brief: physics long 8, physics normal 4, physics brief 2, lab long 8" in news["run1-a"].why_there
    assert slurm.calls["sacctmgr"] == 1
    with pytest.raises(SiteError, match="you have no account phsics"):
        cluster(tmp_path, options=SlurmOptions(account="lab,phsics")).limits()


def test_a_job_with_whole_nodes_uses_all_cores_of_the_larger_ones(lab: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(lab, tmp_path, EIGHT)
    flow.await_end(flow.begin("--nodes", "whole", "--partition", "std", "--plan", "one-job"))
    flow.check(12)
    cores = {record.node.partition("#")[0]: record.capacity.cores for record in flow.nodes()}
    assert cores == {"n1": 2, "n2": 2, "n3": 4}


GPUS = """
name: gpus
tasks:
  whole:
    each: {n: 1..4}
    run: |
      mkdir HERE/on-$CUDA_VISIBLE_DEVICES
      sleep 0.3
      rmdir HERE/on-$CUDA_VISIBLE_DEVICES
      echo $CUDA_VISIBLE_DEVICES > whole-{n}
    outputs: ["whole-{n}"]
    resources: {gpus: 1, cores: 0.1, memory: 100 MB}
    partition: gpu
  half:
    each: {n: 1..3}
    run: |
      touch HERE/half-{n}
      until [ $(ls HERE | grep -c half) -ge 2 ]; do sleep 0.1; done
      echo $CUDA_VISIBLE_DEVICES > half-{n}
    outputs: ["half-{n}"]
    inputs: ["whole-*"]
    resources: {gpus: 0.5, cores: 0.1, memory: 100 MB}
    partition: gpu
  none:
    run: echo "<$CUDA_VISIBLE_DEVICES>" > none
    outputs: [none]
    resources: {cores: 0.1, memory: 100 MB}
    partition: gpu
"""


def test_tasks_on_a_node_with_two_gpus_see_different_ones_and_halves_share_one(lab: SlurmLab, tmp_path: Path) -> None:
    (here := tmp_path / "here").mkdir()
    flow = SlurmFlow(lab, tmp_path, GPUS.replace("HERE", str(here)))
    flow.await_end(flow.begin("--plan", "one-job"))
    said = {path.name: path.read_text().strip() for path in flow.directory.iterdir() if path.is_file()}
    assert {said[f"whole-{number}"] for number in range(1, 5)} == {"0", "1"}
    assert said["none"] == "<>"
    assert {said[f"half-{number}"] for number in range(1, 4)} <= {"0", "1"}
    assert {launch.devices for launch in flow.launches() if launch.task.startswith("whole")} == {("0",), ("1",)}


# It pretends to use 3 GB of a GPU, as in tests/end_to_end/test_gpus.py.
TRAIN = """
name: train
tasks:
  train:
    run: |
      exec 3> DRIVER/dev/nvidia0
      echo "0 $$ 3000000000 50" > DRIVER/processes
      for again in 1 2; do rm -f DRIVER/looked; until [ -e DRIVER/looked ]; do sleep 0.05; done; sleep 1; done
      echo "$SLURM_GPUS_PER_NODE" > type
    outputs: [type]
    resources: {gpus: 1, cores: 0.1, memory: 100 MB}
    partition: gpu,slices
"""


def test_a_second_run_asks_for_the_smallest_type_of_gpu_that_is_large_enough(
    lab: SlurmLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "driver").mkdir()
    driver = FakeDriver(folder, monkeypatch)
    driver.has("ok", "ok", memory_bytes=[40 * GB, 40 * GB])
    (folder / "dev").mkdir()
    flow = SlurmFlow(lab, tmp_path, TRAIN.replace("DRIVER", str(folder)), {"COLUMNS": "400"})
    (flow.directory / "headway.toml").write_text('gpu-memory = ["a100=40 GB"]\n')
    history = {"HEADWAY_HISTORY": str(tmp_path / "history.db")}
    flow.await_end(flow.begin("--nodes", "shared", **history))
    assert (flow.directory / "type").read_text().strip() == "1", "it names no type, and nothing is known"
    flow.await_end(flow.begin("--nodes", "shared", "--again", **history))
    assert (flow.directory / "type").read_text().strip() == "a100_1g.10gb:1"
    said = "train asks for GPUs of type a100_1g.10gb (10 GB): similar tasks used at most 3 GB of a GPU"
    assert said in flow.output()


def test_the_gpus_of_running_and_of_waiting_jobs_are_read(lab: SlurmLab, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)
    running, waiting = (lab.submit("sleep 100", "-p", "gpu", f"--gres=gpu:{gpus}") for gpus in (2, 1))
    lab.wait_for_job(running, "RUNNING")
    seen = {job.job_id: (job.state, job.gpus) for job in everybody(Commands()) or []}
    lab.run("scancel", str(running), str(waiting))
    assert (seen[running], seen[waiting]) == (("RUNNING", 2), ("PENDING", 1))
