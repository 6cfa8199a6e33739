"""Reads a site's configuration, partitions and nodes with scontrol and sinfo."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.hostlist import expand
from headway.clusters.slurm.pairs import pairs_of
from headway.clusters.slurm.squeue import limit_of, moment, whole
from headway.model.errors import InputError
from headway.model.limits import MOST_BYTES

_SETTING = re.compile(r"(\S+)\s*= (.*)")
_GPUS = re.compile(r"gpu(?::([^:,()]+))?:(\d{1,4})", re.ASCII)
_WORKING = ("idle", "mixed", "allocated", "completing", "planned")
_SIGNS = "~#!%$@^-+"  # suffixes of a state: powered down, powering up, …; a node with * does not respond
_NODE_FORMAT = "%N|%R|%T|%c|%m|%G|%w|%f"


class Configuration(Struct, frozen=True):
    """The settings of Slurm that matter to Headway."""

    version: str
    cluster: str
    keeps_accounts: bool  # whether there is a slurmdbd
    enforces_accounts: bool  # whether jobs need an account that their user has
    enforces_limits: bool  # whether the limits of associations and QOS are enforced
    kills_for_memory: bool
    hides_jobs: bool  # of other users
    min_job_age_s: float  # how long an ended job stays in the queue
    divides_nodes: bool  # whether jobs can have cores instead of whole nodes
    preempts_by_tier: bool = False  # whether jobs of a partition preempt those of partitions with a lower tier
    shrinks: bool = True  # whether users may shrink their running jobs
    keeps_rank: bool = True  # whether a job that depends on another loses no priority by that
    bills_largest: bool = False  # whether a job is charged for what costs most of its cores, memory and GPUs only
    scheduling: str = ""  # SchedulerParameters


class Node(Struct, frozen=True):
    """A node of a partition."""

    name: str
    works: bool  # whether jobs can run on it now
    cpus: int
    memory_bytes: int
    gpus: int
    features: tuple[str, ...]
    drains: bool = False  # whether an administrator lets no new job start on it
    gpu_types: dict[str, int] = {}  # how many of each
    weight: int = 1  # Slurm takes nodes with a low weight first

    def gpus_of(self, kind: str | None) -> int:
        """The GPUs of a type, or all."""
        return self.gpus if kind is None else self.gpu_types.get(kind, 0)


class Reservation(Struct, frozen=True):
    """Nodes that only some jobs may use for some time."""

    name: str
    starts_at: float
    ends_at: float
    nodes: tuple[str, ...]
    closes: bool = False  # whether no other job starts in a partition all of whose nodes it takes


class Partition(Struct, frozen=True):
    """A partition: its nodes, and what a job there may request."""

    name: str
    is_default: bool
    is_up: bool
    nodes: tuple[Node, ...]
    max_time_s: float | None
    max_nodes: int | None
    min_nodes: int
    max_cpus_per_node: int | None
    max_memory_bytes_per_node: int | None
    tier: int
    preempt_mode: str  # what happens to its jobs if others preempt them; OFF: nothing does
    exclusive: bool  # whether every job has its nodes to itself
    qos: str | None
    allowed: dict[str, tuple[str, ...]]  # accounts, qos, groups; without an entry: all
    denied: dict[str, tuple[str, ...]]
    billing_weights: str = ""  # as Slurm writes them


class Settings(Struct, frozen=True):
    """What changes seldom: the configuration, and the lines that describe the partitions, without their nodes."""

    configuration: Configuration
    partitions: list[str]


def read_settings(commands: Commands) -> Settings | None:
    """Read the configuration and the partitions in one call; None if that is not possible now."""
    shown = commands.ask_all("scontrol", "--oneliner", questions=("show config", "show partition"))
    configuration, lines = configuration_of(shown[0] or ""), (shown[1] or "").splitlines()
    try:
        for line in lines:
            partition_of(line, {})
    except (KeyError, ValueError, InputError):
        return None
    return Settings(configuration, lines) if configuration is not None and lines else None


def configuration_of(text: str) -> Configuration | None:
    """Parse the output of `scontrol show config`; None if it is something else."""
    lines = text.splitlines()
    found = {match[1]: match[2] for line in lines if (match := _SETTING.fullmatch(line.strip()))}
    if "SLURM_VERSION" not in found or "AccountingStorageType" not in found:
        return None
    age = re.match(r"\d{1,9}", found.get("MinJobAge", ""), re.ASCII)
    enforced = found.get("AccountingStorageEnforce", "none").lower()
    return Configuration(
        version=found["SLURM_VERSION"],
        cluster=found.get("ClusterName", ""),
        keeps_accounts=found["AccountingStorageType"].endswith("slurmdbd"),
        enforces_accounts=any(word in enforced for word in ("associations", "limits", "qos", "safe", "wckeys", "all")),
        enforces_limits=any(word in enforced for word in ("limits", "qos", "safe", "all")),
        kills_for_memory="overmemorykill" in found.get("JobAcctGatherParams", "").lower(),
        hides_jobs="jobs" in found.get("PrivateData", ""),
        min_job_age_s=float(age[0]) if age else 300.0,
        divides_nodes="cons_" in found.get("SelectType", ""),
        preempts_by_tier=found.get("PreemptType", "").endswith("partition_prio"),
        shrinks="disable_job_shrink" not in found.get("SchedulerParameters", ""),
        keeps_rank=_keeps_rank(found),
        bills_largest="MAX_TRES" in found.get("PriorityFlags", ""),
        scheduling=found.get("SchedulerParameters", ""),
    )


def _keeps_rank(found: Mapping[str, str]) -> bool:
    """Whether the priority of a job that cannot start yet, since it depends on another, grows as that of others."""
    grows = not found.get("PriorityType", "").endswith("basic") and found.get("PriorityWeightAge", "0") != "0"
    return not grows or "ACCRUE_ALWAYS" in found.get("PriorityFlags", "")


def read_nodes(commands: Commands) -> dict[str, list[Node]] | None:
    """Read the nodes by partition; None if that is not possible now."""
    text = commands.ask("sinfo", "--noheader", "--all", "--Node", "--format", _NODE_FORMAT)
    found: dict[str, list[Node]] = {}
    try:
        for line in (text or "").splitlines():
            name, partition, state, cpus, memory_mib, gres, weight, features = line.split("|", 7)
            kinds: Counter[str] = Counter()
            for kind, number in _GPUS.findall(gres):
                kinds[kind] += int(number)
            node = Node(
                name=name,
                works=state.rstrip(_SIGNS) in _WORKING,
                cpus=whole(cpus),
                memory_bytes=whole(memory_mib, MOST_BYTES // 2**20) * 2**20,
                gpus=kinds.total(),
                features=tuple(features.split(",")) if features != "(null)" else (),
                drains=state.startswith("drain"),
                gpu_types=dict(kinds),
                weight=whole(weight, 2**32),
            )
            found.setdefault(partition, []).append(node)
    except ValueError:
        return None
    return found or None


def read_reservations(commands: Commands) -> list[Reservation] | None:
    """Read the reservations of whole nodes; None if that is not possible now."""
    text = commands.ask("scontrol", "show", "reservation", "--oneliner")
    if text is None:
        return None
    pairs = [pairs_of(line) for line in text.splitlines()]
    try:
        return [
            Reservation(
                name=pair["ReservationName"],
                starts_at=_at(pair["StartTime"]),
                ends_at=_at(pair["EndTime"]),
                nodes=expand(pair["Nodes"]),
                closes=bool({"MAINT", "ALL_NODES", "PART_NODES"}.intersection(pair["Flags"].split(","))),
            )
            for pair in pairs
            if "ReservationName" in pair
        ]
    except (KeyError, ValueError):
        return None


def partition_of(line: str, nodes: dict[str, list[Node]]) -> Partition:
    """Parse a line of `scontrol show partition --oneliner`."""
    pair = pairs_of(line.rstrip("\n"))
    name = pair["PartitionName"]
    memory_mib = _bound(pair.get("MaxMemPerNode", "UNLIMITED"))
    return Partition(
        name=name,
        is_default=pair.get("Default") == "YES",
        is_up=pair["State"] == "UP" and pair.get("RootOnly") != "YES" and pair.get("ReqResv") != "YES",
        nodes=tuple(nodes.get(name, ())),
        max_time_s=limit_of(pair["MaxTime"]),
        max_nodes=_bound(pair.get("MaxNodes", "UNLIMITED")),
        min_nodes=int(_bound(pair.get("MinNodes", "0")) or 0),
        max_cpus_per_node=_bound(pair.get("MaxCPUsPerNode", "UNLIMITED")),
        max_memory_bytes_per_node=None if memory_mib is None else memory_mib * 2**20,
        tier=whole(pair.get("PriorityTier", "1"), 2**32),
        preempt_mode=pair.get("PreemptMode", "OFF"),
        exclusive=pair.get("OverSubscribe", "NO").startswith("EXCLUSIVE"),
        qos=None if pair.get("QoS", "N/A") == "N/A" else pair["QoS"],
        allowed=_names(pair, "Allow"),
        denied=_names(pair, "Deny"),
        billing_weights=pair.get("TRESBillingWeights", "").replace("(null)", ""),
    )


def _names(pair: dict[str, str], word: str) -> dict[str, tuple[str, ...]]:
    return {
        kind.lower(): tuple(pair[f"{word}{kind}"].split(","))
        for kind in ("Accounts", "Qos", "Groups")
        if pair.get(f"{word}{kind}", "ALL") not in ("ALL", "N/A", "(null)")
    }


def _at(text: str) -> float:
    at = moment(text)
    if at is None:
        raise ValueError(f"{text[:30]!r} is not a time")
    return at


def _bound(text: str) -> int | None:
    return None if text in ("UNLIMITED", "INFINITE", "N/A") else whole(text, MOST_BYTES // 2**20)
