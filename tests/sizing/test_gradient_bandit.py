"""`gradient-bandit` on hand-worked numbers, and the laws of preferences."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.outcome import Ending
from headway.model.task import Task
from headway.sizing.agents.gradient_bandit import GradientBandit, GradientBanditPrinted, cores_reward, memory_reward
from headway.sizing.agents.preferences import Preferences
from tests.sizing.agent_world import GB, TASK, asked, lived, outcome


def test_the_update_by_hand() -> None:
    """Equations 2.2 and 2.3: three actions, step 0.1, rewards -200, -200, -150 (section 4.2.1's example)."""
    bandit = Preferences()
    bandit.learn(1, -200.0, 0.1, 3)  # its own average: nothing changes
    assert bandit.values == {1: 0.0, 2: 0.0, 3: 0.0}
    bandit.learn(2, -200.0, 0.1, 3)
    bandit.learn(3, -150.0, 0.1, 3)  # 0.1 · 50 = 5, of which two thirds and minus a third
    assert bandit.values == pytest.approx({1: -5 / 3, 2: -5 / 3, 3: 10 / 3})
    weights = [exp(-5 / 3), exp(-5 / 3), exp(10 / 3)]
    assert bandit.probabilities(3) == pytest.approx([weight / sum(weights) for weight in weights])
    bandit.learn(1, -100.0, 0.1, 3)  # the average is -550 / 3
    pull, likely = 0.1 * (550 / 3 - 100), weights[0] / sum(weights)
    assert bandit.values[1] == pytest.approx(-5 / 3 + pull * (1 - likely))
    assert bandit.values[2] == pytest.approx(-5 / 3 - pull * likely)
    assert bandit.mean_reward == pytest.approx(-162.5)


def test_a_draw_picks_an_action_by_its_probability() -> None:
    bandit = Preferences()
    bandit.learn(1, -2.0, 1.0, 2)
    bandit.learn(2, -1.0, 1.0, 2)  # preferences -0.5 and 0.5
    low = exp(-0.5) / (exp(-0.5) + exp(0.5))
    assert bandit.choose(2, low - 1e-9) == 1
    assert bandit.choose(2, low + 1e-9) == 2
    assert bandit.choose(2, 1 - 1e-16) == 2


@given(st.lists(st.tuples(st.integers(1, 12), st.floats(-1e6, 0), st.floats(1e-6, 10))), st.integers(1, 12))
def test_probabilities_sum_to_one(history: list[tuple[int, float, float]], actions: int) -> None:
    bandit = Preferences()
    for action, reward, step in history:
        bandit.learn(min(action, actions), reward, step, actions)
    found = bandit.probabilities(actions)
    assert sum(found) == pytest.approx(1.0)
    assert all(0 <= probability <= 1 for probability in found)
    assert sum(bandit.values.values()) == pytest.approx(
        0.0, abs=1e-6 * (1 + max(map(abs, bandit.values.values()), default=0))
    )


def test_rewards_by_hand() -> None:
    assert cores_reward(60.0, 0.0) == -60.0  # all cores busy: the time remains
    assert cores_reward(60.0, 3.0) == -240.0
    assert memory_reward(5e9, 1e9, outcome(peak=2e9)) == -3.0
    assert memory_reward(5e9, 1e9, outcome(peak=5e9, ending=Ending.MEMORY)) == -10.0
    assert memory_reward(5e9, 1e9, outcome(ending=Ending.EXIT_CODE)) is None


def test_cores_learn_with_steps_of_one_over_the_mean_time() -> None:
    allocator = GradientBandit()
    answer = asked(allocator)
    assert answer.ticket["most_cores"] == 4.0, "twice what the workflow asks for"
    assert answer.ticket["most_chunks"] == 15.0, "one and a half times what the workflow asks for"
    cores, chunk = answer.ticket["given_cores"], answer.ticket["chunk"]
    assert answer.resources.memory_bytes == chunk * GB
    for seconds in (80.0, 120.0):  # somebody else's runs: only their times are learned
        allocator.observe(TASK, {}, outcome(seconds))
    allocator.observe(TASK, answer.ticket, outcome(100.0, busy=cores, peak=0.5 * GB))
    allocator.observe(TASK, answer.ticket, outcome(40.0, busy=cores, peak=0.5 * GB))
    agent = allocator.state()["agents"]["c"]
    assert (agent["runs"], agent["mean_s"]) == (4, 85.0)
    assert agent["cores"]["mean_reward"] == -70.0
    step = (1 / 85.0) * (-40.0 - -100.0)
    assert agent["cores"]["values"][f"{cores:g}"] == pytest.approx(0.75 * step)
    assert agent["memory"]["mean_reward"] == pytest.approx(-(chunk - 0.5))


def test_a_killed_attempt_teaches_only_the_memory_bandit() -> None:
    allocator = GradientBandit()
    allocator.observe(TASK, {}, outcome(50.0))
    answer = asked(allocator)
    allocator.observe(TASK, answer.ticket, outcome(10.0, peak=answer.resources.memory_bytes, ending=Ending.MEMORY))
    agent = allocator.state()["agents"]["c"]
    assert agent["cores"]["rewards"] == 0
    assert agent["memory"]["mean_reward"] == -2.0 * answer.ticket["chunk"]
    assert agent["mean_s"] == 50.0


def test_unmeasured_attempts_teach_nothing() -> None:
    allocator = GradientBandit()
    answer = asked(allocator)
    allocator.observe(TASK, answer.ticket, outcome(busy=None))
    assert allocator.state()["agents"]["c"]["cores"]["rewards"] == 0


@pytest.mark.parametrize(("failed", "names"), [(float(chunks) * GB, range(40)) for chunks in (1, 4, 9, 12)])
def test_after_a_kill_a_draw_that_is_not_more_is_doubled_or_the_request_counts(failed: float, names: range) -> None:
    for name in names:
        answer = asked(GradientBandit(), failures=(failed,), name=str(name))
        drawn = answer.why["memory_bytes"].figures.get("drawn", 0) * GB
        given = answer.resources.memory_bytes
        assert given > failed
        if answer.why["memory_bytes"].rule == "doubled":  # the request had run out, too
            assert failed >= 10 * GB and given == 2 * failed
        else:
            assert given == (drawn if drawn > failed else 2 * drawn if 2 * drawn > failed else 10 * GB)


def test_a_kill_of_a_small_allocation_costs_little() -> None:
    """By the thesis's rule, one chunk and a kill is better than nine unused chunks."""
    assert memory_reward(1e9, 1e9, outcome(ending=Ending.MEMORY)) > memory_reward(10e9, 1e9, outcome(peak=1e9))


def test_it_finds_the_smallest_chunk_where_that_is_enough() -> None:
    allocator = GradientBandit(seed=3)
    given = lived(allocator, 400, peak=0.4 * GB)
    late = [each.memory_bytes for each in given[-60:]]
    assert sorted(late)[30] <= 2 * GB, "the request is 10 GB"


def test_serial_tasks_end_up_with_few_cores() -> None:
    allocator = GradientBandit(seed=1)
    late = [each.cores for each in lived(allocator, 300, peak=0.4 * GB, parallel=0.0)[-60:]]
    assert sorted(late)[30] <= 2


def test_all_cores_are_those_of_the_machine() -> None:
    assert asked(GradientBanditPrinted()).ticket["most_cores"] == 8.0


def test_a_waiting_task_keeps_its_draw_and_draws_anew_in_the_next_run() -> None:
    allocator = GradientBandit()
    names = [str(number) for number in range(40)]
    before = [asked(allocator, name=name).resources for name in names]
    allocator.observe(Task("u", "other", "true"), {}, outcome())
    assert [asked(allocator, name=name).resources for name in names] == before
    allocator.restore(allocator.state())
    assert [asked(allocator, name=name).resources for name in names] != before
