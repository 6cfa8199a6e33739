"""What `scontrol show job` says beyond squeue: how jobs may be spread over nodes, and what they have on each."""

from __future__ import annotations

import re

from msgspec import Struct

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.hostlist import expand
from headway.clusters.slurm.pairs import pairs_of
from headway.clusters.slurm.squeue import number_of_job, whole

_PART = re.compile(r" Nodes=(\S+) CPU_IDs=([\d,-]+) Mem=(\d{1,12})", re.ASCII)
_TRES_NODES = re.compile(r"\bnode=(\d{1,6})", re.ASCII)
_NONE = ("(null)", "")


class JobDetails(Struct, frozen=True, gc=False):
    """What a job asks for of its nodes; of a running one, the cores and bytes that it has on each."""

    nodes: int  # at least
    most_nodes: int  # zero: no limit
    tasks: int
    cpus_per_task: int
    cpus_each: int  # on each node at least
    memory_per_core: bool  # whether it asks for memory by core, not by node
    at_once: int  # members of an array that may run at the same time; zero: no limit
    reservation: str
    features: str
    wanted: tuple[str, ...]
    excluded: tuple[str, ...]
    parts: dict[str, tuple[int, int]]


def read_details(commands: Commands) -> dict[int, JobDetails]:
    """Read the details of all jobs by id; the answer is large, so it is asked for seldom."""
    return details_of(commands.ask("scontrol", "show", "job", "--details", "--oneliner") or "")


def details_of(text: str) -> dict[int, JobDetails]:
    """Parse the details of jobs; lines that cannot be parsed are left out."""
    found: dict[int, JobDetails] = {}
    for line in text.splitlines():
        try:
            number, details = _details(line)
        except (KeyError, ValueError):
            continue
        found[number] = details
    return found


def _details(line: str) -> tuple[int, JobDetails]:
    # Names and paths of jobs may contain anything; Slurm writes what is asked for between them.
    begin, end = line.index(" JobState="), line.rfind(" Command=")
    pair = pairs_of(line[begin : end if end > begin else None])
    least, _, most = pair["NumNodes"].partition("-")
    asked = _TRES_NODES.search(pair.get("TRES", "") + pair.get("ReqTRES", ""))
    throttle = re.search(r" ArrayTaskThrottle=(\d{1,7})", line[:begin], re.ASCII)
    parts: dict[str, tuple[int, int]] = {}
    for names, cpus, memory_mib in _PART.findall(line):
        parts |= dict.fromkeys(expand(names), (len(expand(f"[{cpus}]")), int(memory_mib) * 2**20))
    return number_of_job(line[len("JobId=") : line.index(" ")]), JobDetails(
        nodes=int(asked[1]) if asked else whole(least),
        most_nodes=whole(most or "0"),
        tasks=whole(pair["NumTasks"]) if pair["NumTasks"].isdecimal() else 1,
        cpus_per_task=whole(pair["CPUs/Task"]) if pair["CPUs/Task"].isdecimal() else 1,
        cpus_each=whole(pair["MinCPUsNode"]),
        memory_per_core="MinMemoryCPU" in pair,
        at_once=int(throttle[1]) if throttle else 0,
        reservation=_known(pair.get("Reservation", "")),
        features=_known(pair["Features"]),
        wanted=expand(pair["ReqNodeList"]),
        excluded=expand(pair["ExcNodeList"]),
        parts=parts,
    )


def _known(text: str) -> str:
    return "" if text in _NONE else text
