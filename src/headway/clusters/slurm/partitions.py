"""What partitions, associations and QOS allow, and which partition a job goes to.

No request beyond the limits is sent to Slurm. If the user names no partition, a job goes to the one that starts it
first among those that accept it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from typing import TypeVar

from msgspec import Struct, structs

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.core_counts import cores_asked
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.queue_reading import Reading, twin_of
from headway.clusters.slurm.site_reading import Node, Partition
from headway.clusters.slurm.squeue import limit_of
from headway.model.errors import InputError, SiteError
from headway.model.resources import Resources
from headway.model.units import format_bytes, format_duration

Number = TypeVar("Number", int, float)
_TRES = re.compile(r"(cpu|node)=(\d{1,12})", re.ASCII)
_ASSOCIATION = ("Account", "DefaultQOS", "MaxJobs", "MaxSubmitJobs", "MaxWall", "MaxTRES")
_QOS = ("Name", "MaxJobsPU", "MaxSubmitPU", "MaxWall", "MaxTRES")
_A_DAY_S = 86400.0


class UserLimits(Struct, frozen=True):
    """The limits of one user; None: no such limit is known."""

    jobs: int | None = None  # in the queue at the same time
    walltime_s: float | None = None
    nodes: int | None = None  # of one job
    cpus: int | None = None  # of one job

    def tightened(self, other: UserLimits) -> UserLimits:
        """The stricter of both limits, one by one."""
        both = zip(structs.astuple(self), structs.astuple(other), strict=True)
        return UserLimits(*(_least(*pair) for pair in both))


def read_user_limits(commands: Commands, user: str, options: SlurmOptions, partition_qos: str | None) -> UserLimits:
    """Read the user's limits from associations and QOS, as far as the database shows them."""
    rows = _sacctmgr(commands, _ASSOCIATION, "assoc", f"user={user}")
    mine = [row for row in rows if options.account in (None, row[0])]
    wanted = {options.qos or (mine[0][1] if mine else "") or "normal", partition_qos}
    limits = UserLimits()
    for row in mine:  # if there are several accounts, the strictest limits are safe
        limits = limits.tightened(_limits_of(row[2:]))
    for row in _sacctmgr(commands, _QOS, "qos"):
        if row[0] in wanted:
            limits = limits.tightened(_limits_of(row[1:]))
    return limits


def _sacctmgr(commands: Commands, columns: Sequence[str], *what: str) -> list[list[str]]:
    text = commands.ask("sacctmgr", "--noheader", "--parsable2", "show", *what, f"format={','.join(columns)}")
    return [row for line in (text or "").splitlines() if len(row := line.split("|")) == len(columns)]


def _limits_of(cells: list[str]) -> UserLimits:
    """Parse the limits on running jobs, submitted jobs, walltime, and size."""
    try:
        sizes = dict(_TRES.findall(cells[3]))
        numbers = [int(text) for text in cells[:2] if text.isdecimal()]
        return UserLimits(
            jobs=_least(*numbers),
            walltime_s=limit_of(cells[2]),
            nodes=int(sizes["node"]) if "node" in sizes else None,
            cpus=int(sizes["cpu"]) if "cpu" in sizes else None,
        )
    except InputError:
        return UserLimits()


def _least(*values: Number | None) -> Number | None:
    return min((value for value in values if value is not None), default=None)


def has_features(node: Node, constraint: str | None) -> bool:
    """Whether a node has the requested features. Only plain lists are checked; Slurm checks other expressions."""
    if constraint is None or not re.fullmatch(r"[\w&,.-]+", constraint, re.ASCII):
        return True
    return set(re.split("[&,]", constraint)) <= set(node.features)


def room(partition: Partition, user: UserLimits, options: SlurmOptions, *, now: bool) -> Resources | None:
    """The largest request that a partition allows; None if it allows none.

    Nodes may differ: every node has at least what is returned, so that a request within it fits on any of them. With
    `now` only working nodes count.
    """
    nodes = [node for node in partition.nodes if (node.works or not now) and has_features(node, options.constraint)]
    if not nodes or not partition.is_up:
        return None
    cpus = min(node.cpus for node in nodes)
    memory_bytes = min(node.memory_bytes for node in nodes)
    cpus = min(cpus, partition.max_cpus_per_node or cpus, user.cpus or cpus)
    memory_bytes = min(memory_bytes, partition.max_memory_bytes_per_node or memory_bytes)
    most = min(len(nodes), partition.max_nodes or len(nodes), user.nodes or len(nodes))
    if user.cpus is not None:
        most = max(1, min(most, user.cpus // max(node.cpus for node in nodes)))
    longest_s = _least(partition.max_time_s, user.walltime_s)
    gpus = min(node.gpus for node in nodes)
    return Resources(cores=cpus, memory_bytes=memory_bytes, gpus=gpus, nodes=most, walltime_s=longest_s)


def why_not(asked: Resources, partition: Partition, user: UserLimits, options: SlurmOptions) -> str:
    """Say why a partition does not accept a request; nothing if it does."""
    most = room(partition, user, options, now=False)
    if most is None:
        lacks = f"has no node with {options.constraint}" if partition.is_up and partition.nodes else "takes no jobs"
        return f"partition {partition.name} {lacks}"
    if asked.nodes > most.nodes:
        return f"{asked.nodes} nodes are more than the {most.nodes} that a job may have in partition {partition.name}"
    if asked.nodes < partition.min_nodes:
        return f"{asked.nodes} nodes are fewer than the {partition.min_nodes} that partition {partition.name} wants"
    fitting = [node for node in partition.nodes if _holds(node, asked, partition, options)]
    if len(fitting) < asked.nodes:
        return (
            f"{math.ceil(asked.cores)} cores, {format_bytes(asked.memory_bytes)} memory, {asked.gpus} GPUs on each of "
            f"{asked.nodes} nodes are more than the nodes of partition {partition.name} have"
        )
    cores = math.ceil(asked.cores) * asked.nodes
    if user.cpus is not None and cores > user.cpus:
        return f"{cores} cores are more than the {user.cpus} that one of your jobs may have"
    if asked.walltime_s is not None and most.walltime_s is not None and asked.walltime_s > most.walltime_s:
        wanted, longest = format_duration(asked.walltime_s), format_duration(most.walltime_s)
        return f"{wanted} is more than the {longest} that a job may have in partition {partition.name}"
    return ""


def _holds(node: Node, asked: Resources, partition: Partition, options: SlurmOptions) -> bool:
    return (
        has_features(node, options.constraint)
        and math.ceil(asked.cores) <= min(node.cpus, partition.max_cpus_per_node or node.cpus)
        and asked.memory_bytes <= min(node.memory_bytes, partition.max_memory_bytes_per_node or node.memory_bytes)
        and asked.gpus <= node.gpus
    )


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
    mine: Mapping[str, Set[str | None]] = {"accounts": {options.account}, "qos": {options.qos}, "groups": groups}
    return all(mine[kind] & set(names) for kind, names in partition.allowed.items()) and not any(
        mine[kind] & set(names) for kind, names in partition.denied.items()
    )


def choose(
    asked: Resources,
    candidates: Sequence[Partition],
    users: Mapping[str, UserLimits],
    options: SlurmOptions,
    reading: Reading | None,
    *,
    shared: bool = False,
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
    waits = {item.name: _wait_s(asked, item, reading, in_cores=shared) for item in fitting}
    return min(fitting, key=lambda item: waits[item.name])


def _wait_s(asked: Resources, partition: Partition, reading: Reading, *, in_cores: bool) -> float:
    twin = twin_of(reading, partition.name, in_cores=in_cores)
    units = cores_asked(asked, max(partition.nodes, key=lambda node: node.cpus)) if in_cores else asked.nodes
    if twin is None or units > twin.queue.machine:
        return float("inf")
    walltime_s = asked.walltime_s or partition.max_time_s or _A_DAY_S
    return float(twin.queue.waits(units, walltime_s)[0])


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
