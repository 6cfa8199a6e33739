"""`q-learning` on hand-worked numbers, and the laws of its grid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.outcome import Ending
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.agents.q_learning import QLearning, QLearningHarmonic, QLearningPrinted, cores_step
from headway.sizing.agents.q_learning_separate import QLearningSeparate
from headway.sizing.agents.q_values import (
    Grid,
    QValues,
    epsilon_harmonic,
    epsilon_in_steps,
    joint_kill_reward,
    joint_reward,
    unused_as_printed,
    unused_with_floor,
)
from tests.sizing.agent_world import GB, LIMITS, TASK, asked, lived, outcome

GRID = Grid(("cores", "memory"), (4, 3))
WALKERS = (QLearning, QLearningPrinted, QLearningHarmonic, QLearningSeparate)


def test_the_grid_has_as_many_choices_as_in_the_thesis() -> None:
    """Section 4.3: c = 4 and m = 3 make 46 combinations of states and actions."""
    c, m, a = 4, 3, 5
    formula = (c - 2) * ((m - 2) * a + 2 * (a - 1)) + 2 * ((m - 2) * (a - 1) + 2 * (a - 2))
    assert formula == 46
    assert sum(len(GRID.actions((cores, chunk))) for cores in (1, 2, 3, 4) for chunk in (1, 2, 3)) == formula


def test_the_update_by_hand() -> None:
    """Equation 2.5 with step 0.1 and discount 1."""
    values = QValues()
    values.learn(GRID, (2, 2), "more-cores", -10.0)  # 0 + 0.1 (-10 + 0 - 0)
    assert values.values == {(2, 2): {"more-cores": -1.0}}
    for action in GRID.actions((3, 2)):
        values.values.setdefault((3, 2), {})[action] = -4.0
    values.values[3, 2]["stay"] = -3.0
    values.learn(GRID, (2, 2), "more-cores", -10.0)  # -1 + 0.1 (-10 - 3 + 1)
    assert values.values[2, 2]["more-cores"] == pytest.approx(-2.2)
    values.learn(GRID, (3, 2), "stay", -1.0)  # -3 + 0.1 (-1 - 3 + 3)
    assert values.values[3, 2]["stay"] == pytest.approx(-3.1)
    assert values.updates == 3


def test_untried_actions_come_first_then_random_ones_then_the_best() -> None:
    values = QValues()
    tried = []
    for _ in range(5):
        action, rule = values.choose(GRID, (2, 2), 0.0, 0.5)
        assert rule == "untried"
        tried.append(action)
        values.learn(GRID, (2, 2), action, -1.0 - len(tried))
    assert sorted(tried) == sorted(GRID.actions((2, 2)))
    assert values.choose(GRID, (2, 2), 0.5, 0.6) == (tried[0], "best")
    assert values.choose(GRID, (2, 2), 0.5, 0.0) == ("stay", "explored")
    assert values.choose(GRID, (2, 2), 0.5, 0.49999)[0] == GRID.actions((2, 2))[-1]


@pytest.mark.parametrize(("updates", "expected"), [(0, 0.5), (49, 0.5), (50, 0.25), (99, 0.25), (100, 0.1), (999, 0.1)])
def test_epsilon_falls_in_steps(updates: int, expected: float) -> None:
    assert epsilon_in_steps(updates) == expected


def test_epsilon_may_fall_harmonically() -> None:
    assert [epsilon_harmonic(updates) for updates in (0, 1, 2, 10)] == [1.0, 1.0, 0.5, 0.1]


def test_rewards_by_hand() -> None:
    # two unused cores, 1.5 times the mean time, 2 chunks of which 40 % are used
    assert joint_reward(2.0, 1.5, 2.0, 0.4, unused_with_floor) == pytest.approx(-2 * 1.5 * 2 * 0.6)
    assert joint_reward(2.0, 1.5, 2.0, 0.4, unused_as_printed) == pytest.approx(-2 * 1.5 * 2 * 0.25)
    # nine tenths of the cores busy or more: a tenth counts; memory nearly full
    assert joint_reward(0.0, 1.0, 2.0, 0.95, unused_with_floor) == pytest.approx(-0.1 * 2 * 0.25)
    assert joint_reward(0.0, 1.0, 2.0, 0.95, unused_as_printed) == pytest.approx(-0.1 * 2 * 0.05)
    assert joint_kill_reward(0.5, 0.3, 2.0) == pytest.approx(-2 * 0.5 * 1.0 * 2)


@given(st.floats(0, 30), st.floats(0.01, 10), st.floats(0.5, 3), st.floats(0, 1))
def test_a_kill_is_always_worse_than_a_success_with_the_same_allocation(
    unused: float, slowdown: float, chunks: float, used: float
) -> None:
    for share in (unused_with_floor, unused_as_printed):
        assert joint_kill_reward(unused, slowdown, chunks) < joint_reward(unused, slowdown, chunks, used, share)


def test_it_starts_with_what_the_workflow_asks_for_and_moves_one_step() -> None:
    for name in map(str, range(30)):
        given = asked(QLearning(), name=name).resources
        moves = (given.cores - 2) / 1, (given.memory_bytes - 10 * GB) / (5 * GB)
        assert sorted(map(abs, moves)) in ([0, 0], [0, 1])


def test_the_agent_learns_by_hand() -> None:
    allocator = QLearning()
    allocator.observe(TASK, {}, outcome(100.0))
    answer = asked(allocator)
    cores, chunk = answer.ticket["given_cores"], answer.ticket["chunk"]
    memory = answer.resources.memory_bytes
    allocator.observe(TASK, answer.ticket, outcome(50.0, busy=cores - 1.0 if cores > 1 else 0.5, peak=1.0 * GB))
    slowdown, unused = 50.0 / 75.0, 1.0 if cores > 1 else 0.5
    reward = -unused * slowdown * (memory / (5 * GB)) * (1 - min(0.75, GB / memory))
    agent = allocator.state()["agents"]["c"]
    assert agent["at"] == [cores, chunk]
    assert agent["q"]["values"] == [[[2, 2], {answer.ticket["action"]: pytest.approx(0.1 * reward)}]]
    assert agent["traces"]["agent"]["steps"] == [[answer.ticket["action"], cores, memory, pytest.approx(reward)]]


@pytest.mark.parametrize(("cores", "step"), [(1, 1), (2, 1), (3, 1), (6, 3), (12, 6), (1.5, 1)])
def test_steps_of_cores(cores: float, step: int) -> None:
    assert cores_step(cores) == step


@pytest.mark.parametrize("walker", WALKERS, ids=lambda each: each.name)
@given(
    cores=st.integers(1, 12),
    request_gb=st.floats(0.1, 32),
    outcomes=st.lists(st.tuples(st.floats(0.001, 1.5), st.floats(1, 1000), st.floats(0, 16)), max_size=40),
    seed=st.integers(0, 3),
)
def test_it_never_leaves_the_limits(
    walker: type, cores: int, request_gb: float, outcomes: list[tuple[float, float, float]], seed: int
) -> None:
    limits = Resources(cores=12, memory_bytes=32 * GB)
    task = Task("t", "c", "true", hints={"cores": float(cores), "memory_bytes": request_gb * GB})
    allocator = walker(seed)
    for number, (needs, seconds, busy) in enumerate(outcomes):
        answer = asked(allocator, task, name=str(number), limits=limits)
        given = answer.resources
        assert 1 <= given.cores <= min(12, 2 * cores)
        assert 0 < given.memory_bytes <= min(32 * GB, 1.5 * request_gb * GB + 1)
        killed = needs * request_gb * GB > given.memory_bytes
        ending = Ending.MEMORY if killed else Ending.SUCCESS
        peak = min(needs * request_gb * GB, given.memory_bytes)
        allocator.observe(task, answer.ticket, outcome(seconds, busy, peak, ending))
        if killed and given.memory_bytes < 32 * GB:
            again = asked(allocator, task, (float(given.memory_bytes),), str(number), 2, limits)
            assert given.memory_bytes < again.resources.memory_bytes <= 32 * GB


@pytest.mark.parametrize("walker", WALKERS, ids=lambda each: each.name)
def test_the_same_seed_gives_the_same_choices(walker: type) -> None:
    assert lived(walker(5), 60, peak=7 * GB) == lived(walker(5), 60, peak=7 * GB)
    assert lived(walker(5), 60, peak=7 * GB) != lived(walker(6), 60, peak=7 * GB)


@pytest.mark.parametrize("walker", WALKERS, ids=lambda each: each.name)
def test_a_task_that_needs_more_than_the_grid_succeeds(walker: type) -> None:
    given = lived(walker(), 5, peak=25 * GB)  # the grid ends at 15 GB
    assert max(each.memory_bytes for each in given) >= 25 * GB
    assert all(each.fits_in(LIMITS.replace(disk_bytes=LIMITS.disk_bytes)) for each in given)


def test_separate_agents_have_finer_steps() -> None:
    answer = asked(QLearningSeparate())
    assert answer.ticket["memory_most"] == 15.0 and answer.ticket["cores_most"] == 4.0
    assert abs(answer.resources.memory_bytes - 10 * GB) in (0, GB)


def test_separate_memory_ends_lower_than_the_request() -> None:
    allocator = QLearningSeparate(seed=2)
    late = [each.memory_bytes for each in lived(allocator, 600, peak=0.5 * GB)[-200:]]
    assert sum(late) / len(late) < 9 * GB
