"""The queue that `simulate`, `waits` and `plan` simulate: its jobs, its scheduler, and both in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, structs, to_builtins

from headway.api.keywords import refuse
from headway.api.nodes import NodeSettings
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.kernels.batch.queue import Scheduling
    from headway.model.batch_log import BatchJobs
    from headway.simulation.batch_resources import Further

# The same words as in `kernels.batch.queue` and `simulation.batch_jobs`, which import numpy.
Backfill = Literal["fcfs", "easy", "conservative"]
Rules = Literal["pyss", "batsched"]
Requests = Literal["real", "accurate"]
Cancelled = Literal["drop", "full-request", "one-second"]
Processors = Literal["requested", "allocated"]
Overrun = Literal["extend", "kill"]
AtLeastOne = Annotated[int, Meta(ge=1)]
Seed = Annotated[int, Meta(ge=0)]

GENERATED = "lublin"
_GENERATED_MACHINE = 128
_ONLY_GENERATED = ("jobs", "load", "seed")
_ONLY_LOGS = ("processors", "cancelled", "overrun", "skip_bad", "machine_memory", "partitions")

_BACKFILL_WORDS = {
    "fcfs": "first come, first served",
    "easy": "EASY backfilling",
    "conservative": "conservative backfilling",
}
_NODES_WORDS = {"counts": "nodes only counted", "ids": "nodes by name", "contiguous": "neighbouring nodes"}
_CANCELLED_WORDS = {
    "full-request": "jobs that never ran take all they asked for",
    "one-second": "jobs that never ran take a second",
}


class QueueSettings(NodeSettings, frozen=True, kw_only=True):
    """How a queue schedules (`nodes` to `rules`), how a log is read, and what `lublin` generates."""

    backfill: Backfill = "easy"
    depth: AtLeastOne = 1  # with easy: waiting jobs that have a reservation
    rules: Rules = "pyss"
    requests: Requests = "real"
    cancelled: Cancelled = "drop"
    processors: Processors = "requested"
    overrun: Overrun = "extend"
    machine: AtLeastOne | None = None  # nodes; None: as the log says, lublin: 128
    skip_bad: bool = False
    jobs: AtLeastOne = 10_000  # lublin
    load: float = 0.8  # lublin
    seed: Seed = 0

    def policy(self) -> dict[str, Any]:
        """How the scheduler works, for the JSON document."""
        return {"backfill": self.backfill, "nodes": self.nodes, "rules": self.rules, "depth": self.depth}

    def scheduling(self) -> Scheduling:
        """How the scheduler works, for the kernel."""
        from headway.kernels.batch.queue import Scheduling

        return Scheduling(**self.policy() | ({} if self.asks() is None else {"nodes": "counts"}))

    def words(self, trace: str) -> list[str]:
        """How the queue is simulated, in words; most defaults are not mentioned."""
        requests = "requests estimated" if trace == GENERATED else "requests as logged"
        said = [
            _BACKFILL_WORDS[self.backfill] + (f" with {self.depth} reservations" if self.depth > 1 else ""),
            f"rules of {self.rules}",
            self.nodes_words() or _NODES_WORDS[self.nodes],
            requests if self.requests == "real" else "requests accurate",
            _CANCELLED_WORDS.get(self.cancelled, ""),
            "widths as allocated" if self.processors == "allocated" else "",
            "jobs end with their request" if self.overrun == "kill" else "",
        ]
        return [words for words in said if words]


class QueueJobs(Struct, frozen=True):
    """The jobs of a queue and where they come from."""

    jobs: BatchJobs
    header: dict[str, str]  # of the log
    source: dict[str, Any]  # for the JSON document


def check_queue_settings(trace: str, settings: QueueSettings, given: Collection[str], also: str = "") -> None:
    """Raise InputError for a setting that has no effect on this trace; the setting `also` always has one."""
    others = [name for name in given if name != also]
    if trace == GENERATED:
        refuse(_ONLY_LOGS, others, "logs, and lublin is none")
    else:
        refuse(_ONLY_GENERATED, others, "jobs that are made up (lublin), and this is a log")
    if "depth" in given and settings.backfill != "easy":
        raise InputError("only --backfill easy has a depth", where="--depth", todo="leave it out")


def jobs_from(trace: str, settings: QueueSettings, further: Further | None = None) -> QueueJobs:
    """Read the jobs of a log, or generate them if `trace` is `lublin`.

    `further`: what the machine has besides nodes, which limits the jobs of a log.
    """
    if trace == GENERATED:
        from headway.simulation.lublin import lublin

        machine = settings.machine or _GENERATED_MACHINE
        accurate = settings.requests == "accurate"
        jobs = lublin(
            machine, settings.jobs, settings.load, settings.seed, requests="accurate" if accurate else "estimated"
        )
        model = {"machine": machine, **{name: getattr(settings, name) for name in _ONLY_GENERATED}}
        return QueueJobs(jobs, {}, {"generated": model | {"requests": settings.requests}})
    from headway.formats.read_batch_log import read_batch_log
    from headway.simulation.batch_jobs import Choices, jobs_of

    asked = structs.asdict(settings)
    choices = Choices(**{name: asked[name] for name in Choices.__struct_fields__})
    log = read_batch_log(Path(trace), choices.skip_bad)
    source = {"choices": to_builtins(choices)} | ({"further": to_builtins(further)} if further else {})
    return QueueJobs(jobs_of(log, choices, trace, further), log.header, source)


@contextmanager
def when_slow(tell: Callable[[bool], None]) -> Iterator[None]:
    """Meanwhile, tell when number work takes long: whether it is being compiled; otherwise numba is missing."""
    from headway.kernels.compiled import listeners

    listeners.append(tell)
    try:
        yield
    finally:
        listeners.remove(tell)
