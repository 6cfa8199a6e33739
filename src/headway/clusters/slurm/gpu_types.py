"""Which types of GPUs a site has, and how much memory each: by its name, or by the user's word."""

from __future__ import annotations

import re
from collections.abc import Iterable

from headway.clusters.slurm.options import SlurmOptions, gpu_memory_of
from headway.clusters.slurm.partitions import suits
from headway.clusters.slurm.site_reading import Partition
from headway.model.devices import GpuType

_SIZE = re.compile(r"(?<!\d)(\d{1,4})gb", re.IGNORECASE | re.ASCII)


def gpu_types(partitions: Iterable[Partition], options: SlurmOptions) -> list[GpuType]:
    """The types of GPUs whose memory is known, on the working nodes of partitions that suit the user."""
    stated = gpu_memory_of(options.gpu_memory)
    most: dict[str, int] = {}
    for partition in partitions:
        for node in partition.nodes:
            if node.works and partition.is_up and suits(node, options):
                for name, number in node.gpu_types.items():
                    most[name] = max(number, most.get(name, 0))
    sizes = {name: stated.get(name) or size_in_name(name) for name in most}
    return [GpuType(name, size, most[name]) for name, size in sizes.items() if size]


def size_in_name(name: str) -> int:
    """The memory in bytes that the name of a type tells; 0 if it tells none. Of a divided GPU, the instance comes last.

    >>> size_in_name("nvidia_a100_80gb_pcie_1g.10gb"), size_in_name("h100-80GB"), size_in_name("v100")
    (10000000000, 80000000000, 0)
    """
    found = _SIZE.findall(name)
    return int(found[-1]) * 10**9 if found else 0
