"""A batch job: its request for nodes or shares of them, what a task wishes of its jobs, and a job's phase."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Literal

from msgspec import Struct, structs

from headway.model.resources import Resources

Asks = Literal["whole", "shared"]  # what jobs ask for where a queue counts cores: whole nodes, or shares of them
# A name of a partition, account, …; it must not look like an option.
JOB_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,127}", re.ASCII)
CONSTRAINT = re.compile(r"[A-Za-z0-9_\[(][A-Za-z0-9_.,:&|*()\[\]@=+-]{0,255}", re.ASCII)


class Wish(Struct, frozen=True, omit_defaults=True):
    """What a task says of the jobs that it may run in. It runs in no job that was submitted without this.

    >>> str(Wish(partition="gpu", gpu_type="a100"))
    'partition gpu, gpu-type a100'
    """

    partition: str | None = None  # several with commas
    constraint: str | None = None
    account: str | None = None
    qos: str | None = None
    gpu_type: str | None = None

    def stated(self) -> dict[str, str]:
        """What is said, by the names of the keys in a workflow file."""
        given = ((name.replace("_", "-"), getattr(self, name)) for name in self.__struct_fields__)
        return {name: value for name, value in given if value is not None}

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.stated().items())


WISH_KEYS = tuple(name.replace("_", "-") for name in Wish.__struct_fields__)


def may_be_known(key: str, text: str) -> bool:
    """Whether Slurm may know what a wish says under one of its keys.

    >>> may_be_known("partition", "long,gpu"), may_be_known("account", "--uid=0")
    (True, False)
    """
    names = text.split(",") if key == "partition" else [text]
    return all(map((CONSTRAINT if key == "constraint" else JOB_NAME).fullmatch, names))


class JobRequest(Struct, frozen=True, omit_defaults=True):
    """A request for `per_node.nodes` nodes with these resources on each, for `per_node.walltime_s`."""

    per_node: Resources
    places: int | None = None  # for so many tasks side by side, on a share of each node; None: whole nodes
    at_stake_s: float | None = None  # the most work that one of its tasks loses if the job is taken away; None: unknown
    wish: Wish | None = None  # of its tasks

    @property
    def width(self) -> int:
        """The size of the job in units: places, or whole nodes."""
        return self.places or self.per_node.nodes

    def without(self, nodes: int) -> JobRequest:
        """The request of a job that has given back so many nodes."""
        left = self.per_node.nodes - nodes
        places = None if self.places is None else self.places // self.per_node.nodes * left
        return structs.replace(self, per_node=self.per_node.replace(nodes=left), places=places)


class JobPhase(StrEnum):
    """The phase of a job. UNKNOWN does not mean ended: the scheduler gave no answer."""

    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"
    UNKNOWN = "unknown"


def eligible_at(
    submitted_at: float, after: str | None, after_ended_at: float | None, admitted_at: float | None
) -> float | None:
    """Return since when a job waits for nodes; None: not yet.

    A job that follows another (`after`) does not wait before that has ended, unless it was admitted earlier: then it
    waits since its admission.

    >>> eligible_at(0.0, None, None, None), eligible_at(0.0, "first", 60.0, None), eligible_at(0.0, "first", None, 40.0)
    (0.0, 60.0, 40.0)
    """
    if admitted_at is not None or after is None:
        return submitted_at if admitted_at is None else admitted_at
    return None if after_ended_at is None else max(submitted_at, after_ended_at)
