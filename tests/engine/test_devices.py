"""Which GPUs a task gets: certain devices, never more of one than there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from headway.model import records
from headway.model.codec import decode, encode
from headway.model.devices import Device, choose, held
from headway.model.observation import Observation
from headway.model.outcome import Ending, Measured, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from tests.engine.runs import GB, PretendRun


class GpuRun(PretendRun):
    """A run on one node with GPUs that have names, and if `memory` is given so many bytes each."""

    def __init__(self, gpus: list[float], devices: int = 2, memory: Sequence[int] = ()) -> None:
        sizes = memory or [0] * devices
        self._devices = tuple(Device(f"GPU-{number}", memory_bytes=size) for number, size in enumerate(sizes))
        machine = Resources(cores=100, memory_bytes=100 * GB, disk_bytes=GB, gpus=len(sizes))
        amounts = {"cores": 0.1, "memory_bytes": 1e6}
        super().__init__(
            [Task(f"t{number}", f"c{each}", "x", hints=amounts | {"gpus": each}) for number, each in enumerate(gpus)],
            machine=machine,
        )

    def record(self, record: records.Event | records.Decision) -> None:
        if isinstance(record, records.NodeUp):
            record = records.NodeUp(record.at, record.node, record.tag, record.capacity, devices=self._devices)
        super().record(record)

    def sizes(self) -> list[list[int]]:
        """The memory of the GPUs of all attempts so far, in the order in which these began."""
        size = {device.id: device.memory_bytes for device in self._devices}
        return [[size[name] for name in launch.devices] for launch in self.launches()]

    def taken(self) -> Counter[str]:
        """How much of each device running attempts hold."""
        taken: Counter[str] = Counter()
        for launch in self.held:
            for device in launch.devices:
                taken[device] += launch.resources.gpus / len(launch.devices)
        return taken


AMOUNTS = st.sampled_from([0, 0.1, 0.25, 0.3, 0.5, 0.7, 1, 2, 3])


@given(st.lists(AMOUNTS, min_size=1, max_size=20), st.integers(3, 4), st.randoms(use_true_random=False))
def test_no_device_is_ever_over_committed(gpus: list[float], devices: int, random) -> None:
    run = GpuRun(gpus, devices)
    run.decide()
    while run.held:
        assert all(part <= 1 + 1e-6 for part in run.taken().values())
        for launch in run.held:
            wanted = launch.resources.gpus
            assert len(set(launch.devices)) == len(launch.devices) == (1 if 0 < wanted < 1 else wanted)
        run.now += 1.0
        run.end(random.choice(run.held), Ending.SUCCESS)
        run.decide()
    assert run.engine.finished == "succeeded"
    assert len(run.launches()) == len(gpus)


@given(st.dictionaries(st.text("ab", min_size=1), st.sampled_from([0.0, 0.5, 1.0])), AMOUNTS)
def test_what_is_chosen_is_free_and_what_is_given_back_is_free_again(free: dict[str, float], gpus: float) -> None:
    chosen = choose(free, gpus)
    if chosen is None:
        return
    left = held(free, chosen, gpus)
    assert all(part >= 0 for part in left.values())
    assert held(left, chosen, -gpus) == free


def test_parts_of_gpus_fill_begun_devices_first_so_that_whole_ones_stay_free() -> None:
    run = GpuRun([0.5, 0.5, 1])
    run.decide()
    half, other, whole = (launch.devices for launch in run.launches())
    assert half == other != whole


def test_where_the_sum_is_enough_and_no_device_is_whole_the_task_waits() -> None:
    run = GpuRun([0.7, 0.7, 1])
    run.decide()
    assert [launch.task for launch in run.held] == ["t0", "t1"]
    run.end(run.held[0], Ending.SUCCESS)
    run.decide()
    assert [launch.task for launch in run.held] == ["t1", "t2"]
    assert run.to_the_end() == "succeeded"


def test_a_journal_without_devices_still_replays_and_one_with_them_gives_the_same_state() -> None:
    run = GpuRun([0.5, 1, 2])
    run.decide()
    again = GpuRun([])
    again.engine = type(run.engine)(run.engine.settings, *_policies(run))
    for record in run.log:
        again.engine.apply(decode(encode(record)))
    assert {name: node.free_devices for name, node in again.engine.nodes.items()} == {
        name: node.free_devices for name, node in run.engine.nodes.items()
    }
    old = b'{"kind":"node-up","at":1.0,"node":"n","tag":"j","capacity":{"cores":2.0,"gpus":2}}'
    assert decode(old) == records.NodeUp(1.0, "n", "j", Resources(cores=2, gpus=2))


def _policies(run: PretendRun) -> tuple[object, ...]:
    from headway.drivers.assemble import assemble

    fresh = assemble(run.engine.settings)
    return fresh.allocator, fresh.order, fresh.planner, fresh.run_times


def seen(category: str, gpus: float, used_bytes: float, ending: Ending = Ending.SUCCESS) -> records.HistoryRead:
    """What an earlier run tells of a task."""
    usage = Usage(gpu_memory_bytes=Measured(used_bytes, Quality.SAMPLED))
    attempt = Observation(category, "r", "t", 1, ending, 0.0, 1.0, Resources(gpus=gpus), usage, hints={"gpus": gpus})
    return records.HistoryRead(0.0, [attempt])


def test_tasks_of_which_nothing_is_known_get_the_largest_gpus() -> None:
    run = GpuRun([1, 1, 1], memory=[40 * GB, 10 * GB, 80 * GB])
    run.decide()
    assert run.sizes() == [[80 * GB], [40 * GB], [10 * GB]]


def test_known_tasks_get_the_smallest_gpus_that_are_large_enough_and_no_smaller_ones() -> None:
    run = GpuRun([1, 1, 1], memory=[80 * GB, 10 * GB, 40 * GB])
    run.record(seen("c1", 1, 30 * GB))
    run.record(seen("c1", 1, 60 * GB, Ending.EXIT_CODE))  # it may have failed since it took too much
    run.decide()
    assert run.sizes() == [[40 * GB], [80 * GB]]
    assert run.to_the_end() == "succeeded"
    assert [10 * GB] not in run.sizes()


def test_what_a_run_measures_counts_for_its_later_tasks() -> None:
    run = GpuRun([1] * 4, memory=[80 * GB, 40 * GB])
    run.gpu_memory_used = 5 * GB
    run.decide()
    run.end(run.held[1], Ending.SUCCESS)  # on the smaller one
    run.end(run.held[0], Ending.SUCCESS)
    run.decide()
    assert run.sizes() == [[80 * GB], [40 * GB], [40 * GB], [80 * GB]]


def test_a_need_that_no_gpu_here_meets_keeps_no_task_from_trying() -> None:
    run = GpuRun([1, 1], memory=[40 * GB, 80 * GB])
    run.record(seen("c1", 1, 90 * GB))
    run.decide()
    assert run.sizes() == [[80 * GB], [40 * GB]]


def test_two_gpus_of_which_only_one_is_large_enough_are_better_than_none() -> None:
    """A node has one that meets the need, and the task wants two: it must not wait for ever."""
    run = GpuRun([2], memory=[80 * GB, 40 * GB, 40 * GB])
    run.record(seen("c2", 2, 120 * GB))
    run.decide()
    assert run.sizes() == [[80 * GB, 40 * GB]]
    assert run.to_the_end() == "succeeded"


def test_a_task_with_half_a_gpu_counts_with_half_of_its_memory_and_one_with_two_with_both() -> None:
    run = GpuRun([0.5, 2], memory=[10 * GB, 80 * GB, 40 * GB, 40 * GB])
    run.record(seen("c0.5", 0.5, 15 * GB))
    run.record(seen("c2", 2, 60 * GB))
    run.decide()
    assert run.sizes() == [[40 * GB], [40 * GB, 80 * GB]]


def test_a_gpu_of_which_the_memory_is_not_known_may_be_large_enough() -> None:
    run = GpuRun([1, 1], memory=[0, 40 * GB])
    run.record(seen("c1", 1, 30 * GB))
    run.decide()
    assert sorted(run.sizes()) == [[0], [40 * GB]]


def test_on_a_node_whose_devices_are_not_known_only_their_number_counts() -> None:
    machine = Resources(cores=4, memory_bytes=8 * GB, disk_bytes=GB, gpus=1)
    run = PretendRun([Task(f"t{number}", "c", "x", hints={"gpus": 1}) for number in range(2)], machine=machine)
    run.decide()
    assert [(launch.task, launch.devices) for launch in run.held] == [("t0", ())]
    assert run.to_the_end() == "succeeded"
