"""Chooses the partition of a job if the user names none: among those that accept it, the one that starts it first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway.clusters.slurm.limits import UserLimits, has_features, room, why_not
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.queue_reading import Reading, twin_of
from headway.clusters.slurm.site_reading import Partition
from headway.model.errors import SiteError
from headway.model.resources import Resources

_A_DAY_S = 86400.0


def usable(partitions: Sequence[Partition], options: SlurmOptions, groups: frozenset[str]) -> list[Partition]:
    """The partitions that this user may use, the default first; only the named one if the user names one."""
    if options.partition is not None:
        named = [partition for partition in partitions if partition.name == options.partition]
        if not named:
            known = ", ".join(sorted(partition.name for partition in partitions))
            raise SiteError(f"there is no partition {options.partition}", todo=f"name one of {known}")
        return named
    found = [partition for partition in partitions if partition.is_up and _may_use(partition, options, groups)]
    if not found:
        raise SiteError("no partition accepts your jobs", todo="name one, or an account or QOS that one accepts")
    return sorted(found, key=lambda partition: (not partition.is_default, -len(partition.nodes), partition.name))


def _may_use(partition: Partition, options: SlurmOptions, groups: frozenset[str]) -> bool:
    mine: Mapping[str, frozenset[str]] = {
        "accounts": frozenset([options.account] if options.account else []),
        "qos": frozenset([options.qos] if options.qos else []),
        "groups": groups,
    }
    return all(mine[kind] & set(names) for kind, names in partition.allowed.items()) and not any(
        mine[kind] & set(names) for kind, names in partition.denied.items()
    )


def choose(
    asked: Resources,
    candidates: Sequence[Partition],
    users: Mapping[str, UserLimits],
    options: SlurmOptions,
    reading: Reading | None,
) -> Partition:
    """The partition that starts a request soonest by our plan, the first of equal ones; a SiteError if none accepts it.

    Without a reading of the queue it is the first that accepts it.
    """
    reasons = {item.name: why_not(asked, item, users.get(item.name, UserLimits()), options) for item in candidates}
    fitting = [item for item in candidates if not reasons[item.name]]
    if not fitting:
        raise SiteError(
            f"no partition accepts this request: {'; '.join(reasons.values())}",
            todo="request less, or name another partition",
        )
    if reading is None or len(fitting) == 1:
        return fitting[0]
    waits = {item.name: _wait_s(asked, item, reading) for item in fitting}
    return min(fitting, key=lambda item: waits[item.name])


def _wait_s(asked: Resources, partition: Partition, reading: Reading) -> float:
    twin = twin_of(reading, partition.name)
    if twin is None or asked.nodes > twin.queue.machine:
        return float("inf")
    walltime_s = asked.walltime_s or partition.max_time_s or _A_DAY_S
    return float(twin.queue.waits(asked.nodes, walltime_s)[0])


def home_limits(
    candidates: Sequence[Partition], users: Mapping[str, UserLimits], options: SlurmOptions
) -> tuple[Partition, Resources]:
    """The first partition with nodes that work, and the most that one job can get there."""
    for partition in candidates:
        most = room(partition, users.get(partition.name, UserLimits()), options, now=True)
        if most is not None:
            return partition, most
    names = ", ".join(partition.name for partition in candidates)
    nodes = [node for partition in candidates for node in partition.nodes]
    if nodes and not any(has_features(node, options.constraint) for node in nodes):
        known = ", ".join(sorted({feature for node in nodes for feature in node.features}))
        raise SiteError(
            f"no node of {names} has {options.constraint}, which --constraint asks for",
            todo=f"ask for what nodes there have: {known}" if known else "leave it out: nodes there have no features",
        )
    raise SiteError(f"no node of {names} works now", todo="look at `sinfo`, and try again later")
