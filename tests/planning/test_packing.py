"""What a job asks for: whole nodes, or shares that follow from its tasks' needs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.model.records import QueueRead
from headway.model.resources import Resources
from headway.model.task import Task
from headway.planning.packing import Need, Packing, shares

GB = 10**9
NODE = Resources(cores=32, memory_bytes=64 * GB, disk_bytes=GB, gpus=2, nodes=10, walltime_s=7200.0)


def need(cores: float, memory_bytes: int, tasks: int = 1, largest: int = 0, gpus: int = 0) -> Need:
    usual = Resources(cores=cores, memory_bytes=memory_bytes, gpus=gpus)
    return Need(usual, usual.replace(memory_bytes=max(memory_bytes, largest)), tasks)


def test_a_job_has_the_cores_and_the_memory_of_its_tasks() -> None:
    packing = shares(NODE, None, {"a": need(1, GB, tasks=20)})
    asked = packing.request(20, 600.0)
    assert (asked.places, asked.per_node) == (
        20,
        NODE.replace(cores=20, memory_bytes=20 * GB, gpus=0, nodes=1, walltime_s=600.0),
    )
    wide = packing.request(40, 600.0)
    assert (wide.per_node.nodes, wide.per_node.cores) == (2, 20)


def test_a_task_of_many_cores_takes_several_places() -> None:
    packing = shares(NODE, None, {"small": need(1, GB, tasks=16), "wide": need(16, 32 * GB)})
    assert packing.places_of(Task("w", "wide", "-")) == 16
    assert packing.places_of(Task("s", "small", "-")) == 1
    assert packing.request(1, 60.0).per_node.cores == 16  # the wide task must fit, too
    levels = packing.levels([Task("w", "wide", "-"), Task("s", "small", "-")], lambda task: 10.0)
    assert levels.width(0, 0) == 17


def test_one_task_with_much_memory_does_not_make_all_places_large() -> None:
    packing = shares(NODE, None, {"small": need(1, GB, tasks=100), "large": need(1, 50 * GB)})
    asked = packing.request(10, 60.0).per_node
    assert (asked.cores, asked.memory_bytes) == (10, 50 * GB)


def test_there_is_memory_for_a_second_attempt() -> None:
    packing = shares(NODE, None, {"a": need(1, GB, largest=2 * GB)})
    assert packing.request(1, 60.0).per_node.memory_bytes == 2 * GB
    assert packing.request(4, 60.0).per_node.memory_bytes == 4 * GB


def test_gpus_are_asked_for_only_where_tasks_need_them() -> None:
    assert shares(NODE, None, {"a": need(1, GB)}).request(1, 60.0).per_node.gpus == 0
    assert shares(NODE, None, {"a": need(1, GB, gpus=1)}).request(2, 60.0).per_node.gpus == 2
    mixed = {"a": need(1, GB, tasks=3, gpus=1), "b": need(1, GB, tasks=9)}
    assert [shares(NODE, None, mixed).request(places, 60.0).per_node.gpus for places in (2, 4, 6)] == [1, 1, 2]
    several_cores = {"a": need(4, GB, gpus=1), "b": need(1, GB, gpus=1)}
    assert shares(NODE, None, several_cores).request(5, 60.0).per_node.gpus == 2


def test_free_cores_are_counted_in_places() -> None:
    """A place of 4 GB takes a sixteenth of a node's memory, so that it counts as two of its 32 cores."""
    queue = QueueRead(0.0, [0.0, 50.0], [7.0, 64.0], counts="cores")
    packing = shares(NODE, queue, {"a": need(1, 4 * GB)})
    assert packing.in_units(queue).free == [3.0, 32.0]
    assert packing.most == 32
    assert Packing(NODE, 10).in_units(queue).free == [0.0, 2.0]  # whole nodes


NEEDS = st.dictionaries(
    st.sampled_from("abcd"),
    st.builds(
        need,
        st.integers(1, 32),
        st.integers(1, 64 * GB),
        st.integers(1, 50),
        st.integers(1, 64 * GB),
        st.integers(0, 2),
    ),
    min_size=1,
)


@given(NEEDS, st.integers(1, 400), st.floats(1, 1e5))
def test_every_request_is_within_the_node_and_holds_its_largest_task(
    needs: dict[str, Need], units: int, walltime_s: float
) -> None:
    packing = shares(NODE, None, needs)
    asked = packing.request(units, walltime_s)
    assert asked.per_node.fits_in(NODE)
    each = asked.per_node.replace(walltime_s=None, nodes=1)
    assert all(one.largest.fits_in(each.replace(disk_bytes=GB)) for one in needs.values())
    assert packing.place is not None
    assert asked.per_node.nodes * asked.per_node.cores >= min(units, packing.most) * packing.place.cores
