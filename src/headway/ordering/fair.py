"""Fair shares: which of the workflows and people that use one pool starts a task next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from msgspec import Struct

from headway.model.resources import Resources
from headway.model.share import Share
from headway.ordering.lending import Lending, Own

COUNTED = ("cores", "memory_bytes", "gpus")
UNKNOWN_RUN_S = 60.0  # how long attempts run, before one has ended
Keys = tuple[float, ...]


class Account(Struct, eq=False):
    """What one share has used and holds, in usual nodes; `used` counts up to `at` and is divided by its weight."""

    terms: Share
    joined_at: float
    at: float
    used: float = 0.0  # node-seconds
    added: float = 0.0  # of `used`: what it did not use, but was put ahead by
    held: float = 0.0  # nodes
    cores: float = 0.0
    memory_bytes: float = 0.0
    running: int = 0
    waiting: int = 0  # tasks that are ready
    unfinished: int = 0  # tasks that may still have to run, or run

    def used_by(self, now: float) -> float:
        """What it has used until now."""
        return self.used + self.held * max(0.0, now - self.at)

    def node_s(self, now: float) -> float:
        """The node-seconds that it has really used until now."""
        return (self.used_by(now) - self.added) * self.terms.entitlement

    def hold(self, resources: Resources, nodes: float, now: float, sign: int) -> None:
        """Count an attempt that has started (`sign` 1) or ended (-1)."""
        self.used, self.at = self.used_by(now), max(self.at, now)
        self.running += sign
        self.held = self.held + sign * nodes / self.terms.entitlement if self.running else 0.0
        self.cores += sign * resources.cores * resources.nodes
        self.memory_bytes += sign * resources.memory_bytes * resources.nodes


class FairShares:
    """The share goes first that will have used the least, per weight, when what it runs now has run a little longer.

    An attempt uses the largest part that it holds of a usual node's cores, memory or GPUs: its dominant share (Ghodsi
    et al. 2011, who also start a task of the user with the smallest one, and have weights). It is counted over time, in
    the way of start-time fair queueing (Goyal et al. 1996), and looks ahead by the mean run time of an attempt. So
    shares with short and long tasks get the same over time, and an idle pool is divided evenly at once. A share that
    had no ready task is put where the share stands that started a task last: it gets no credit for the time that it was
    away, and need not make up for what it used while others were.

    What we do differently: what is used is measured in usual nodes instead of parts of the pool, since the pool grows
    and shrinks; and the time ahead stands in for a task's run time, which is not known when the task starts.

    A share's name may have parts, as in `anna/montage`: people share the pool, and their workflows what they get of it.
    Weights, priorities and limits are by name, of a person or of a workflow. Everything follows from the records of a
    run, so that a resumed run goes on in the same way. While no task names a share, nothing is counted.

    >>> fair = FairShares({"anna": Share(weight=2.0)})
    >>> fair.node = Resources(cores=4, memory_bytes=8_000_000_000)
    >>> fair.join("anna"), fair.join("ben")
    (None, None)
    >>> one = Resources(cores=1, memory_bytes=1_000_000_000)
    >>> turn, order = fair.turn(0.0), []
    >>> for _ in range(6):
    ...     order.append(min(("anna", "ben"), key=turn.key))
    ...     turn.take(order[-1], one)
    >>> order
    ['anna', 'ben', 'anna', 'anna', 'ben', 'anna']
    """

    def __init__(self, terms: Mapping[str, Share] | None = None) -> None:
        self.node = Resources()  # what a usual node has
        self.now = 0.0  # the time of the last record
        self._terms = dict(terms or {})
        self._accounts: dict[str, Account] = {}
        self._runs: dict[str, tuple[str, Resources, float]] = {}  # by task: its share, what it holds, and since when
        self._reached: dict[str, float] = {}  # by the name above: what the share had used that started a task last
        self._ended, self._ended_s = 0, 0.0

    @property
    def active(self) -> bool:
        """Whether a task names a share."""
        return bool(self._accounts)

    @property
    def ahead_s(self) -> float:
        """How far it looks ahead: the mean run time of an attempt."""
        return self._ended_s / self._ended if self._ended else UNKNOWN_RUN_S

    def account(self, name: str) -> Account:
        """What a share has used and holds."""
        return self._accounts[name]

    def join(self, share: str) -> None:
        """Take note of a share; the first time it is entered."""
        if share not in self._accounts:
            for name in levels(share):
                terms = self._terms.get(name, Share())
                self._accounts.setdefault(name, Account(terms, self.now, self.now))

    def set_terms(self, name: str, terms: Share, now: float) -> None:
        """Give a share other terms from now on; what it has used so far stays counted by its earlier weight."""
        self._terms[name] = terms
        if (account := self._accounts.get(name)) is not None:
            account.used, account.at = account.used_by(now), max(account.at, now)
            account.held *= account.terms.entitlement / terms.entitlement
            account.terms = terms

    def waits(self, share: str, change: int) -> None:
        """Count its ready tasks: one more or one fewer."""
        for name in levels(share):
            account = self._accounts[name]
            account.waiting += change
            if change > 0 and account.waiting == 1:
                missing = self._reached.get(_above(name), 0.0) - account.used_by(self.now)
                account.used += max(0.0, missing)
                account.added += max(0.0, missing)

    def left(self, share: str, change: int) -> None:
        """Count its tasks that are not over: one more or one fewer."""
        for name in levels(share):
            self._accounts[name].unfinished += change

    def launched(self, task_id: str, share: str, resources: Resources) -> None:
        """Count an attempt from now on."""
        nodes = self.dominant(resources)
        self._runs[task_id] = (share, resources, self.now)
        for name in levels(share):
            account, above = self._accounts[name], _above(name)
            self._reached[above] = max(self._reached.get(above, 0.0), account.used_by(self.now))
            account.hold(resources, nodes, self.now, 1)

    def ended(self, task_id: str) -> None:
        """Count an attempt no longer."""
        if task_id not in self._runs:
            return
        share, resources, since = self._runs.pop(task_id)
        self._ended += 1
        self._ended_s += max(0.0, self.now - since)
        for name in levels(share):
            self._accounts[name].hold(resources, self.dominant(resources), self.now, -1)

    def dominant(self, resources: Resources) -> float:
        """The largest part of a usual node's cores, memory or GPUs that these resources take; nodes add up."""
        parts = ((resources[name] or 0.0) / (self.node[name] or 0.0) for name in COUNTED if self.node[name])
        return resources.nodes * max(parts, default=0.0)

    def turn(
        self, now: float, own: Mapping[str, Own] | None = None, run_s: Callable[[str], float] = lambda task_id: 0.0
    ) -> Turn:
        """The shares as they stand, for the tasks that start now.

        `own`: the nodes that were asked for some of them; `run_s`: how long a running task will still run.
        """
        if not own:
            return Turn(self, now)
        for share, each in own.items():  # tasks that run are counted one by one, as if they began now
            each.used_s, each.waiting = self._accounts[share].node_s(now), self._accounts[share].waiting
        lending = Lending(own)
        for task_id, (share, resources, _) in self._runs.items():
            lending.begin(share, self.dominant(resources), run_s(task_id))
        for share, each in own.items():
            each.waiting = self._accounts[share].waiting
        return Turn(self, now, lending)

    def most(self, share: str, resource: str) -> float | None:
        """What the tasks of a share may hold together of cores or memory; None: any amount."""
        if resource not in ("cores", "memory_bytes") or not self._accounts:
            return None
        terms = [self._accounts[name].terms for name in levels(share) if name in self._accounts]
        amounts = [each.most_cores if resource == "cores" else each.most_memory_bytes for each in terms]
        return min((most for most in amounts if most is not None), default=None)


class Turn:
    """The standing of shares while several tasks are started at once."""

    def __init__(self, fair: FairShares, now: float, lending: Lending | None = None) -> None:
        self.lending = lending
        self._fair = fair
        self._now = now
        self._nodes: dict[str, float] = {}  # that are about to be held besides
        self._cores: dict[str, float] = {}
        self._memory_bytes: dict[str, float] = {}

    def key(self, share: str) -> Keys:
        """The share with the smallest key goes first: what it will have used, from the person down to the workflow."""
        ahead_s = self._fair.ahead_s
        keys = []
        for name in levels(share):
            account = self._fair.account(name)
            held = account.held + self._nodes.get(name, 0.0) / account.terms.entitlement
            keys.append(account.used_by(self._now) + held * ahead_s)
        return tuple(keys)

    def admits(self, share: str, resources: Resources, ends_by: float = 0.0) -> bool:
        """Whether a share may hold this besides what it holds, until then."""
        run_s = max(0.0, ends_by - self._now)
        if self.lending is not None and not self.lending.allows(share, self._fair.dominant(resources), run_s):
            return False
        for name in levels(share):
            account = self._fair.account(name)
            terms = account.terms
            cores = account.cores + self._cores.get(name, 0.0) + resources.cores * resources.nodes
            size = account.memory_bytes + self._memory_bytes.get(name, 0.0) + resources.memory_bytes * resources.nodes
            if terms.most_cores is not None and cores > terms.most_cores + 1e-9:
                return False
            if terms.most_memory_bytes is not None and size > terms.most_memory_bytes:
                return False
        return True

    def take(self, share: str, resources: Resources, ends_by: float = 0.0) -> None:
        """Count a task that is about to start, and is expected to end by then."""
        nodes = self._fair.dominant(resources)
        if self.lending is not None:
            self.lending.begin(share, nodes, max(0.0, ends_by - self._now))
        for name in levels(share):
            for amounts, amount in (
                (self._nodes, nodes),
                (self._cores, resources.cores * resources.nodes),
                (self._memory_bytes, resources.memory_bytes * resources.nodes),
            ):
                amounts[name] = amounts.get(name, 0.0) + amount


@lru_cache(maxsize=4096)
def levels(share: str) -> tuple[str, ...]:
    """The names of a share from the top down.

    >>> levels("anna/montage")
    ('anna', 'anna/montage')
    """
    parts = share.split("/")
    return tuple("/".join(parts[:end]) for end in range(1, len(parts) + 1))


def _above(name: str) -> str:
    return name.rpartition("/")[0]
