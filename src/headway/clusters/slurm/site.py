"""`SlurmSite`: the installation and its rules as one user sees them, cached so that Slurm is asked seldom."""

from __future__ import annotations

import contextlib
import copy
import grp
import os
import pwd
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any

from headway.clusters.slurm.commands import Commands, Paced, why_no_login_node
from headway.clusters.slurm.costs import Prices, billing, cheapest, has_price, later_s
from headway.clusters.slurm.job_folder import Asked
from headway.clusters.slurm.options import SELDOM, SlurmOptions
from headway.clusters.slurm.partitions import Choice, choose, closed_to, has_all_memory, home_limits, rooms, usable
from headway.clusters.slurm.preemption import allowed, loss_s, preemptible, would_lose_to_own
from headway.clusters.slurm.queue_reading import Reading
from headway.clusters.slurm.rights import Rights, Rows, UserLimits, read_rows, rights_of
from headway.clusters.slurm.site_reading import (
    Configuration,
    Partition,
    partition_of,
    read_nodes,
    read_settings,
)
from headway.clusters.slurm.squeue import Look, SeenJob, everybody
from headway.model.errors import SiteError
from headway.model.job import Wish
from headway.model.resources import HELD, Resources

_PATIENCE_S = 60.0  # about as long as a controller takes to restart
_LEAST_TRIES = 4  # a try may take as long as the time-out of a command
_LONGEST_PAUSE_S = 10.0
_SITE_INTERVAL_S = 3600.0  # partitions and limits change seldom


class UnreachableError(SiteError):
    """Slurm does not answer now, but may answer later."""


class SlurmSite:
    """Configuration, partitions, limits and queue, each read at most once in its interval."""

    def __init__(self, commands: Commands, options: SlurmOptions, clock: Callable[[], float] = time.time) -> None:
        urgent_s = options.urgent_s  # the queue and the nodes are read only when a plan or a submission depends on them
        self._clock = clock
        self._commands = commands
        self._variants = options.variants()
        self.options = self._variants[0]
        self._user = pwd.getpwuid(os.getuid()).pw_name
        self._groups = frozenset(_group_names())
        self._settings = Paced(lambda: read_settings(commands), _SITE_INTERVAL_S, urgent_s)
        self._queue = Paced(self._read_queue, urgent_s, urgent_s)
        self._nodes = Paced(lambda: read_nodes(commands), options.interval_s, urgent_s)
        self._rights = Paced(self._read_rights, _SITE_INTERVAL_S, urgent_s)
        self._known_rights: dict[SlurmOptions, tuple[Rows, Rights]] = {}
        self._drained = Paced(self._nodes.answer, SELDOM * options.interval_s, urgent_s)
        self._submitted: list[SeenJob] = []
        self._learned_most_jobs: int | None = None
        self._wishing: dict[Wish, SlurmSite] = {}
        self._by_options: dict[SlurmOptions, SlurmSite] = {}

    def wishing(self, wish: Wish | None) -> SlurmSite:
        """The site as jobs for tasks with a wish see it."""
        if wish is None:
            return self
        if wish not in self._wishing:
            self._wishing[wish] = self._with([one.wishing(wish) for one in self._variants])
        return self._wishing[wish]

    def _with(self, variants: Iterable[SlurmOptions]) -> SlurmSite:
        other = copy.copy(self)  # with the same readings
        other._variants = list(dict.fromkeys(variants))
        other.options = other._variants[0]
        return other

    def variants(self) -> list[SlurmSite]:
        """The site with each of the accounts and QOS that the user names."""
        for options in self._variants:
            if options not in self._by_options:
                self._by_options[options] = self._with([options])
        return [self._by_options[options] for options in self._variants]

    def configuration(self) -> Configuration | None:
        """How Slurm is configured; None if it has not answered yet."""
        settings = self._settings.answer()
        return settings.configuration if settings is not None else None

    def cluster(self) -> str:
        """The cluster's name; empty if it is not known."""
        configuration = self.configuration()
        return configuration.cluster if configuration is not None else ""

    def reading(self, since: float = 0.0) -> Reading:
        """The queue and the partitions, read after `since` if possible; an UnreachableError if there was no answer."""
        queue = self._queue.answer()
        if queue is not None and queue[0] <= since:
            queue = self._queue.answer(now=True)
        partitions = self.partitions()
        if queue is None:
            raise _silent()
        at, jobs = queue
        return Reading(at, [*jobs, *self._submitted_after(at)], partitions)

    def note_submitted(self, job: SeenJob) -> None:
        """Count a job that was just submitted as waiting until the queue is read again, which saves reading it now."""
        at, _ = self._queue.last or (0.0, [])
        self._submitted[:] = [*self._submitted_after(at), job]

    def note_cancelled(self, numbers: Collection[int | None]) -> None:
        """Do not count these jobs any more."""
        self._submitted[:] = [job for job in self._submitted if job.job_id not in numbers]

    def _submitted_after(self, at: float) -> list[SeenJob]:
        return [job for job in self._submitted if (job.submitted_at or 0.0) > at]

    def expire_queue(self) -> None:
        """Read the queue again for the next plan: it has changed in a way that was not planned."""
        self._queue.expire()
        self._nodes.expire()

    def drained(self) -> set[str]:
        """The nodes that are being drained, as far as is known; Slurm is seldom asked for this."""
        by_partition = self._drained.answer() or {}
        return {node.name for nodes in by_partition.values() for node in nodes if node.drains}

    def partitions(self) -> list[Partition]:
        """All partitions and their nodes; an UnreachableError if Slurm has not answered yet."""
        nodes, settings = self._nodes.answer(), self._settings.answer()
        if nodes is None or settings is None:
            raise _silent()
        return [partition_of(line, nodes) for line in settings.partitions]

    def wait_for_answer(self) -> None:
        """Ask what was never answered, several times if need be; the caller sees what is still missing."""
        if obstacle := why_no_login_node():
            raise SiteError(obstacle, todo="log in to one")
        questions: tuple[Paced[Any], ...] = (self._queue, self._nodes, self._settings, self._rights)
        deadline = time.monotonic() + _PATIENCE_S
        tries = 0
        while [one for one in questions if one.silent and one.answer(now=True) is None]:
            tries += 1
            if tries >= _LEAST_TRIES and time.monotonic() > deadline:
                return
            time.sleep(min(2.0**tries / 2, _LONGEST_PAUSE_S))

    def candidates(self) -> list[Partition]:
        """The partitions that jobs may go to, the home partition first."""
        partitions = self.partitions()
        found = usable(partitions, self.options, self._groups, self.rights())
        risky = preemptible(partitions, self.configuration())
        return allowed(found, partitions, risky, self.options, self.closed())

    def closed(self) -> set[str]:
        """The partitions that do not accept the user's jobs."""
        return closed_to(self.partitions(), self._groups, self.rights())

    def preemptible(self) -> set[str]:
        """The partitions in which others may preempt jobs, by Slurm's configuration or by the user's word."""
        named = (self.options.preemptible or "").split(",")
        return {name for name in (*preemptible(self.partitions(), self.configuration()), *named) if name}

    def home(self) -> tuple[Partition, Resources]:
        """The partition that plans are made for, and the largest request that it allows."""
        return home_limits(self.candidates(), self.user_limits(), self.options)

    def larger_nodes(self) -> list[Resources]:
        """The largest requests for nodes, here and in other partitions, with more of something than the usual ones."""
        _, usual = self.home()
        limits = self.user_limits()
        kinds = [
            kind
            for partition in self.candidates()
            for kind in rooms(partition, limits.get(partition.name, UserLimits()), self.options, now=True)
        ]
        larger = [most for most in kinds if set(most.excess(usual)) & set(HELD)]
        return sorted(larger, key=lambda most: (most.gpus, most.memory_bytes, most.cores))

    def whole_node(self, asked: Resources, partition: str, name: str) -> Resources:
        """What a job that has whole nodes has on one of them: more than it asked for if the node is larger."""
        settings, nodes = self._settings.last, self._nodes.last or {}
        lines = settings.partitions if settings is not None else []
        here = next((one for line in lines if (one := partition_of(line, nodes)).name == partition), None)
        node = next((node for node in here.nodes if node.name == name), None) if here else None
        if here is None or node is None:
            return asked
        cpus = min(node.cpus, here.max_cpus_per_node or node.cpus)
        memory_bytes = node.memory_bytes if has_all_memory(asked, here, self.options) else asked.memory_bytes
        return asked.replace(cores=max(cpus, asked.cores), memory_bytes=max(memory_bytes, asked.memory_bytes))

    def shares(self) -> bool:
        """Whether jobs ask for shares of nodes: the user's choice, or where the home partition allows it."""
        if self.options.nodes is not None:
            return self.options.nodes == "shared"
        configuration = self.configuration()
        return configuration is not None and configuration.divides_nodes and not self.home()[0].exclusive

    def place_for(self, asked: Asked, rate_of: Callable[[str], float]) -> tuple[SlurmSite, Choice]:
        """Choose the account, the QOS and the partition of a job, given how often jobs are preempted.

        A SiteError if Slurm would accept none of them.
        """
        if not self._variants[1:]:
            return self, self._partition_for(asked, rate_of, alone=True)
        found: list[tuple[SlurmSite, Choice]] = []
        refusals: list[SiteError] = []
        for site in self.variants():
            try:
                found.append((site, site._partition_for(asked, rate_of)))
            except UnreachableError:
                raise
            except SiteError as error:
                refusals.append(error)
        if not found:
            raise refusals[0]
        best = cheapest([(choice.ready_s, choice.cost) for _, choice in found], later_s(asked.per_node))
        site, choice = found[best]
        each = ", ".join(f"{one._charged()} {other.cost:.3g}" for one, other in found)
        return site, choice._replace(why="; ".join(filter(None, (f"{site._charged()}: {each}", choice.why))))

    def _charged(self) -> str:
        rights = self.rights()
        return " ".join(filter(None, (rights.account, rights.qos)))

    def _partition_for(self, asked: Asked, rate_of: Callable[[str], float], *, alone: bool = False) -> Choice:
        """Choose the partition for a request; a SiteError if none accepts it."""
        risky, candidates = self.preemptible(), self.candidates()
        reading = None if alone and not candidates[1:] else self.reading()  # without a choice it does not matter

        def loss(partition: Partition, wait_s: float) -> float:
            if partition.name not in risky or reading is None:
                return 0.0
            if would_lose_to_own(partition, asked, reading, os.getuid()):
                return float("inf")
            return loss_s(rate_of(partition.name), asked, wait_s)

        about = (candidates, self.user_limits(), self.options, reading, self.prices())
        return choose(asked.per_node, *about, shared=asked.shared, loss_s=loss, always_compared=not alone)

    def prices(self) -> Prices:
        """What counts for the price of jobs beside the weights of their partition."""
        configuration = self.configuration()
        return Prices(self.rights().usage_factor, configuration is not None and configuration.bills_largest)

    def billing(self, asked: Resources, partition: Partition) -> float | None:
        """The billing units that a request holds in a partition; None if the site says nothing about prices."""
        prices = self.prices()
        return billing(asked, partition, prices, self.options.gpu_type) if has_price(partition, prices) else None

    def rights(self) -> Rights:
        """The account and the QOS that jobs get, and their limits; an UnreachableError if Slurm has not answered."""
        rows, configuration = self._rights.answer(), self.configuration()
        if rows is None or configuration is None:
            raise UnreachableError("Slurm does not answer what it allows", todo="try `scontrol show config`")
        known = self._known_rights.get(self.options)
        if known is None or known[0] is not rows:
            found = rights_of(rows, self.options, enforced=configuration.enforces_limits)
            known = self._known_rights[self.options] = (rows, found)
        return known[1]

    def user_limits(self) -> dict[str, UserLimits]:
        """The user's limits, by partition."""
        rights = self.rights()
        return {partition.name: rights.limits(partition.qos) for partition in self.candidates()}

    def check_rights(self) -> None:
        """Raise a SiteError if the account or the QOS is not the user's, or allows no job at all."""
        if self._variants[1:]:
            for site in self.variants():
                site.check_rights()
            return
        configuration = self.configuration()
        if configuration is not None and configuration.enforces_accounts:
            self.rights().check(self.options)
        obstacles = [limits.obstacle() for limits in self.user_limits().values()]
        if all(obstacles):
            accounts = ", ".join(name for name in self.rights().accounts if name != self.rights().account)
            others = f"use another account: {accounts}" if accounts else "ask the site's administrators"
            raise SiteError(next(iter(obstacles)), todo=f"{others}, or use another QOS or partition")

    def allowed_instead(self, refusal: str) -> str:
        """Name the accounts, QOS or partitions that the user may choose, if a refusal is about one of them."""
        with contextlib.suppress(SiteError):
            rights, said = self.rights(), refusal.lower()
            if "invalid account" in said and rights.accounts:
                return f"; your accounts here are {', '.join(rights.accounts)}"
            if "invalid qos" in said and rights.choices:
                return f"; account {rights.account} may use {', '.join(rights.choices)}"
            if "invalid partition" in said:
                return f"; partitions here are {', '.join(partition.name for partition in self.partitions())}"
        return ""

    def most_jobs(self) -> int | None:
        """How many jobs this user may have in the queue; None if no limit is known."""
        known = [limits.jobs for limits in self.user_limits().values()]
        return min((jobs for jobs in (*known, self._learned_most_jobs) if jobs is not None), default=None)

    def why_most_jobs(self) -> str:
        """Whose limit `most_jobs` is, for the end of a sentence."""
        limits = sorted(self.user_limits().values(), key=lambda one: float("inf") if one.jobs is None else one.jobs)
        is_known = limits and limits[0].jobs == self.most_jobs()
        return limits[0].said("jobs") if is_known else " (as sbatch said)"

    def learn_most_jobs(self, look: Look | None) -> None:
        """Slurm has refused a further job for the number of jobs: as many as there are now is the limit."""
        if look is not None and look.live():
            self._learned_most_jobs = look.live()

    def _read_queue(self) -> tuple[float, list[SeenJob]] | None:
        at = self._clock()
        jobs = everybody(self._commands)
        return None if jobs is None else (at, jobs)

    def _read_rights(self) -> Rows | None:
        configuration = self.configuration()
        if configuration is None:
            return None
        if not configuration.keeps_accounts:
            return Rows([], [], [])
        return read_rows(self._commands, self._user, configuration.cluster)


def _silent() -> UnreachableError:
    return UnreachableError("Slurm does not answer", todo="try `sinfo` and `squeue`, and again when they work")


def _group_names() -> list[str]:
    names = []
    for number in {os.getgid(), *os.getgroups()}:
        with contextlib.suppress(KeyError):  # a group without a name cannot be in a list of names
            names.append(grp.getgrgid(number).gr_name)
    return names
