"""The contract of a cluster, and `JobNews`: what is known of a job."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from headway.model.devices import GpuType
from headway.model.job import JobPhase, JobRequest, Wish
from headway.model.outcome import Ending
from headway.model.records import QueueRead
from headway.model.resources import Resources


class JobNews(Struct, frozen=True, omit_defaults=True):
    """A job's phase, when and where it started, and how it ended. Times are seconds since the epoch."""

    phase: JobPhase
    job_id: int | None = None
    started_at: float | None = None
    nodes: tuple[str, ...] = ()  # as the batch system names them
    ended_at: float | None = None
    ending: Ending | None = None  # None: it has not ended, or the reason is not known
    message: str = ""  # one sentence for users
    restarts: int = 0  # how often the batch system has restarted it
    planned_at: float | None = None  # when the batch system itself plans to start it
    submitted_at: float | None = None
    held: bool = False  # it waits until somebody releases it
    confirmed_at: float | None = None  # when the batch system itself last said that it is running
    cut: bool = False  # its walltime was shortened while it ran
    walltime_s: float | None = None  # from its start to its end, if that is not what it asked for any more
    suspended: bool = False  # its processes are stopped until the batch system resumes it
    refused: bool = False  # the batch system will never run it, nor another one like it
    partition: str = ""
    why_there: str = ""  # why it is in that partition
    billing: float | None = None  # billing units that it holds while it runs; None: the site has no prices


class Cluster(ABC):
    """Grants allocations. A driver calls it and passes its answers on; it calls neither driver nor engine.

    Jobs are known by tags that the engine made. Submitting a tag that exists changes nothing, so that a manager that
    died between submitting and hearing the answer may simply submit again.
    """

    name: str
    queues: bool = False  # whether jobs wait in a queue, and there may be many
    shrink_every_s: float = 30.0  # at least, between two calls of `shrink` for the same job
    lends: bool = False  # whether tasks may use memory and disk that no other task holds
    look_every_s: float = 0.5  # how often a driver should ask for news

    @property
    def shares(self) -> bool:
        """Whether jobs may ask for a share of a node; `snapshot` counts cores then."""
        return False

    @property
    def admits(self) -> bool:
        """Whether a job that depends on another keeps its rank in the queue, and may be let go early (`admit`)."""
        return False

    @property
    def shrinks(self) -> bool:
        """Whether a running job may give back some of its nodes."""
        return False

    @property
    def shrinks_once(self) -> bool:
        """Whether a job may do so only once."""
        return False

    @property
    def preempts(self) -> bool:
        """Whether other jobs may take the nodes of some jobs away; requests then say how much work that would cost."""
        return False

    def called(self) -> str:
        """The name of this machine or cluster: what was learned here is not used elsewhere."""
        return socket.gethostname()

    @abstractmethod
    def limits(self) -> Resources:
        """The most that one task can get on the nodes that jobs usually ask for."""

    def larger_nodes(self) -> tuple[Resources, ...]:
        """The most that a task can get on other kinds of nodes, which have more of something; the smallest first."""
        return ()

    def most_jobs(self) -> int | None:
        """How many jobs the user may have in the queue; None if no limit is known."""
        return None

    def wishing(self, wish: Wish) -> Cluster | None:
        """The cluster as jobs with a wish see it, for its limits and its queue; None if wishes have no effect."""
        return None

    def gpu_types(self) -> list[GpuType]:
        """The types of GPUs that jobs may ask for by name and whose memory is known."""
        return []

    def remarks(self) -> list[str]:
        """Sentences about this user's settings here, for the beginning of a run."""
        return []

    @property
    def calls(self) -> dict[str, int]:
        """How often each of the batch system's commands was called."""
        return {}

    @abstractmethod
    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        """Submit a job under this tag; if `after` is given, it must not start before the job of that tag has ended."""

    def admit(self, tag: str) -> None:
        """Let a waiting job start before the job that it depends on has ended; only where `admits`.

        This changes nothing for a job that was admitted before, runs or is over.
        """
        raise NotImplementedError

    def on_node(self, request: JobRequest, tag: str, node: str) -> Resources:
        """What a job has on one of its nodes, as the batch system names it; whole nodes may have more than it asked."""
        return request.per_node.replace(nodes=1, walltime_s=None)

    def script_node(self, tag: str) -> str:
        """The node on which a running job's own script runs; the job cannot give it back. Empty: there is none."""
        return ""

    def shrink(self, tag: str, nodes: Collection[str], left: JobRequest) -> str:
        """Give back nodes of a running job, and go on with `left`; only where `shrinks`.

        `nodes` may contain some that the job has given back before: this changes nothing, as for a job that is over.
        Return the words with which the batch system refuses to do so now and later; nothing if it is done.
        """
        raise NotImplementedError

    def avoid(self, nodes: Mapping[str, float]) -> None:
        """Ask for jobs without these nodes, each until a time, as far as there are enough others."""

    @abstractmethod
    def find(self, tags: Iterable[str]) -> set[str]:
        """Those of `tags` that wait, run, or may exist."""

    @abstractmethod
    def poll(self, tags: Iterable[str]) -> dict[str, JobPhase]:
        """The phase of each job; UNKNOWN if the cluster cannot say now."""

    def news(self, tags: Iterable[str]) -> dict[str, JobNews]:
        """All that is known of each job."""
        return {tag: JobNews(phase) for tag, phase in self.poll(tags).items()}

    def ask_now(self) -> None:
        """Ask the batch system with the next call of `news`, although it was asked lately: much depends on it."""

    def snapshot(self) -> QueueRead:
        """Read the queue, for predicting waits; only where jobs queue."""
        raise NotImplementedError

    def has_left(self, tag: str) -> bool:
        """Whether a job says by itself that nothing of it runs any more; the batch system is not asked."""
        return False

    @abstractmethod
    def cancel(self, tags: Iterable[str]) -> None:
        """Cancel jobs; when this returns, nothing of them runs any more."""
