"""The arguments of sbatch, and what its answer proves."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Literal, NamedTuple

from headway.clusters.slurm.commands import Answer, Commands, NoAnswerError
from headway.clusters.slurm.limits import has_features
from headway.clusters.slurm.marks import SCRIPT
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.script import check_tag
from headway.clusters.slurm.site_reading import Partition
from headway.model.resources import Resources

_NUMBER = re.compile(r"(\d{1,12})(?:;[\w.-]*)?", re.ASCII)
# sbatch's errors after which the same request can never succeed. After any other error a job may exist.
_FOR_GOOD = re.compile(
    "invalid (partition|account|qos|feature|generic resource|wckey|license|constraint)"
    "|requested (node configuration|partition configuration|reservation) (is )?(not available|invalid|not permitted)"
    "|requested time limit is invalid|node count specification invalid|memory specification can not be satisfied"
    "|more processors requested than permitted|group not permitted|permission denied|unrecognized option"
    "|invalid generic resource|reservation .* not usable",
    re.IGNORECASE,
)


class Reply(NamedTuple):
    """The outcome of a submission: accepted, refused for good, or lost, which means unknown."""

    kind: Literal["accepted", "refused", "lost"]
    job_id: int | None = None
    words: str = ""


def resource_arguments(asked: Resources, partition: Partition, options: SlurmOptions) -> list[str]:
    """A request as arguments of sbatch: for whole nodes, or for the requested part of each."""
    cpus = max(1, math.ceil(asked.cores))
    memory_mib = max(1, math.ceil(asked.memory_bytes / 2**20))
    arguments = [
        f"--partition={partition.name}",
        f"--nodes={asked.nodes}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={cpus}",
        f"--time={_minutes(asked.walltime_s, partition)}",
    ]
    if options.whole_nodes:
        nodes = [node for node in partition.nodes if has_features(node, options.constraint)]
        enough = (
            all(node.memory_bytes >= asked.memory_bytes for node in nodes) and not partition.max_memory_bytes_per_node
        )
        arguments += ["--exclusive", f"--mem={0 if enough else memory_mib}M"]  # 0: all memory of a node
    elif asked.memory_bytes:
        arguments.append(f"--mem={memory_mib}M")
    if asked.gpus and not any(flag.startswith(("--gres=", "--gpus-per-node=")) for flag in options.flags):
        arguments.append(f"--gpus-per-node={asked.gpus}")
    return arguments


def _minutes(walltime_s: float | None, partition: Partition) -> str:
    """A time limit in Slurm's unit, minutes; without one of its own a job gets the partition's."""
    longest = partition.max_time_s if walltime_s is None else walltime_s
    return "UNLIMITED" if longest is None else str(max(1, math.ceil(longest / 60)))


def sbatch_arguments(
    tag: str, folder: Path, asked: Resources, partition: Partition, options: SlurmOptions, after: int | None
) -> list[str]:
    """The whole sbatch command."""
    dependency = [f"--dependency=afterany:{after}", "--kill-on-invalid-dep=yes"] if after is not None else []
    return [
        "sbatch",
        "--parsable",
        f"--job-name={check_tag(tag)}",
        *resource_arguments(asked, partition, options),
        *options.arguments(),
        *dependency,
        "--requeue" if options.requeue else "--no-requeue",
        "--no-kill",  # if one node fails, the others go on
        "--export=ALL",
        f"--chdir={folder}",
        "--output=/dev/null",  # the script opens its log: Slurm would replace %j and the like in a folder's name
        str(folder / SCRIPT),
    ]


def send(commands: Commands, arguments: list[str]) -> Reply:
    """Call sbatch. No answer, or an error, does not prove that there is no job."""
    try:
        answer = commands.act(*arguments)
    except NoAnswerError as error:
        return Reply("lost", words=str(error))
    found = _NUMBER.fullmatch(answer.text.strip())
    if answer.code == 0 and found and int(found[1]) > 0:
        return Reply("accepted", int(found[1]))
    if words := refusal(answer):
        return Reply("refused", words=words)
    return Reply(
        "lost", words=answer.complaint.splitlines()[-1] if answer.complaint else "sbatch's answer cannot be understood"
    )


def refusal(answer: Answer) -> str:
    """Say why the same request can never succeed, in sbatch's words; nothing if it may succeed."""
    said = _FOR_GOOD.search(answer.complaint) if answer.code != 0 else None
    line = next((line for line in answer.complaint.splitlines() if said and said[0] in line), "")
    return line.removeprefix("sbatch: error: ")
