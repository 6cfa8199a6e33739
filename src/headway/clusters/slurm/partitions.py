"""What partitions, associations and QOS allow, and which partition a job goes to.

No request beyond the limits is sent to Slurm. If the user names no partition, a job goes to the one that starts it
first among those that accept it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from operator import ge
from typing import NamedTuple, TypeVar

from headway.clusters.slurm.core_counts import cores_asked
from headway.clusters.slurm.costs import Prices, billing, later_s
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.queue_reading import Reading, twin_of
from headway.clusters.slurm.rights import Rights, UserLimits
from headway.clusters.slurm.site_reading import Node, Partition
from headway.model.errors import SiteError
from headway.model.resources import Resources
from headway.model.units import format_bytes, format_duration

Number = TypeVar("Number", int, float)
_A_DAY_S = 86400.0
_ALIKE = 1.1  # nodes of which none has this many times as much as the other are of one kind


def _least(*values: Number | None) -> Number | None:
    return min((value for value in values if value is not None), default=None)


def suits(node: Node, options: SlurmOptions) -> bool:
    """Whether a node has the features and the type of GPUs that the user wants.

    Only plain lists of features are checked; Slurm checks other expressions.
    """
    if options.gpu_type is not None and not node.gpus_of(options.gpu_type):
        return False
    if options.constraint is None or not re.fullmatch(r"[\w&,.-]+", options.constraint, re.ASCII):
        return True
    return set(re.split("[&,]", options.constraint)) <= set(node.features)


def rooms(partition: Partition, user: UserLimits, options: SlurmOptions, *, now: bool) -> list[Resources]:
    """The largest requests that a partition allows, by kind of node: the usual kind, then those with more of something.

    The usual kind is the one that has the most cores in all, where a node counts with as much as that kind has. With
    `now` only working nodes count.
    """
    nodes = [node for node in partition.nodes if (node.works or not now) and suits(node, options)]
    if not nodes or not partition.is_up:
        return []
    least = tuple(min(amounts) for amounts in zip(*(_amounts(node, options) for node in nodes), strict=True))
    kinds = {least: nodes}  # the nodes that have at least so much
    for kind in {_amounts(node, options) for node in nodes}:
        kinds[kind] = [node for node in nodes if all(map(ge, _amounts(node, options), kind))]
    usual, *others = sorted(kinds, key=lambda kind: (-kind[0] * len(kinds[kind]), -len(kinds[kind]), kind))
    larger: list[tuple[int, ...]] = []
    for kind in sorted(others):
        if all(any(_is_more(*pair) for pair in zip(kind, other, strict=True)) for other in (usual, *larger)):
            larger.append(kind)
    return [_room(kinds[kind], partition, user, options) for kind in (usual, *larger)]


def _amounts(node: Node, options: SlurmOptions) -> tuple[int, ...]:
    return node.cpus, node.memory_bytes, node.gpus_of(options.gpu_type)


def _is_more(amount: int, than: int) -> bool:
    return amount > _ALIKE * than


def room(partition: Partition, user: UserLimits, options: SlurmOptions, *, now: bool) -> Resources | None:
    """The largest request for the usual nodes of a partition; None if it accepts none."""
    return next(iter(rooms(partition, user, options, now=now)), None)


def _room(nodes: Sequence[Node], partition: Partition, user: UserLimits, options: SlurmOptions) -> Resources:
    """What every one of these nodes has, within the limits of the partition and the user."""
    cpus = min(node.cpus for node in nodes)
    memory_bytes = min(node.memory_bytes for node in nodes)
    cpus = min(cpus, partition.max_cpus_per_node or cpus, user.cpus or cpus)
    memory_bytes = min(memory_bytes, partition.max_memory_bytes_per_node or memory_bytes)
    most = min(len(nodes), partition.max_nodes or len(nodes), user.nodes or len(nodes))
    if user.cpus is not None:
        most = max(1, min(most, user.cpus // max(node.cpus for node in nodes)))
    if user.memory_bytes is not None:
        memory_bytes = min(memory_bytes, user.memory_bytes)
        most = max(1, min(most, user.memory_bytes // max(1, memory_bytes)))
    longest_s = _least(partition.max_time_s, user.walltime_s)
    gpus = _least(*(node.gpus_of(options.gpu_type) for node in nodes), user.gpus) or 0
    return Resources(cores=cpus, memory_bytes=memory_bytes, gpus=gpus, nodes=most, walltime_s=longest_s)


def why_not(asked: Resources, partition: Partition, user: UserLimits, options: SlurmOptions) -> str:
    """Say why a partition does not accept a request; nothing if it does."""
    nodes = [node for node in partition.nodes if suits(node, options)]
    if not nodes or not partition.is_up:
        lacks = f"has no node with {_wanted(options)}" if partition.is_up and partition.nodes else "takes no jobs"
        return f"partition {partition.name} {lacks}"
    most = min(len(nodes), partition.max_nodes or len(nodes), user.nodes or len(nodes))
    if asked.nodes > most:
        why = user.said("nodes") if user.nodes == most else ""
        return f"{asked.nodes} nodes are more than the {most} that a job may have in {partition.name}{why}"
    if asked.nodes < partition.min_nodes:
        return f"{asked.nodes} nodes are fewer than the {partition.min_nodes} that partition {partition.name} wants"
    fitting = [node for node in partition.nodes if _holds(node, asked, partition, options)]
    if len(fitting) < asked.nodes:
        return (
            f"{math.ceil(asked.cores)} cores, {format_bytes(asked.memory_bytes)} memory, {math.ceil(asked.gpus)} GPUs "
            f"on each of {asked.nodes} nodes are more than the nodes of partition {partition.name} have"
        )
    cores = math.ceil(asked.cores) * asked.nodes
    if user.cpus is not None and cores > user.cpus:
        return f"{cores} cores are more than the {user.cpus} that one of your jobs may have{user.said('cpus')}"
    longest_s = _least(partition.max_time_s, user.walltime_s)
    if asked.walltime_s is not None and longest_s is not None and asked.walltime_s > longest_s:
        wanted, longest = format_duration(asked.walltime_s), format_duration(longest_s)
        return f"{wanted} is more than the {longest} that a job may have in partition {partition.name}"
    return ""


def _holds(node: Node, asked: Resources, partition: Partition, options: SlurmOptions) -> bool:
    return (
        suits(node, options)
        and math.ceil(asked.cores) <= min(node.cpus, partition.max_cpus_per_node or node.cpus)
        and asked.memory_bytes <= min(node.memory_bytes, partition.max_memory_bytes_per_node or node.memory_bytes)
        and asked.gpus <= node.gpus_of(options.gpu_type)
    )


def _wanted(options: SlurmOptions) -> str:
    """What a user wants of nodes, in words."""
    gpus = f"GPUs of type {options.gpu_type}" if options.gpu_type else ""
    return " and ".join(filter(None, (options.constraint, gpus)))


def has_all_memory(asked: Resources, partition: Partition, options: SlurmOptions) -> bool:
    """Whether a job on whole nodes is to have all memory of each, which may be more than it asks for."""
    nodes = [node for node in partition.nodes if suits(node, options)]
    return all(node.memory_bytes >= asked.memory_bytes for node in nodes) and not partition.max_memory_bytes_per_node


def usable(
    partitions: Sequence[Partition], options: SlurmOptions, groups: frozenset[str], rights: Rights
) -> list[Partition]:
    """The partitions that this user may use: those that the user prefers first, then the default one.

    If the user names some, only these.
    """
    known = {partition.name: partition for partition in partitions}
    texts = (options.partition, options.prefer_partitions, options.avoid_partitions)
    named, preferred, avoided = (text.split(",") if text else [] for text in texts)
    if unknown := [name for name in (*named, *preferred, *avoided) if name not in known]:
        raise SiteError(f"there is no partition {unknown[0]}", todo=f"name one of {', '.join(sorted(known))}")
    if named:
        return [known[name] for name in named]
    up = [partition for partition in partitions if partition.is_up and partition.name not in avoided]
    mine = _mine(groups, rights)
    # Where the user's account or QOS is not known, Slurm has to say whether a partition accepts it.
    found = [one for one in up if _may_use(one, mine) and one.allowed.keys() <= mine.keys()]
    found = found or [one for one in up if _may_use(one, mine)]
    if not found and avoided:
        what = f"no partition but {', '.join(avoided)} accepts your jobs"
        raise SiteError(what, where="avoid-partitions", todo="avoid fewer, or name a partition")
    if not found:
        raise _nothing_usable(up, rights)
    order = {name: place for place, name in enumerate(preferred)}
    return sorted(
        found, key=lambda one: (order.get(one.name, len(order)), not one.is_default, -len(one.nodes), one.name)
    )


def closed_to(partitions: Sequence[Partition], groups: frozenset[str], rights: Rights) -> set[str]:
    """The partitions that do not accept jobs of this user, account and QOS."""
    mine = _mine(groups, rights)
    return {partition.name for partition in partitions if not _may_use(partition, mine)}


def _mine(groups: frozenset[str], rights: Rights) -> dict[str, Set[str]]:
    mine: dict[str, Set[str]] = {"groups": groups}
    mine |= {"accounts": {rights.account}} if rights.account else {}
    return mine | ({"qos": {rights.qos}} if rights.qos else {})


def _may_use(partition: Partition, mine: Mapping[str, Set[str]]) -> bool:
    return not any(
        (kind in partition.allowed and not names & set(partition.allowed[kind]))
        or names & set(partition.denied.get(kind, ()))
        for kind, names in mine.items()
    )


def _nothing_usable(up: Sequence[Partition], rights: Rights) -> SiteError:
    """Say that no partition accepts the user's account and QOS, and which ones the partitions accept."""
    mine = f"account {rights.account}" * bool(rights.account) + f" with QOS {rights.qos}" * bool(rights.qos)
    wants = [
        f"{partition.name} wants {kind} {' or '.join(names)}"
        for partition in up
        for kind, names in partition.allowed.items()
    ]
    todo = f"name another account, QOS or partition: {', '.join(wants)}" if wants else "look at `sinfo`"
    return SiteError(f"no partition accepts jobs of {mine.strip() or 'yours'}", todo=todo)


class Choice(NamedTuple):
    """The partition of a job, and if others were possible that cost more or less, why this one."""

    partition: Partition
    why: str = ""
    cost: float = 0.0  # billing units
    ready_s: float = 0.0  # its expected wait, and what it is expected to lose


def choose(
    asked: Resources,
    candidates: Sequence[Partition],
    users: Mapping[str, UserLimits],
    options: SlurmOptions,
    reading: Reading | None,
    prices: Prices | None = None,
    *,
    shared: bool = False,
    loss_s: Callable[[Partition, float], float] = lambda partition, wait_s: 0.0,
    always_compared: bool = False,
) -> Choice:
    """The partition for a request; a SiteError if none accepts it.

    It is the cheapest of those that start it soonest by our plan, or later by no more than `later_s`; of equal prices
    the soonest, then the first. `loss_s` is how much a job is expected to lose in a partition where it waits so long;
    it counts as a longer wait. Without a reading of the queue it is the first that accepts the request. If a preferred
    one accepts it, only these count. The wait for the only one that does is `always_compared`, or not computed.
    """
    reasons = {item.name: why_not(asked, item, users.get(item.name, UserLimits()), options) for item in candidates}
    fitting = [item for item in candidates if not reasons[item.name]]
    if not fitting:
        raise SiteError(
            f"no partition accepts this request: {'; '.join(reasons.values())}",
            todo="request less, or name another partition",
        )
    preferred = (options.prefer_partitions or "").split(",")
    fitting = [item for item in fitting if item.name in preferred] or fitting
    if reading is None or (len(fitting) == 1 and not always_compared):
        return Choice(fitting[0])
    waits = {item.name: _wait_s(asked, item, reading, in_cores=shared) for item in fitting}
    costs = {item.name: billing(asked, item, prices or Prices(), options.gpu_type) for item in fitting}
    ready_s = {item.name: waits[item.name] + loss_s(item, waits[item.name]) for item in fitting}
    bearable_s = min(ready_s.values()) + later_s(asked)
    near = [item for item in fitting if ready_s[item.name] <= bearable_s]
    chosen = min(near, key=lambda item: (costs[item.name], ready_s[item.name]))
    found = Choice(chosen, "", costs[chosen.name], ready_s[chosen.name])
    if len(set(costs.values())) == 1:
        return found
    losses = {name: ready_s[name] - wait_s for name, wait_s in waits.items() if ready_s[name] < float("inf")}
    return found._replace(why=_comparison(chosen, losses, waits, costs))


def _comparison(
    chosen: Partition, losses: Mapping[str, float], waits: Mapping[str, float], costs: Mapping[str, float]
) -> str:
    """What the partitions that accept a job cost, when they would start it, and what it may lose there."""
    each = (
        f"{name} costs {costs[name]:.3g} and starts "
        f"{f'in {format_duration(waits[name])}' if waits[name] else 'at once'}"
        f"{f' (expected loss if others preempt it: {format_duration(loss_s)})' if loss_s else ''}"
        for name, loss_s in losses.items()
    )
    return f"partition {chosen.name}: {', '.join(each)}"


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
    if nodes and not any(suits(node, options) for node in nodes):
        features = {feature for node in nodes for feature in node.features}
        kinds = {kind for node in nodes for kind in node.gpu_types if kind}
        known = ", ".join(sorted(features) * bool(options.constraint) + sorted(kinds) * bool(options.gpu_type))
        raise SiteError(
            f"no node of {names} has {_wanted(options)}",
            todo=f"ask for what nodes there have: {known}" if known else "leave it out: nodes there have none",
        )
    raise SiteError(f"no node of {names} works now", todo="look at `sinfo`, and try again later")
