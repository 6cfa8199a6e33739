"""The options of jobs on Slurm that a user may choose, and their allowed values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Literal

from msgspec import Struct, ValidationError, convert, structs

from headway.model.errors import InputError
from headway.model.job import CONSTRAINT, JOB_NAME, Wish
from headway.model.units import format_duration

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
# Variables of sbatch that say what an option of ours says; others become flags if such a flag is allowed.
_VARIABLES = {
    **{f"SBATCH_{name.upper()}": name for name in ("partition", "account", "qos", "constraint", "reservation")},
    "SBATCH_CLUSTERS": "clusters",
    "SBATCH_REQUEUE": "requeue",
    "SBATCH_NO_REQUEUE": "requeue",
    "SBATCH_EXCLUSIVE": "nodes",
}
_LISTS = ("preemptible", "prefer_partitions", "avoid_partitions")
_MAY_BE_EMPTY = (*_LISTS, "gpu_memory")
MANAGERS = 2  # jobs of a run that is managed in a job: its manager, and the next one
_HARMLESS = ("SBATCH_DEBUG", "SBATCH_COLOR")


class SlurmOptions(Struct, frozen=True, omit_defaults=True):
    """How jobs are submitted, and how often Slurm is asked."""

    partition: str | None = None  # several with commas; None: of all the one that fits and starts soonest
    account: str | None = None  # several with commas, of which each job gets the one that suits it; also QOS
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    clusters: str | None = None  # another cluster than the one that Slurm's commands ask by themselves
    preemptible: str | None = None  # partitions, with commas, whose jobs others may preempt: used where that is cheap
    prefer_partitions: str | None = None  # with commas; others only for jobs that none of these accepts
    avoid_partitions: str | None = None  # with commas; only for jobs that name them
    gpu_type: str | None = None  # of all GPUs that are asked for
    gpu_memory: str | None = None  # bytes by type of GPU, as a100=40000000000,h200=141000000000
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
    managed_in_job: bool = False  # the run's manager is in a job: of the jobs that the user may have, it needs some

    def check(self) -> None:
        """Raise an InputError if a value cannot be passed to Slurm."""
        several = ("partition", "account", "qos", *_LISTS)
        for name in (*several, "reservation", "clusters"):
            value = getattr(self, name)
            names = [] if value is None else value.split(",") if name in several else [value]
            if not all(map(JOB_NAME.fullmatch, names)):
                where = name.replace("_", "-") if "partitions" in name else f"--{name}"  # a setting, or an option
                raise InputError(f"{value!r} cannot be a name in Slurm", where=where)
        liked, avoided = (
            set((text or "").split(",")) - {""} for text in (self.prefer_partitions, self.avoid_partitions)
        )
        if liked & avoided:
            raise InputError(
                f"partition {min(liked & avoided)} is to be both preferred and avoided",
                where="prefer-partitions and avoid-partitions",
                todo="leave it out of one of them",
            )
        if self.constraint is not None and not CONSTRAINT.fullmatch(self.constraint):
            raise InputError(f"constraint is {self.constraint!r}, which is not a combination of features")
        gpu_memory_of(self.gpu_memory)
        for flag in self.flags:
            _check_flag(flag)
        for name in ("submissions", "most_jobs"):
            if not 1 <= getattr(self, name) <= 100_000:
                raise InputError(f"{name} is {getattr(self, name)!r}, not a number from 1 on")
        for name in ("interval_s", "timeout_s", "open_s", "resubmit_s", "cancel_patience_s"):
            if not 0 <= getattr(self, name) <= 86400:
                raise InputError(f"{name} is {getattr(self, name)!r}, not a time of at most a day")

    def wishing(self, wish: Wish | None) -> SlurmOptions:
        """The options of jobs for tasks with a wish, which outranks what is said of all jobs."""
        if wish is None:
            return self
        stated: dict[str, str | None] = {name.replace("-", "_"): value for name, value in wish.stated().items()}
        if wish.partition is not None and self.preemptible:  # no others, whatever is allowed for all jobs
            both = [name for name in self.preemptible.split(",") if name in wish.partition.split(",")]
            stated["preemptible"] = ",".join(both) or None
        return structs.replace(self, **stated)

    def variants(self) -> list[SlurmOptions]:
        """The same with one account and one QOS each, in the order in which the user names them."""
        accounts, qos = ((text.split(",") if text else [None]) for text in (self.account, self.qos))
        return [structs.replace(self, account=one, qos=other) for one, other in product(accounts, qos)]

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
            for name in ("account", "qos", "constraint", "reservation", "clusters")
            if (value := getattr(self, name)) is not None
        ]
        return [*chosen, *self.flags]


def gpu_memory_of(text: str | None) -> dict[str, int]:
    """Read the bytes of memory of types of GPUs.

    >>> gpu_memory_of("a100=40000000000,h200=141000000000")
    {'a100': 40000000000, 'h200': 141000000000}
    """
    pairs = [part.partition("=") for part in (text or "").split(",") if part]
    if not all(JOB_NAME.fullmatch(name) and size.isdecimal() for name, _, size in pairs):
        raise InputError(f"{text!r} does not say the memory of types of GPUs", where="gpu-memory")
    return {name: int(size) for name, _, size in pairs}


def options_of(batch: Mapping[str, str]) -> SlurmOptions:
    """Return the options that a run's settings for its batch system state; flags are separated by spaces."""
    flags = tuple(batch.get("flags", "").split())
    named = {
        name: value for name, value in batch.items() if value or name not in _MAY_BE_EMPTY
    }  # an empty list names none
    try:
        options = convert({**named, "flags": flags}, SlurmOptions, strict=False)
    except ValidationError as error:
        raise InputError(f"Slurm's options cannot be read: {error}") from error
    options.check()
    return options


def sbatch_variables(environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Read what variables of sbatch ask for, by the names of our options, and the variables that have no effect.

    Headway decides on the size, the time and the files of its jobs.

    >>> sbatch_variables({"SBATCH_ACCOUNT": "lab", "SBATCH_GRES": "gpu:1", "SBATCH_TIMELIMIT": "10"})
    ({'account': 'lab', 'flags': '--gres=gpu:1'}, ['SBATCH_TIMELIMIT'])
    """
    chosen: dict[str, str] = {}
    flags, ignored = [], []
    for variable, value in environment.items():
        name = variable.removeprefix("SBATCH_").lower().replace("_", "-")
        if variable == "SBATCH_EXCLUSIVE" and value not in ("", "exclusive", "yes"):
            ignored.append(variable)
        elif (option := _VARIABLES.get(variable)) is not None:
            stated = {"requeue": str(variable != "SBATCH_NO_REQUEUE").lower(), "nodes": "whole"}
            chosen[option] = stated.get(option, value)
        elif variable.startswith("SBATCH_") and variable not in _HARMLESS:
            flag = f"--{name}" if name in _WITHOUT_VALUE else f"--{name}={value}"
            try:
                _check_flag(flag)
                flags.append(flag)
            except InputError:
                ignored.append(variable)
    return chosen | ({"flags": " ".join(flags)} if flags else {}), sorted(ignored)


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
