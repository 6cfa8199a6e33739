"""Settings of a test's Slurm, and the text of the configuration files made from them."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Enforcement = Literal["cgroup", "over-memory-kill", "none"]


@dataclass(frozen=True)
class Partition:
    """A partition on the nodes from number `first` to `nodes` (None: the last), with its limits."""

    name: str
    nodes: int | None = None
    max_time_min: int | None = None
    max_nodes: int | None = None
    default_time_min: int = 10
    priority_tier: int = 1
    first: int = 1
    more: str = ""  # further settings as in slurm.conf


@dataclass(frozen=True)
class Configuration:
    """Settings of one Slurm. The first partition is the default one; limits on a user's jobs need accounting.

    The last `fat_nodes` nodes have four times the memory of the others.
    """

    nodes: int = 8
    cpus: int = 8
    memory_mb: int = 16_000
    default_memory_per_cpu_mb: int = 500
    partitions: tuple[Partition, ...] = (Partition("main", max_time_min=1440), Partition("debug", 1, 10, 1, 5, 10))
    accounting: bool = False
    enforcement: Enforcement = "over-memory-kill"
    min_job_age_s: int = 300
    priority: Literal["multifactor", "basic"] = "multifactor"
    max_running_per_user: int | None = None
    max_submitted_per_user: int | None = None
    message_timeout_s: int = 5  # Slurm notices a dead node after about twice this time plus 5 s
    speed: int = 1
    fat_nodes: int = 0
    enforce: str = "limits"  # AccountingStorageEnforce
    job_submit: str = ""  # the text of job_submit.lua, which may refuse and change jobs
    more: tuple[str, ...] = ()  # further lines of slurm.conf
    # What some nodes have instead, by number and as in slurm.conf; with `GresTypes=gpu` in `more` also `Gres`.
    unlike: Mapping[int, Mapping[str, object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.max_running_per_user or self.max_submitted_per_user) and not self.accounting:
            raise ValueError("limits on a user's jobs are kept by slurmdbd: ask for accounting=True too")


@dataclass(frozen=True)
class Ports:
    """The loopback ports of a Slurm: one for the controller, one for slurmdbd, and one per node."""

    controller: int
    database: int
    nodes: tuple[int, ...]


def our_name() -> str:
    """Return the name of the current user, regardless of the environment variables."""
    return pwd.getpwuid(os.geteuid()).pw_name


def cgroup_obstacle() -> str | None:
    """Return why cgroups cannot limit jobs on this machine, or None if they can."""
    if os.geteuid() != 0:
        return "limiting jobs by cgroups needs root"
    if not os.access("/sys/fs/cgroup/memory/memory.limit_in_bytes", os.W_OK):
        return "limiting jobs by cgroups needs a writable cgroup v1 memory controller (/sys/fs/cgroup/memory)"
    return None


def node_names(configuration: Configuration, ports: Ports) -> tuple[str, ...]:
    """Return n1, n2, …, or with cgroups names that are unique to this Slurm.

    Slurm names cgroups after nodes, and the cgroups of all Slurms on the machine share one directory.
    """
    prefix = f"c{ports.controller}n" if configuration.enforcement == "cgroup" else "n"
    return tuple(f"{prefix}{number}" for number in range(1, configuration.nodes + 1))


def slurm_conf(configuration: Configuration, root: Path, ports: Ports) -> str:
    """Return the text of slurm.conf.

    With a fast clock, Slurm's seconds are short, so timeouts for real work on the machine are multiplied by the speed.
    """
    c, fast = configuration, configuration.speed > 1
    lines = {
        "ClusterName": "lab",
        "SlurmctldHost": f"{_host()}(127.0.0.1)",
        "SlurmctldPort": ports.controller,
        "SlurmUser": our_name(),
        "SlurmdUser": our_name(),
        "AuthType": "auth/munge",
        # Slurm requeues a job of a lost node only after its old credential has expired, by default after 2 minutes.
        "AuthInfo": f"socket={root}/run/munge.socket,cred_expire={30 * c.speed}",
        "CredType": "cred/munge",
        "StateSaveLocation": f"{root}/state",
        "SlurmdSpoolDir": f"{root}/spool/%n",
        "SlurmctldPidFile": f"{root}/run/slurmctld.pid",
        "SlurmdPidFile": f"{root}/run/slurmd.%n.pid",
        "SlurmctldLogFile": f"{root}/log/slurmctld.log",
        "SlurmdLogFile": f"{root}/log/slurmd.%n.log",
        "MpiDefault": "none",
        "SwitchType": "switch/none",
        **_enforcement(c),
        "SlurmctldTimeout": 30 * c.speed if fast else 10,
        "SlurmdTimeout": 30 * c.speed if fast else 10,
        "MessageTimeout": min(99, c.message_timeout_s * c.speed),  # 99 is the most that Slurm accepts
        "TCPTimeout": 2 * c.speed,
        "BatchStartTimeout": 20 * c.speed,
        "InactiveLimit": 0,
        "MinJobAge": c.min_job_age_s,
        "KillWait": 3 * c.speed,
        "ReturnToService": 2,
        "CompleteWait": 0,
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": f"bf_interval={c.speed},bf_resolution={60 if fast else 1},sched_interval={2 * c.speed},"
        "sched_min_interval=0,batch_sched_delay=0,bf_continue,bf_window=1440,bf_max_job_test=1000",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core_Memory",
        "PriorityType": f"priority/{c.priority}",
        "PriorityWeightJobSize": 100,
        "MaxJobCount": 20_000,
        "JobAcctGatherFrequency": f"task={c.speed}",
        **_accounting(c, root, ports),
        "SlurmdParameters": "config_overrides",  # use the configured CPUs and memory, not the machine's
        "DefMemPerCPU": c.default_memory_per_cpu_mb,
    }
    names = node_names(c, ports)
    nodes = zip(names, ports.nodes, strict=True)
    return "\n".join(
        [f"{key}={value}" for key, value in lines.items()]
        + (["JobSubmitPlugins=lua"] if c.job_submit else [])
        + [f"RebootProgram={root}/etc/reboot", *c.more]
        + [_node(name, port, c, number) for number, (name, port) in enumerate(nodes, 1)]
        + [_partition(one, names, default=index == 0) for index, one in enumerate(c.partitions)]
        + [""]
    )


CGROUP_CONF = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainRAMSpace=yes\nConstrainCores=no\n"


def slurmdbd_conf(root: Path, ports: Ports) -> str:
    lines = {
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={root}/run/munge.socket",
        "DbdHost": "localhost",
        "DbdPort": ports.database,
        "SlurmUser": our_name(),
        "LogFile": f"{root}/log/slurmdbd.log",
        "PidFile": f"{root}/run/slurmdbd.pid",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "localhost",
        "StorageUser": "root",
        "StorageLoc": "slurm_acct_db",
        "CommitDelay": 1,
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def _enforcement(configuration: Configuration) -> dict[str, str]:
    if configuration.enforcement == "cgroup":
        return {
            "ProctrackType": "proctrack/cgroup",
            "TaskPlugin": "task/cgroup",
            "JobAcctGatherType": "jobacct_gather/cgroup",
        }
    plain = {
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/linux",
    }
    if configuration.enforcement == "over-memory-kill":
        plain["JobAcctGatherParams"] = "OverMemoryKill"
    return plain


def _accounting(configuration: Configuration, root: Path, ports: Ports) -> dict[str, object]:
    if not configuration.accounting:
        return {"AccountingStorageType": "accounting_storage/none"}
    return {
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": "localhost",
        "AccountingStoragePort": ports.database,
        "AccountingStoragePass": f"{root}/run/munge.socket",
        "AccountingStoreFlags": "job_comment",
        "PriorityWeightAge": 1000,
        "AccountingStorageEnforce": configuration.enforce,
    }


def _node(name: str, port: int, configuration: Configuration, number: int) -> str:
    is_fat = number > configuration.nodes - configuration.fat_nodes
    has = {"CPUs": configuration.cpus, "RealMemory": configuration.memory_mb * (4 if is_fat else 1)}
    settings = " ".join(f"{key}={value}" for key, value in {**has, **configuration.unlike.get(number, {})}.items())
    return f"NodeName={name} NodeHostname={_host()} NodeAddr=127.0.0.1 Port={port} {settings} TmpDisk=0 State=UNKNOWN"


def gres_conf(configuration: Configuration, names: tuple[str, ...]) -> str:
    """Return the text of gres.conf. Slurm wants a file for each GPU; it only looks whether there is one."""
    lines = []
    for number, settings in configuration.unlike.items():
        if "Gres" in settings:
            _, kind, count = str(settings["Gres"]).split(":")
            files = ",".join(f"/dev/{name}" for name in ("null", "zero", "full", "random")[: int(count)])
            lines.append(f"NodeName={names[number - 1]} Name=gpu Type={kind} File={files}\n")
    return "".join(lines)


def _partition(partition: Partition, names: tuple[str, ...], *, default: bool) -> str:
    nodes = ",".join(names[partition.first - 1 : partition.nodes])
    return (
        f"PartitionName={partition.name} Nodes={nodes} Default={'YES' if default else 'NO'}"
        f" MaxTime={partition.max_time_min or 'UNLIMITED'} MaxNodes={partition.max_nodes or 'UNLIMITED'}"
        f" DefaultTime={partition.default_time_min} PriorityTier={partition.priority_tier} State=UP {partition.more}"
    )


def _host() -> str:
    return socket.gethostname().split(".")[0]
