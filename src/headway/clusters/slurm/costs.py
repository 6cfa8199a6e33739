"""What a job is charged: billing units by the partition's `TRESBillingWeights`, times the `UsageFactor` of its QOS."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from msgspec import Struct

from headway.clusters.slurm.site_reading import Partition
from headway.model.resources import Resources

# A name begins where none goes on: otherwise a long text would be read again from each of its characters.
_WEIGHT = re.compile(r"(?<![\w/:.-])([\w/:.-]+)=(\d{1,9}(?:\.\d{1,9})?)([KMGTP]?)", re.ASCII | re.IGNORECASE)
_UNITS = {"": 2**20, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
NOT_LATER = 0.1  # a cheaper partition may start a job later by this share of its time,
NOT_LATER_S = 60.0  # and by so many seconds in any case


class Prices(Struct, frozen=True):
    """What counts beside the weights of a partition."""

    factor: float = 1.0  # of the QOS
    largest_only: bool = False  # PriorityFlags=MAX_TRES: of cores, memory and GPUs only what costs most


def billing(asked: Resources, partition: Partition, prices: Prices, gpu_type: str | None = None) -> float:
    """The billing units that a job with this request holds; without weights these are its cores, as in Slurm."""
    weights = weights_of(partition.billing_weights)
    if not weights:
        return prices.factor * math.ceil(asked.cores) * asked.nodes
    gpus = math.ceil(asked.gpus)
    amounts = {"cpu": math.ceil(asked.cores), "mem": asked.memory_bytes, "gres/gpu": gpus, "node": 1}
    amounts[f"gres/gpu:{gpu_type}"] = gpus
    costs = [weights.get(name, 0.0) * amount for name, amount in amounts.items()]
    return prices.factor * asked.nodes * (max(costs) if prices.largest_only else sum(costs))


def weights_of(text: str) -> dict[str, float]:
    """Parse `TRESBillingWeights`; memory is per byte.

    >>> weights_of("CPU=1.0,Mem=1.0G,GRES/gpu:A100=8")["gres/gpu:a100"]
    8.0
    """
    found = {}
    for name, number, unit in _WEIGHT.findall(text):
        memory = name.lower() == "mem"
        found[name.lower()] = float(number) / (_UNITS[unit.upper()] if memory else 1)
    return found


def has_price(partition: Partition, prices: Prices) -> bool:
    """Whether the site says anything about what jobs here are charged."""
    return bool(partition.billing_weights) or prices.factor != 1.0


def cheapest(places: Sequence[tuple[float, float]], bearable_s: float) -> int:
    """The index of the cheapest of several ways to charge a job, each with the wait and the price; the first of equals.

    Only those that start it at most `bearable_s` later than the soonest count. If the job would have to wait for longer
    than that, it is the first: another QOS may have a lower priority, of which the planned wait knows nothing.

    >>> cheapest([(0.0, 4.0), (30.0, 2.0), (900.0, 1.0)], 60.0), cheapest([(600.0, 4.0), (600.0, 2.0)], 60.0)
    (1, 0)
    """
    soonest_s = min(wait_s for wait_s, _ in places)
    near = [index for index, (wait_s, _) in enumerate(places) if wait_s <= soonest_s + bearable_s]
    return min(near, key=lambda index: places[index][1]) if soonest_s <= bearable_s else near[0]


def later_s(asked: Resources) -> float:
    """By how much later a job may start for a lower price: a tenth of its time, or a minute if that is longer."""
    return max(NOT_LATER_S, NOT_LATER * (asked.walltime_s or 0.0))
