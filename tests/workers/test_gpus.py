"""Finding the GPUs of a node, with a library in place of the driver's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from headway.model.devices import Device
from headway.model.outcome import Measured, Quality
from headway.workers.gpus import Found, find_devices, gpu_variables, unwanted_variables, watching
from headway.workers.gpus.watching import GpuUse, GpuWatch, Look
from tests.gpu.fake import GB, FakeDriver

IN_SLURM = {"SLURM_JOB_ID": "1"}


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    return FakeDriver(tmp_path, monkeypatch)


def found(environment: dict[str, str] | None = None, within_s: float = 60.0) -> Found:
    """What another process finds: this one has looked for libraries where they were when it started."""
    script = (
        "import sys, msgspec; from headway.workers.gpus import find_devices; e, w = msgspec.json.decode(sys.argv[1]);"
        "sys.stdout.buffer.write(msgspec.json.encode(find_devices(e, w)))"
    )
    words = msgspec.json.encode((environment or {}, within_s))
    done = subprocess.run([sys.executable, "-c", script, words], capture_output=True, check=True)
    assert done.stderr == b""
    return msgspec.json.decode(done.stdout, type=Found)


def test_devices_are_found_by_their_uuids_and_instances_of_a_divided_gpu_are_devices(driver: FakeDriver) -> None:
    driver.has("ok", "divided")
    half = 4 * GB
    assert found() == Found(
        (Device("GPU-0", "Fake", 8 * GB), Device("MIG-1-0", "Fake", half), Device("MIG-1-1", "Fake", half))
    )
    assert [each.id for each in found({"CUDA_VISIBLE_DEVICES": "MIG-1-1,0"}).devices] == ["GPU-0", "MIG-1-1"]
    assert found({"CUDA_VISIBLE_DEVICES": ""}) == Found()


def test_a_lost_gpu_is_one_sentence_and_the_others_are_used(driver: FakeDriver) -> None:
    driver.has("ok", "lost")
    assert found() == Found((Device("GPU-0", "Fake", 8 * GB),), False, "GPU 1 of this node cannot be used: GPU is lost")


def test_a_driver_that_hangs_is_one_sentence(driver: FakeDriver) -> None:
    driver.has("ok")
    driver.hangs()
    assert found(within_s=0.5).trouble == "the driver of NVIDIA's GPUs did not answer within 0.5 s: no GPU is used"


def test_a_job_has_what_it_was_granted_and_the_driver_only_adds_what_that_is(driver: FakeDriver) -> None:
    driver.has("ok", "ok")
    granted = {**IN_SLURM, "CUDA_VISIBLE_DEVICES": "1", "SLURM_JOB_GPUS": "3"}
    assert found(granted).devices == (Device("1", "Fake", 8 * GB),)
    assert found(IN_SLURM) == Found()


def test_without_a_driver_there_are_no_gpus_and_a_job_has_those_that_it_was_granted() -> None:
    assert find_devices({}) == find_devices({**IN_SLURM, "CUDA_VISIBLE_DEVICES": "NoDevFiles"}) == Found()
    assert find_devices({**IN_SLURM, "SLURM_STEP_GPUS": "0,2"}).devices == (Device("0"), Device("2"))
    amd = find_devices({**IN_SLURM, "ROCR_VISIBLE_DEVICES": "0,1"})
    assert (amd.amd, len(amd.devices)) == (True, 2)
    assert gpu_variables(["1"], 1, amd) == {"ROCR_VISIBLE_DEVICES": "1"}
    assert "CUDA_VISIBLE_DEVICES" in unwanted_variables(amd)


def test_an_attempt_without_gpus_sees_none_and_what_is_not_known_is_left_alone() -> None:
    two = Found((Device("a"), Device("b")))
    assert gpu_variables([], 0, two) == {"CUDA_VISIBLE_DEVICES": ""}
    assert gpu_variables([], 1, two) == gpu_variables([], 0, Found()) == {}
    assert gpu_variables(["a", "b"], 2, two) == {"CUDA_VISIBLE_DEVICES": "a,b"}


def used(*looks: Look, is_ours: bool = True) -> tuple[Measured | None, Measured | None]:
    """What is known of an attempt with the process 7, given what the driver told."""
    watch = GpuWatch(lambda pid: is_ours)
    use = GpuUse(watch)
    use.pids = [7, 8]
    watch.uses.add(use)
    for look in looks:
        watch.see(look)
    return use.end()


def test_the_memory_of_all_processes_at_a_moment_counts_and_utilisation_is_averaged() -> None:
    looks = (Look({7: (3, 0.5), 8: (1, 0.5)}), Look({7: (2, 1.0), 99: (50, 1.0)}), Look(), Look())
    assert used(*looks) == (Measured(4, Quality.SAMPLED), Measured(0.5, Quality.SAMPLED))
    assert used(Look({7: (None, None)})) == (None, None)
    assert used() == (None, None)


@pytest.mark.parametrize("agree", [True, False])
def test_where_processes_may_have_other_numbers_nothing_is_said_of_those_that_were_not_seen(
    agree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_numbers_agree", lambda: agree)
    unused = (Measured(0, Quality.SAMPLED), Measured(0, Quality.SAMPLED))
    assert used(Look({99: (50, 1.0)})) == (unused if agree else (None, None))
    assert used(Look({7: (50, 1.0)}), is_ours=False) == (unused if agree else (None, None))
    assert used(Look()) == unused


def test_a_gpu_that_is_lost_while_tasks_run_is_said_once() -> None:
    watch = GpuWatch()
    for _ in range(3):
        watch.see(Look(lost={"1": "GPU is lost"}))
    assert list(watch.lost.values()) == ["GPU 1 of this node does not answer any more: GPU is lost"]
