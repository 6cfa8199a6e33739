"""GPUs on one machine, with a library in place of the driver's."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.model.outcome import Ending, Measured, Quality
from headway.model.records import Launch, TaskEnded
from tests.end_to_end.project import Flow
from tests.gpu.fake import GB, FakeDriver

# Two tasks on one device would make the same folder. Of the halves, the first four wait for each other.
TASKS = """
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
    resources: {gpus: 1, cores: 0.1}
  none:
    run: echo "<$CUDA_VISIBLE_DEVICES>" > none
    outputs: [none]
  own:
    run: echo "<$CUDA_VISIBLE_DEVICES>" > own
    outputs: [own]
    env: {CUDA_VISIBLE_DEVICES: "7"}
  both:
    run: echo $CUDA_VISIBLE_DEVICES > both
    outputs: [both]
    inputs: [whole-1]
    resources: {gpus: 2, cores: 0.1}
  half:
    each: {n: 1..5}
    run: |
      touch HERE/half-{n}
      until [ $(ls HERE | grep -c half) -ge 4 ]; do sleep 0.05; done
      echo $CUDA_VISIBLE_DEVICES > h{n}
    outputs: ["h{n}"]
    inputs: [both]
    resources: {gpus: 0.5, cores: 0.1}
"""


@pytest.fixture
def driver(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    return FakeDriver(tmp_path_factory.mktemp("driver"), monkeypatch)


def most_at_once(flow: Flow) -> dict[str, float]:
    """The most that was held of each device at a time, by the journal."""
    held: dict[str, Launch] = {}
    most: dict[str, float] = {}
    for record in flow.records():
        if isinstance(record, Launch):
            held[record.task] = record
            for device in record.devices:
                parts = [one.resources.gpus / len(one.devices) for one in held.values() if device in one.devices]
                most[device] = max(most.get(device, 0.0), sum(parts))
        elif isinstance(record, TaskEnded):
            del held[record.outcome.task]
    return most


def test_each_task_has_its_own_devices_and_halves_share_one(driver: FakeDriver, tmp_path: Path) -> None:
    driver.has("ok", "ok")
    (here := tmp_path / "here").mkdir()
    flow = Flow(tmp_path, TASKS.replace("HERE", str(here)))
    flow.headway("run")
    said = {path.name: path.read_text().strip() for path in tmp_path.iterdir() if path.is_file()}
    assert {said[f"whole-{number}"] for number in range(1, 5)} == {"GPU-0", "GPU-1"}
    assert (said["none"], said["own"], said["both"]) == ("<>", "<7>", "GPU-0,GPU-1")
    assert {said[f"h{number}"] for number in range(1, 6)} == {"GPU-0", "GPU-1"}
    assert most_at_once(flow) == {"GPU-0": 1.0, "GPU-1": 1.0}
    first = [launch.devices for launch in flow.launches() if launch.task.startswith("half")][:4]
    assert first == [("GPU-0",), ("GPU-0",), ("GPU-1",), ("GPU-1",)]


def test_a_machine_without_gpus_says_so(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks:\n  t: {run: 'true', resources: {gpus: 1}}\n")
    assert "it asks for 1 gpu, and one task can have 0 gpus here" in flow.headway("run", code=1).stdout


def test_a_lost_gpu_is_said_once_and_the_run_goes_on_with_the_other(driver: FakeDriver, tmp_path: Path) -> None:
    driver.has("lost", "ok")
    flow = Flow(tmp_path, "name: w\ntasks:\n  t: {run: 'echo $CUDA_VISIBLE_DEVICES', resources: {gpus: 1}}\n")
    assert flow.headway("run").stderr.count("GPU 0 of this node cannot be used: GPU is lost") == 1
    assert [launch.devices for launch in flow.launches()] == [("GPU-1",)]


# The first pretends to use a GPU: it has a file open that looks like a device's and is in the driver's list.
USING = """
name: using
tasks:
  busy:
    run: |
      exec 3> DRIVER/dev/nvidia0
      echo "0 $$ 3000000000 50" > DRIVER/processes
      for again in 1 2; do rm -f DRIVER/looked; until [ -e DRIVER/looked ]; do sleep 0.05; done; sleep 1; done
    resources: {gpus: 1}
  idle:
    run: rm DRIVER/processes DRIVER/looked; until [ -e DRIVER/looked ]; do sleep 0.05; done; sleep 1
    needs: [busy]
    resources: {gpus: 0.5}
"""


def test_memory_and_utilisation_are_measured_and_who_never_uses_a_gpu_is_named(
    driver: FakeDriver, tmp_path: Path
) -> None:
    driver.has("ok", "ok")
    (driver.folder / "dev").mkdir()
    flow = Flow(tmp_path, USING.replace("DRIVER", str(driver.folder)))
    done = flow.headway("run")
    assert "idle never used its GPUs, which 1 attempt held for 0.00" in done.stdout
    assert "busy never" not in done.stdout
    busy, idle = (record.outcome.usage for record in flow.records() if isinstance(record, TaskEnded))
    assert busy.gpu_memory_bytes == Measured(3e9, Quality.SAMPLED)
    assert busy.gpus_average is not None and 0 < busy.gpus_average.value <= 0.5
    assert (idle.gpu_memory_bytes, idle.gpus_average) == (Measured(0, Quality.SAMPLED), Measured(0, Quality.SAMPLED))
    told = flow.headway("why", "busy").stdout
    assert "≈ 3 GB" in told and " with GPU-0, " in told
    assert flow.json("why", "busy")["attempts"][0]["gpus"] == ["GPU-0"]
    assert "it never used a GPU" in flow.headway("why", "idle").stdout
    usage = {row["category"]: row for row in flow.json("usage")["rows"]}
    assert usage["busy"]["gpu_memory_most_bytes"] == 3e9
    assert "at most 3 GB of their memory used" in flow.headway("usage").stdout
    seen = {kept["category"]: kept["used"] for kept in flow.json("history", "show", "using", "busy")["attempts"]}
    assert seen["busy"]["gpu_memory_bytes"] == {"value": 3e9, "quality": "sampled"}


# A task of which nothing is known gets the larger GPU: the first one holds that until the second has failed.
SHORT_OF_MEMORY = """
name: short
tasks:
  holds:
    run: until [ -e HERE/tried ]; do sleep 0.05; done
    resources: {gpus: 1, cores: 0.1}
  train:
    run: |
      echo $CUDA_VISIBLE_DEVICES >> HERE/tried
      [ $CUDA_VISIBLE_DEVICES = GPU-1 ] || { echo 'torch.OutOfMemoryError: CUDA out of memory.' >&2; exit 1; }
    resources: {gpus: 1, cores: 0.1}
  other:
    run: "echo 'card is full' >&2; exit 3"
    resources: {gpus: 1}
    retries: 5
    needs: [train]
    gpu-memory-errors: [card is full]
"""


def test_out_of_gpu_memory_is_named_and_tried_again_only_on_a_larger_gpu(driver: FakeDriver, tmp_path: Path) -> None:
    driver.has("ok", "ok", memory_bytes=[8 * GB, 16 * GB])
    flow = Flow(tmp_path, SHORT_OF_MEMORY.replace("HERE", str(tmp_path)))
    done = flow.headway("run", "--order", "fifo", code=1)
    assert (tmp_path / "tried").read_text().split() == ["GPU-0", "GPU-1"]
    assert [launch.devices for launch in flow.launches() if launch.task == "other"] == [("GPU-1",)]
    words = " ".join(done.stdout.split())
    assert "it ran out of GPU memory (its messages say 'card is full')" in words
    assert "it had a whole GPU with 16 GB, and there is no larger one here" in words
    ended = [record.outcome for record in flow.records() if isinstance(record, TaskEnded)]
    assert [each.ending for each in ended if each.task == "train"] == [Ending.GPU_MEMORY, Ending.SUCCESS]
    assert [each.ending for each in ended if each.task == "other"] == [Ending.GPU_MEMORY]


def test_a_second_run_gives_a_task_the_smallest_gpu_that_is_large_enough(driver: FakeDriver, tmp_path: Path) -> None:
    driver.has("ok", "ok", "ok", memory_bytes=[2 * GB, 8 * GB, 16 * GB])
    (driver.folder / "dev").mkdir()
    flow = Flow(tmp_path, USING.replace("DRIVER", str(driver.folder)).replace('echo "0 $$', 'echo "2 $$'))
    flow.headway("run")
    flow.headway("run", "--again")
    devices = [launch.devices for launch in flow.launches() if launch.task == "busy"]
    assert devices[-1] == ("GPU-1",), "3 GB were used"
