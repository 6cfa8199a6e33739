"""`WayOfSizing`: what a name after `--sizer` stands for."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from msgspec import Struct

from headway.model.errors import InputError
from headway.sizing.agents.malleable import MalleableAllocator
from headway.sizing.base import Allocator, Sizer
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.base import Estimator
from headway.sizing.estimators.censored import Censored
from headway.sizing.per_resource import PerResource

MakeSizer = Callable[[str], Sizer]  # from the name of a resource
MakeEstimator = Callable[[], Estimator]


class WayOfSizing(Struct, frozen=True):
    """One entry in the table of ways of sizing: sizers for single resources, agents for cores and memory, or both.

    A replay of a log sizes each resource on its own and uses `sizer`. A run uses `agents` where there are any: they
    choose cores, too, for tasks that can use more or fewer of them.
    """

    name: str  # as users write it
    about: str  # one or two sentences for `headway policies`
    sizer: MakeSizer | None = None
    agents: Callable[[int], MalleableAllocator] | None = None  # from a seed

    def allocator(self, seed: int, failures: float = 1.0) -> Allocator:
        """Return the allocator of a run that tolerates a share of failures; 1: any."""
        allocator: Allocator
        if self.agents is not None:
            allocator = self.agents(seed)
        elif self.sizer is not None:
            allocator = PerResource(self.sizer, seed)
        else:
            raise TypeError(f"{self.name} has neither sizers nor agents")
        allocator.tolerate(failures)
        return allocator


def sizers_of(
    estimator: MakeEstimator, *, otherwise: MakeEstimator | None = None, name: str = "", censored: bool = False
) -> MakeSizer:
    """Return a maker of sizers by an estimator; `otherwise` estimates what is not counted in bytes, if not the same.

    `censored`: it also learns from attempts that ran out.
    """

    def make(resource: str) -> Sizer:
        counts_bytes = resource in ("memory_bytes", "disk_bytes")
        made = (estimator if counts_bytes or otherwise is None else otherwise)()
        return EstimatedSizer(Censored(made) if censored else made, resource, name)

    name = name or estimator().name
    return make


def estimated_by(
    estimator: type[Estimator], *, otherwise: MakeEstimator | None = None, name: str = "", censored: bool = False
) -> WayOfSizing:
    """Make a way of sizing from an estimator, as `sizers_of` does."""
    name = name or estimator.name
    make = sizers_of(estimator, otherwise=otherwise, name=name, censored=censored)
    return WayOfSizing(name, summary(estimator), make)


def chosen_by(agents: type[MalleableAllocator], name: str = "") -> WayOfSizing:
    """Make a way of sizing from agents that choose cores and memory together."""
    return WayOfSizing(name or agents.name, summary(agents), agents=agents)


def from_plugin(name: str, plugin: type) -> WayOfSizing:
    """Make a way of sizing from what an entry point names: an estimator, a sizer or an allocator."""
    if issubclass(plugin, Estimator):
        return estimated_by(plugin, name=name)
    if issubclass(plugin, Sizer):
        return WayOfSizing(name, summary(plugin), plugin)
    if issubclass(plugin, MalleableAllocator):
        return chosen_by(plugin, name)
    raise InputError(f"the plugin {name!r} is no Estimator, Sizer or MalleableAllocator", where=str(plugin))


def summary(policy: object) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join((inspect.getdoc(policy) or "").split("\n\n")[0].split())
