"""Fair shares: what every share of a pool may count on, on any mix of tasks."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from headway.drivers.assemble import assemble
from headway.drivers.simulated import SimulatedRun, simulate
from headway.kernels.batch.queue import BatchQueue
from headway.model import records
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.share import Share
from headway.model.task import Task, Terms
from headway.ordering.fair import FairShares

GB = 10**9
CORES = 8
NODE = Resources(cores=CORES, memory_bytes=8 * GB, disk_bytes=8 * GB)


class Load(Struct, frozen=True):
    """What a share submits: so many equal tasks at a time."""

    tasks: int = 120
    run_s: float = 10.0
    cores: int = 1
    memory_gb: int = 1
    at_s: float = 0.0

    @property
    def part(self) -> float:
        """The largest part of the node that a task takes."""
        return max(self.cores / CORES, self.memory_gb / 8)

    def of(self, share: str) -> list[Task]:
        hints = {"cores": float(self.cores), "memory_bytes": float(self.memory_gb * GB)}
        numbers = range(self.tasks)
        return [Task(f"{share}:{n}", f"c-{share}", "true", hints=hints, terms=Terms(share=share)) for n in numbers]


class Shared:
    """One node on which shares run their tasks, by the real engine, and what each held over time."""

    def __init__(self, loads: dict[str, Load], terms: dict[str, Share] | None = None) -> None:
        started = records.RunStarted(
            0.0, "1", "u", "pool", "", "", "0", "user", "fifo", growing=True, shares=terms or {}
        )
        first, *rest = sorted(loads.items(), key=lambda item: item[1].at_s)
        self.loads = loads

        def outcome(launch: records.Launch, at: float) -> Outcome:
            load = loads[launch.task.partition(":")[0]]
            usage = Usage(memory_bytes=Measured(load.memory_gb * GB, Quality.EXACT))
            return Outcome(launch.task, launch.attempt, Ending.SUCCESS, at, at + load.run_s, usage)

        later = [records.TasksAdded(load.at_s, load.of(share)) for share, load in rest]
        self.run = SimulatedRun(assemble(started), first[1].of(first[0]), outcome, NODE, later=later)
        simulate(BatchQueue(1), [self.run])
        self.launches = [record for record in self.run.journal if isinstance(record, records.Launch)]

    def launched_at(self, share: str) -> list[float]:
        return [launch.at for launch in self.launches if launch.task.startswith(f"{share}:")]

    def used(self, share: str, since_s: float, until_s: float) -> float:
        """The node-seconds of a share between two times, by its dominant resource."""
        load = self.loads[share]
        return load.part * sum(
            max(0.0, min(until_s, at + load.run_s) - max(since_s, at)) for at in self.launched_at(share)
        )

    def holding(self) -> list[tuple[float, Counter[str]]]:
        """The cores of every share after each launch or end."""
        changes = [(at, 1, share) for share in self.loads for at in self.launched_at(share)]
        changes += [(at + self.loads[share].run_s, -1, share) for at, _, share in changes]
        held: Counter[str] = Counter()
        found = []
        for at, sign, share in sorted(changes):
            held[share] += sign * self.loads[share].cores
            found.append((at, Counter(held)))
        return found


LOADS = st.builds(
    Load,
    run_s=st.sampled_from([1.0, 7.0, 60.0]),
    cores=st.sampled_from([1, 2, 4]),
    memory_gb=st.sampled_from([1, 2, 4]),
)
weights = st.sampled_from([0.5, 1.0, 2.0, 3.0])


def bound_s(run: Shared) -> float:
    """By how many node-seconds a share may be behind: tasks are not divided, and the longest ones must end first."""
    return 4.0 * max(load.run_s for load in run.loads.values())


@settings(max_examples=8, deadline=None)
@given(a=LOADS, b=LOADS, weight=weights)
def test_each_share_with_ready_tasks_gets_its_weighted_part_over_time(a: Load, b: Load, weight: float) -> None:
    run = Shared({"a": a, "b": b}, {"a": Share(weight=weight)})
    until_s = min(run.launched_at("a")[-1], run.launched_at("b")[-1])  # both have had ready tasks until then
    used = {share: run.used(share, 0.0, until_s) for share in "ab"}
    ahead = used["a"] / weight - used["b"]
    assert abs(ahead) <= bound_s(run) * (1.0 + 1.0 / weight)


@pytest.mark.parametrize("cores", [1, 2])
def test_a_newcomer_gets_no_credit_for_the_time_it_was_away(cores: int) -> None:
    run = Shared({"a": Load(400, run_s=2.0), "b": Load(200, run_s=2.0, cores=cores, at_s=60.0)})
    used = {share: run.used(share, 60.0, 80.0) for share in "ab"}  # both have ready tasks
    assert used["b"] <= used["a"] + 4.0, "it makes up for what the other used before"
    assert used["a"] <= used["b"] + 4.0, "it is kept waiting"
    assert sum(used.values()) >= 19.0


@settings(max_examples=8, deadline=None)
@given(a=LOADS, b=LOADS)
def test_no_cores_stay_idle_while_a_ready_task_fits(a: Load, b: Load) -> None:
    run = Shared({"a": a, "b": b})
    both_until = min(run.launched_at("a")[-1], run.launched_at("b")[-1])
    for (at, held), (after, _) in pairwise(run.holding()):
        if after > at and at < both_until:
            free = CORES - sum(held.values())
            memory = 8 - sum(held[share] // run.loads[share].cores * run.loads[share].memory_gb for share in "ab")
            fits = [load for load in (a, b) if load.cores <= free and load.memory_gb <= memory]
            draining = max(load.cores for load in (a, b)) > free or max(it.memory_gb for it in (a, b)) > memory
            assert not fits or draining, f"{free} cores and {memory} GB are free at {at}"


@settings(max_examples=8, deadline=None)
@given(a=LOADS, b=LOADS)
def test_more_weight_never_gets_less(a: Load, b: Load) -> None:
    parts = []
    for weight in (1.0, 4.0):
        run = Shared({"a": a, "b": b}, {"a": Share(weight=weight)})
        until_s = min(run.launched_at("a")[-1], run.launched_at("b")[-1])
        parts.append(run.used("a", 0.0, until_s) / max(1.0, until_s))
    assert parts[1] >= parts[0] - 0.05


@settings(max_examples=8, deadline=None)
@given(a=LOADS, b=LOADS, most=st.integers(4, 8))
def test_a_limit_is_never_exceeded(a: Load, b: Load, most: int) -> None:
    run = Shared({"a": a, "b": b}, {"a": Share(most_cores=most)})
    assert max(held["a"] for _, held in run.holding()) <= most
    assert len(run.launches) == a.tasks + b.tasks, "it only takes longer"
    assert run.run.engine.finished == "succeeded"


def test_a_priority_is_ten_times_the_weight_and_starves_nobody() -> None:
    run = Shared({"urgent": Load(), "usual": Load()}, {"urgent": Share(priority=1)})
    until_s = run.launched_at("urgent")[-1]
    part = run.used("usual", 0.0, until_s) / until_s
    assert 0.05 <= part <= 0.15


def test_people_share_the_pool_and_their_workflows_what_they_get() -> None:
    run = Shared({"anna/x": Load(), "anna/y": Load(), "ben/z": Load()})
    until_s = run.launched_at("ben/z")[-1]
    used = {share: run.used(share, 0.0, until_s) / until_s for share in run.loads}
    assert used == pytest.approx({"anna/x": 0.25, "anna/y": 0.25, "ben/z": 0.5}, abs=0.05)


def test_a_limit_of_a_person_holds_for_all_their_workflows() -> None:
    loads = {"anna/x": Load(tasks=20), "anna/y": Load(tasks=20), "ben": Load(tasks=20)}
    run = Shared(loads, {"anna": Share(most_cores=3)})
    assert max(held["anna/x"] + held["anna/y"] for _, held in run.holding()) == 3


def test_a_task_that_needs_more_than_its_share_may_hold_is_given_up_with_a_sentence() -> None:
    run = Shared({"a": Load(tasks=1, cores=4)}, {"a": Share(most_cores=2)})
    given_up = [record for record in run.run.journal if isinstance(record, records.GiveUp)]
    assert [record.why.text for record in given_up] == [
        "its share a has a limit: it needs 4 cores, and one task can have 2 cores here"
    ]
    assert run.run.engine.finished == "failed"


def test_replayed_records_lead_to_the_same_decisions() -> None:
    loads = {"a": Load(tasks=40, run_s=7.0), "b": Load(tasks=40, cores=2, at_s=15.0), "c": Load(tasks=40, at_s=33.0)}
    journal = Shared(loads, {"b": Share(weight=3.0)}).run.journal
    started = next(number for number, record in enumerate(journal) if record.at > 50.0)
    engine = assemble(journal[0])
    for record in journal[:started]:
        engine.apply(record)
    now = journal[started - 1].at
    for number in range(started, len(journal)):
        if isinstance(journal[number], records.Launch):
            assert journal[number] in engine.decide(journal[number].at)
        engine.apply(journal[number])
    assert engine.finished == "succeeded" and now > 0


def test_without_shares_nothing_is_counted() -> None:
    run = Shared({"": Load(tasks=5)})
    assert not run.run.engine._fair.active


def test_terms_may_change_while_tasks_run() -> None:
    """What was used stays counted; from then on the new weight counts, also for what runs."""
    fair = FairShares()
    fair.node = NODE
    for share in ("anna", "ben"):
        fair.join(share)
        fair.launched(f"{share}:1", share, Resources(cores=4))
    fair.set_terms("anna", Share(weight=4.0, most_cores=6), 100.0)
    assert fair.account("anna").used_by(100.0) == fair.account("ben").used_by(100.0) == 50.0
    assert fair.account("anna").used_by(200.0) - 50.0 == (fair.account("ben").used_by(200.0) - 50.0) / 4
    assert not fair.turn(200.0).admits("anna", Resources(cores=3))
    fair.now = 200.0
    fair.ended("anna:1")
    assert fair.account("anna").held == 0.0
    fair.set_terms("carl", Share(weight=2.0), 200.0)  # who has not come yet
    fair.join("carl")
    assert fair.account("carl").terms.weight == 2.0
