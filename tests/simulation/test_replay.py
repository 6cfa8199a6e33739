"""What a replay books and tells, worked out by hand; and that nobody is told of a task before it was sized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.drivers.assemble import sizers
from headway.model.errors import InputError
from headway.model.outcome import Ending, Outcome, Quality
from headway.model.records import Figure, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.task_log import LoggedTask, TaskLog
from headway.simulation.replay import START, Cost, World, as_asked, replay
from headway.sizing.base import Allocation, Allocator, CannotFit, Context
from headway.sizing.per_resource import PerResource

MACHINE = Resources(cores=16, memory_bytes=64, disk_bytes=64)
ALL = ("cores", "memory_bytes", "disk_bytes")


def log_of(*tasks: LoggedTask, kills: Sequence[str] = ALL, **more: Any) -> TaskLog:
    resources = more.pop("resources", ALL)
    return TaskLog("made up", list(tasks), resources, MACHINE, tuple(kills), **more)


def task(number: int, memory: float, disk: float = 1, cores: float = 1, run_s: float = 10, **more: Any) -> LoggedTask:
    used = {"cores": cores, "memory_bytes": memory, "disk_bytes": disk}
    return LoggedTask(f"t{number}", "c", run_s, used, **more)


class Doubling(Allocator):
    """Gives what it was told to, and twice what ran out; writes down everything that it is asked and told."""

    def __init__(self, **first: float) -> None:
        self.first = {"cores": 1.0, "memory_bytes": 4.0, "disk_bytes": 4.0} | first
        self.story: list[str] = []
        self.told: list[Outcome] = []
        self.contexts: list[Context] = []
        self.tasks: list[Task] = []

    def allocate(self, task: Task, failures: Mapping[str, Sequence[float]], context: Context) -> Allocation | CannotFit:
        self.story.append(f"ask {task.id}")
        self.contexts.append(context)
        self.tasks.append(task)
        amounts: dict[str, float | None] = {
            name: 2 * failures[name][-1] if name in failures else first for name, first in self.first.items()
        }
        for name, amount in amounts.items():
            limit = context.limits[name] or 0.0
            if (amount or 0.0) > limit:
                if failures.get(name, [0.0])[-1] >= limit:
                    return CannotFit(name, amount or 0.0, limit, Why("", ""))
                amounts[name] = limit
        return Allocation(Resources.of(amounts), {})

    def observe(self, task: Task, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        self.story.append(f"tell {task.id} {outcome.ending}")
        self.told.append(outcome)

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None: ...


def test_a_success_and_a_failure_worked_out_by_hand() -> None:
    allocator = Doubling()
    result = replay(log_of(task(1, memory=3), task(2, memory=5)), allocator, World(MACHINE))
    # t1: 4 given, 3 used, 10 s. t2: 4 given in vain, then 8 given and 5 used.
    assert result.costs["memory_bytes"] == Cost(used=80, fragmentation=10 + 30, failed=40, failures=1)
    assert result.costs["memory_bytes"].waste == 80
    assert result.costs["memory_bytes"].awe == 0.5
    # The failed attempt also held a core and disk, which ended nothing.
    assert result.costs["cores"] == Cost(used=20, fragmentation=0, failed=10, failures=0)
    assert result.costs["disk_bytes"] == Cost(used=20, fragmentation=60, failed=40, failures=0)
    assert (result.tasks, result.attempts, result.impossible) == (2, 3, 0)
    assert allocator.story == [
        *("ask t1", "tell t1 success", "ask t2", "ask t2"),
        *("tell t2 memory", "tell t2 success"),
    ]


def test_the_outcomes_that_the_allocator_observes() -> None:
    allocator = Doubling()
    replay(log_of(task(1, memory=5, disk=3, cores=0.5)), allocator, World(MACHINE))
    failed, succeeded = allocator.told
    assert failed.usage.memory_bytes is not None
    assert (failed.attempt, failed.ending) == (1, Ending.MEMORY)
    assert failed.usage.memory_bytes.value == 4, "what was given, not what would have been used"
    assert failed.usage.memory_bytes.quality is Quality.LOWER_BOUND
    assert failed.usage.disk_bytes is failed.usage.cores_peak is None
    assert succeeded.attempt == 2
    peaks = {name: succeeded.usage.peak(name) for name in ALL}
    assert {name: peak and (peak.value, peak.quality) for name, peak in peaks.items()} == {
        "cores": (0.5, Quality.EXACT),
        "memory_bytes": (5, Quality.EXACT),
        "disk_bytes": (3, Quality.EXACT),
    }


def test_the_context_that_the_allocator_is_given() -> None:
    allocator = Doubling()
    logged = task(1, memory=5, asked={"memory_bytes": 9.0}, input_bytes=77)
    replay(log_of(logged, kills=["memory_bytes"]), allocator, World(MACHINE, seed=3))
    first, second = allocator.contexts
    assert first == Context(MACHINE, (3, "", "t1", 1), START, frozenset({"memory_bytes"}))
    assert second.draw == (3, "", "t1", 2)
    asked = allocator.tasks[0]
    assert (asked.hints, asked.input_bytes, asked.category, asked.isolated) == ({"memory_bytes": 9.0}, 77, "c", True)


ALL_ASKED = ["ask t1", "ask t2", "ask t2", "ask t3", "ask t4"]


@pytest.mark.parametrize(
    ("lag", "story"),
    [
        (0, ["ask t1", "tell t1", "ask t2", "ask t2", "tell t2", "tell t2", "ask t3", "tell t3", "ask t4", "tell t4"]),
        (1, ["ask t1", "ask t2", "ask t2", "tell t1", "ask t3", "tell t2", "tell t2", "ask t4", "tell t3", "tell t4"]),
        (3, [*ALL_ASKED, "tell t1", "tell t2", "tell t2", "tell t3", "tell t4"]),
        (9, [*ALL_ASKED, "tell t1", "tell t2", "tell t2", "tell t3", "tell t4"]),
    ],
)
def test_with_a_lag_outcomes_are_observed_later(lag: int, story: list[str]) -> None:
    allocator = Doubling()
    log = log_of(task(1, 3), task(2, 5), task(3, 3), task(4, 3))
    result = replay(log, allocator, World(MACHINE, lag=lag))
    assert [" ".join(line.split()[:2]) for line in allocator.story] == story
    assert result.attempts == 5


def test_several_resources_run_out_at_once() -> None:
    allocator = Doubling()
    result = replay(log_of(task(1, memory=5, disk=7, cores=2)), allocator, World(MACHINE))
    assert result.attempts == 2
    assert {name: cost.failures for name, cost in result.costs.items()} == dict.fromkeys(ALL, 1)
    assert {name: cost.failed for name, cost in result.costs.items()} == {
        "cores": 10,
        "memory_bytes": 40,
        "disk_bytes": 40,
    }
    failed = allocator.told[0]
    assert failed.ending.exhausted == "cores", "the first that the log names"
    assert failed.usage.memory_bytes is not None and failed.usage.disk_bytes is not None


def test_one_runs_out_after_the_other() -> None:
    """Memory after 2 s and disk after 6: the first attempt ends for memory alone, the second for disk."""
    log = log_of(task(1, memory=5, disk=7), failed_after_s={"memory_bytes": 2.0, "disk_bytes": 6.0})
    allocator = Doubling()
    result = replay(log, allocator, World(MACHINE, ttf="observed"))
    assert allocator.story == ["ask t1"] * 3 + ["tell t1 memory", "tell t1 disk", "tell t1 success"]
    assert result.costs["memory_bytes"] == Cost(used=50, fragmentation=30, failed=4 * 2 + 8 * 6, failures=1)
    assert result.costs["disk_bytes"] == Cost(used=70, fragmentation=10, failed=4 * 2 + 4 * 6, failures=1)


@pytest.mark.parametrize(
    ("ttf", "more", "failed_s"),
    [
        ("end", {}, 10.0),
        (0.3, {}, 3.0),
        (1.0, {}, 10.0),
        ("observed", {"failed_after_s": {"memory_bytes": 4.0}}, 4.0),
        ("observed", {"failed_after_s": {"memory_bytes": 400.0}}, 10.0),
        ("observed", {"failed_after_s": {"disk_bytes": 4.0}}, 10.0),
    ],
)
def test_when_an_attempt_fails(ttf: Any, more: dict[str, Any], failed_s: float) -> None:
    allocator = Doubling()
    result = replay(log_of(task(1, memory=5), **more), allocator, World(MACHINE, ttf=ttf))
    assert result.costs["memory_bytes"].failed == pytest.approx(4 * failed_s)
    assert result.costs["memory_bytes"].used == 50, "a success takes its whole time"
    assert allocator.told[0].ended_at == pytest.approx(failed_s)


@pytest.mark.parametrize(("given", "failed_s"), [(0.5, 1.25), (1.5, 3.75), (2.5, 6.25), (4.9, 6.25)])
def test_a_profile_tells_when_memory_runs_out(given: float, failed_s: float) -> None:
    """In the middle of the first part that needs more than there is."""
    log = log_of(task(1, memory=500, profile=(100, 200, 500, 300)))
    machine = Resources(cores=1, memory_bytes=int(100 * given), disk_bytes=4)
    result = replay(log, Doubling(memory_bytes=1000), World(machine, ttf="observed"))
    assert result.costs["memory_bytes"].failed == pytest.approx(int(100 * given) * failed_s)
    assert result.impossible == 1


def test_a_profile_says_nothing_of_disk() -> None:
    log = log_of(task(1, memory=3, disk=5, profile=(1, 2, 3, 1)), failed_after_s={"disk_bytes": 1.0})
    result = replay(log, Doubling(), World(MACHINE, ttf="observed"))
    assert result.costs["disk_bytes"].failed == 4
    assert result.costs["memory_bytes"].failed == 4


def test_observed_needs_something_observed() -> None:
    with pytest.raises(InputError, match=r"made up: this log does not say when attempts fail; use --ttf end"):
        replay(log_of(task(1, 3)), Doubling(), World(MACHINE, ttf="observed"))


def test_a_task_that_no_machine_can_finish() -> None:
    allocator = Doubling()
    result = replay(log_of(task(1, memory=100), task(2, memory=3)), allocator, World(MACHINE))
    assert (result.impossible, result.tasks) == (1, 2)
    memory = result.costs["memory_bytes"]
    assert memory.failures == 5, "4, 8, 16, 32, 64"
    assert memory.failed == 10 * (4 + 8 + 16 + 32 + 64)
    assert (memory.used, memory.fragmentation) == (30, 10), "of the other task"
    assert [outcome.ending for outcome in allocator.told] == [Ending.MEMORY] * 5 + [Ending.SUCCESS]


def test_cores_that_are_not_enforced() -> None:
    """What it uses beyond its share it takes from others: its own core was used all the time, and no more than that."""
    log = log_of(task(1, memory=3, cores=5), kills=["memory_bytes", "disk_bytes"])
    result = replay(log, Doubling(), World(MACHINE))
    assert result.attempts == 1
    assert result.costs["cores"] == Cost(used=10, fragmentation=0, failed=0, failures=0)


def test_only_the_resources_of_the_log_are_booked() -> None:
    logged = LoggedTask("a", "c", 10, {"memory_bytes": 3})
    result = replay(log_of(logged, resources=("memory_bytes",), kills=["memory_bytes"]), Doubling(), World(MACHINE))
    assert result.costs == {"memory_bytes": Cost(used=30, fragmentation=10)}


def test_a_task_without_time_teaches_and_costs_nothing() -> None:
    allocator = Doubling()
    result = replay(log_of(task(1, memory=5, run_s=0)), allocator, World(MACHINE))
    assert result.costs["memory_bytes"] == Cost(failures=1)
    assert result.costs["memory_bytes"].awe is None
    assert len(allocator.told) == 2


def test_a_sizer_that_does_not_give_more_is_found_out() -> None:
    class Stubborn(Doubling):
        def allocate(
            self, task: Task, failures: Mapping[str, Sequence[float]], context: Context
        ) -> Allocation | CannotFit:
            return super().allocate(task, {}, context)

    with pytest.raises(RuntimeError, match="t1 was given no more memory_bytes"):
        replay(log_of(task(1, memory=5)), Stubborn(), World(MACHINE))


def test_progress_is_told() -> None:
    heard: list[int] = []
    replay(log_of(*(task(number, 3) for number in range(1000))), Doubling(), World(MACHINE), heard.append)
    assert heard[0] == 0 and heard == sorted(heard) and 500 < heard[-1] < 1000


# --- what the log's own requests cost ---


def test_as_asked() -> None:
    log = log_of(
        task(1, memory=3, asked={"memory_bytes": 10.0, "cores": 2.0}),
        task(2, memory=5, cores=3, asked={"memory_bytes": 8.0, "cores": 2.0}, run_s=1),
    )
    asked = as_asked(log)
    assert asked is not None
    assert asked.costs == {
        "cores": Cost(used=10 + 2, fragmentation=10),
        "memory_bytes": Cost(used=30 + 5, fragmentation=70 + 3),
    }
    assert (asked.tasks, asked.attempts) == (2, 2)


def test_logs_with_few_or_no_requests() -> None:
    some = as_asked(log_of(task(1, 3, asked={"memory_bytes": 10.0}), task(2, 5)))
    assert some is not None
    assert (some.tasks, some.costs) == (1, {"memory_bytes": Cost(used=30, fragmentation=70)})
    assert as_asked(log_of(task(1, 3))) is None


# --- laws ---

AMOUNTS = st.floats(0.01, 200)
SOME_TASKS = st.lists(
    st.builds(
        lambda category, run_s, memory, disk, cores, profile: LoggedTask(
            "",
            category,
            run_s,
            {"memory_bytes": memory * 1e8, "disk_bytes": disk * 1e8, "cores": cores},
            profile=tuple(part * memory * 1e8 for part in profile),
        ),
        st.sampled_from("ab"),
        st.floats(0, 1e5),
        AMOUNTS,
        AMOUNTS,
        st.floats(0.01, 20),
        st.lists(st.floats(0, 1), max_size=5),
    ),
    max_size=12,
).map(lambda tasks: [LoggedTask(f"t{i}", t.category, t.run_s, t.used, profile=t.profile) for i, t in enumerate(tasks)])
WORLDS = st.builds(
    World,
    machine=st.just(Resources(cores=16, memory_bytes=10**10, disk_bytes=10**10)),
    lag=st.integers(0, 4),
    ttf=st.sampled_from(["end", "observed", 0.25]),
    seed=st.integers(0, 3),
)
KILLS = st.sampled_from([ALL, ("memory_bytes", "disk_bytes"), ("memory_bytes",), ()])


class Audited(Allocator):
    """Another allocator, with every allocation and everything it was told written down."""

    def __init__(self, inner: Allocator) -> None:
        self.inner = inner
        self.given: list[tuple[str, Resources]] = []
        self.told: list[Outcome] = []
        self.told_before: dict[str, list[str]] = {}  # whose outcomes were known when a task was first sized

    def allocate(self, task: Task, failures: Mapping[str, Sequence[float]], context: Context) -> Allocation | CannotFit:
        assert task.id not in {outcome.task for outcome in self.told}, "it was told how this very task ended"
        self.told_before.setdefault(task.id, list(dict.fromkeys(outcome.task for outcome in self.told)))
        answer = self.inner.allocate(task, failures, context)
        if isinstance(answer, Allocation):
            self.given.append((task.id, answer.resources))
        return answer

    def observe(self, task: Task, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        self.told.append(outcome)
        self.inner.observe(task, ticket, outcome)

    def state(self) -> dict[str, Any]:
        return self.inner.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self.inner.restore(state)


@given(SOME_TASKS, WORLDS, KILLS, st.sampled_from(sorted(sizers())))
def test_everything_given_is_booked_once(tasks: list[LoggedTask], world: World, kills: Any, sizer: str) -> None:
    """Used, not used and lost are together what was given, times how long it was given."""
    log = log_of(*tasks, kills=kills, failed_after_s={"memory_bytes": 7.0})
    audited = Audited(PerResource(sizers()[sizer], world.seed))
    everybody_told = World(world.machine, 0, world.ttf, world.seed)
    result = replay(log, audited, everybody_told)
    assert len(audited.told) == len(audited.given) == result.attempts
    for name, cost in result.costs.items():
        given = sum(
            (resources[name] or 0.0) * outcome.ended_at
            for (task_id, resources), outcome in zip(audited.given, audited.told, strict=True)
            if task_id == outcome.task
        )
        assert cost.used + cost.fragmentation + cost.failed == pytest.approx(given)
        assert min(cost.used, cost.fragmentation, cost.failed) >= 0
        assert cost.awe is None or 0 <= cost.awe <= 1
    succeeded = [outcome for outcome in audited.told if outcome.ending is Ending.SUCCESS]
    assert len(succeeded) + result.impossible == result.tasks == len(tasks)


@given(SOME_TASKS, WORLDS, st.sampled_from(sorted(sizers())))
def test_no_allocation_depends_on_later_tasks(tasks: list[LoggedTask], world: World, sizer: str) -> None:
    """When a task is sized, what is known is how those ended that started more than `lag` tasks before it."""
    log = log_of(*tasks, failed_after_s={"memory_bytes": 7.0})
    audited = Audited(PerResource(sizers()[sizer], world.seed))
    replay(log, audited, world)
    silent = {task.id for task in tasks} - {outcome.task for outcome in audited.told}  # also: no attempt was possible
    for place, logged in enumerate(tasks):
        known = [earlier.id for earlier in tasks[: max(0, place - world.lag)] if earlier.id not in silent]
        assert audited.told_before[logged.id] == known


@given(SOME_TASKS, WORLDS, st.sampled_from(sorted(sizers())))
def test_a_replay_is_deterministic(tasks: list[LoggedTask], world: World, sizer: str) -> None:
    log = log_of(*tasks, failed_after_s={"memory_bytes": 7.0})
    first = replay(log, PerResource(sizers()[sizer], world.seed), world)
    assert replay(log, PerResource(sizers()[sizer], world.seed), world) == first


@given(SOME_TASKS, WORLDS, st.integers(0, 11), st.sampled_from(sorted(sizers())))
def test_what_comes_later_changes_nothing_before(tasks: list[LoggedTask], world: World, cut: int, sizer: str) -> None:
    whole, part = (Audited(PerResource(sizers()[sizer], world.seed)) for _ in range(2))
    replay(log_of(*tasks, failed_after_s={"memory_bytes": 7.0}), whole, world)
    replay(log_of(*tasks[:cut], failed_after_s={"memory_bytes": 7.0}), part, world)
    assert whole.given[: len(part.given)] == part.given
