"""The options of jobs on Slurm that a user may choose, and their allowed values."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from headway.model.errors import InputError
from headway.model.units import format_duration

# A name of a partition, account, …; it must not look like an option.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,127}", re.ASCII)
# Not a list of partitions: sbatch accepts one, but the limits of the job would be unknown.
_CONSTRAINT = re.compile(r"[A-Za-z0-9_\[(][A-Za-z0-9_.,:&|*()\[\]@=+-]{0,255}", re.ASCII)
_VALUE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:/=@+\[\]-]{0,255}", re.ASCII)
# Flags that change neither what Headway requests nor what it knows about its jobs.
ALLOWED_FLAGS = frozenset(
    (
        "acctg-freq", "batch", "bb", "comment", "core-spec", "cpu-freq", "exclude",
        "gpu-bind", "gpu-freq", "gpus-per-node", "gres", "hint", "licenses", "mail-type", "mail-user", "mcs-label",
        "network", "nice", "nodelist", "power", "prefer", "priority", "profile", "reboot", "sockets-per-node",
        "spread-job", "switches", "threads-per-core", "tmp", "use-min-nodes", "wckey",
    )
) - {"extra-node-info", "signal"}  # fmt: skip
_WITHOUT_VALUE = frozenset(("reboot", "spread-job", "use-min-nodes"))
_URGENT_S = 10.0
SELDOM = 5.0  # the longest interval between two looks at the run's own jobs, in usual ones


class SlurmOptions(Struct, frozen=True, omit_defaults=True):
    """How jobs are submitted, and how often Slurm is asked."""

    partition: str | None = None  # None: the one that fits and starts soonest
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    flags: tuple[str, ...] = ()  # further flags for sbatch, such as --gres=gpu:1
    nodes: Literal["whole", "shared"] | None = None  # None: shared where the site allows it
    requeue: bool = False  # whether Slurm may restart a job that lost its nodes
    interval_s: float = 60.0  # usually between two looks at the run's own jobs; see `looking`
    submissions: int = 10  # at most in a minute
    most_jobs: int = 50  # of a run, in the queue at a time
    timeout_s: float = 30.0  # of one Slurm command
    open_s: float = 600.0  # how long a job whose submission had no answer is looked for
    resubmit_s: float = 60.0  # and how long before it is submitted again
    cancel_patience_s: float = 120.0  # how long it may take until a cancelled job is gone

    def check(self) -> None:
        """Raise an InputError if a value cannot be passed to Slurm."""
        for name in ("partition", "account", "qos", "reservation"):
            value = getattr(self, name)
            if value is not None and not _NAME.fullmatch(value):
                raise InputError(f"{name} is {value!r}, which cannot be a name in Slurm")
        if self.constraint is not None and not _CONSTRAINT.fullmatch(self.constraint):
            raise InputError(f"constraint is {self.constraint!r}, which is not a combination of features")
        for flag in self.flags:
            _check_flag(flag)
        for name in ("submissions", "most_jobs"):
            if not 1 <= getattr(self, name) <= 100_000:
                raise InputError(f"{name} is {getattr(self, name)!r}, not a number from 1 on")
        for name in ("interval_s", "timeout_s", "open_s", "resubmit_s", "cancel_patience_s"):
            if not 0 <= getattr(self, name) <= 86400:
                raise InputError(f"{name} is {getattr(self, name)!r}, not a time of at most a day")

    @property
    def urgent_s(self) -> float:
        """Between two queries of one kind while something depends on the answer."""
        return min(self.interval_s, _URGENT_S)

    def manners(self) -> str:
        """Say how often Slurm is asked, and for how many jobs."""
        usual, urgent, seldom = (
            format_duration(it) for it in (self.interval_s, self.urgent_s, SELDOM * self.interval_s)
        )
        return (
            f"squeue every {usual} while jobs run, every {seldom} while they wait, every {urgent} while an answer "
            f"decides something; at most {self.submissions} submissions a minute, {self.most_jobs} jobs at a time"
        )

    def arguments(self) -> list[str]:
        """The user's choices as arguments of sbatch, without the partition."""
        chosen = [
            f"--{name}={value}"
            for name in ("account", "qos", "constraint", "reservation")
            if (value := getattr(self, name)) is not None
        ]
        return [*chosen, *self.flags]


def _check_flag(flag: str) -> None:
    name, mark, value = flag.removeprefix("--").partition("=")
    if not flag.startswith("--") or name not in ALLOWED_FLAGS:
        raise InputError(
            f"{flag[:100]!r} is not a flag that Headway passes to sbatch",
            todo=f"write it as --name=value; allowed names are {', '.join(sorted(ALLOWED_FLAGS))}",
        )
    if name in _WITHOUT_VALUE and not mark:
        return
    if not _VALUE.fullmatch(value):
        raise InputError(f"{flag[:100]!r} has a value that Headway does not pass to sbatch", todo="write --name=value")
