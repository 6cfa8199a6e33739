"""Which types of GPUs a site has, and which one suits tasks."""

from __future__ import annotations

from msgspec import structs

from headway.clusters.slurm.gpu_types import gpu_types
from headway.clusters.slurm.options import SlurmOptions
from headway.drivers.gpu_types import smallest
from headway.model.devices import GpuType
from tests.slurm.test_cluster_plan import nodes, partition

GB = 10**9
SLICE, MIDDLE, LARGE = GpuType("1g.10gb", 10 * GB, 7), GpuType("a100", 40 * GB, 4), GpuType("h200", 141 * GB, 8)


def test_the_memory_of_a_type_is_known_by_its_name_or_by_the_users_word() -> None:
    first, second, third, broken = nodes(1, 4)
    has = (
        structs.replace(first, gpus=4, gpu_types={"a100": 4}),
        structs.replace(second, gpus=9, gpu_types={"a100_1g.10gb": 7, "v100": 2}),
        structs.replace(third, gpus=2, gpu_types={"a100": 2}),
        structs.replace(broken, gpus=2, gpu_types={"h100-80gb": 2}, works=False),
    )
    site = [partition("gpu", has)]
    assert gpu_types(site, SlurmOptions()) == [GpuType("a100_1g.10gb", 10 * GB, 7)]
    stated = SlurmOptions(gpu_memory=f"a100={40 * GB}")
    assert gpu_types(site, stated) == [GpuType("a100", 40 * GB, 4), GpuType("a100_1g.10gb", 10 * GB, 7)]


def test_the_smallest_type_that_is_enough_is_chosen_and_none_where_there_is_no_choice() -> None:
    every = [LARGE, SLICE, MIDDLE]
    assert smallest(every, 8 * GB, 1) == SLICE
    assert smallest(every, 11 * GB, 1) == MIDDLE
    assert smallest(every, 11 * GB, 6) == LARGE, "no node has six of the others that are large enough"
    assert smallest(every, 150 * GB, 1) is None
    assert smallest([LARGE], 8 * GB, 1) is None
