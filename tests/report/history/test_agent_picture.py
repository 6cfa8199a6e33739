"""Agents drawn in the terminal."""

from __future__ import annotations

from headway.report.history.agent_picture import agent_lines, traces_of
from headway.sizing import SIZERS
from tests.sizing.agent_world import GB, lived


def state(sizer: str, runs: int) -> dict[str, object]:
    allocator = SIZERS[sizer].allocator(1)
    lived(allocator, runs, peak=3 * GB)
    return {"version": 1, "learned": allocator.state(), "runs": {}}


def test_every_action_and_every_step_is_there() -> None:
    (trace,) = traces_of(state("q-learning", 60), "c")
    lines = [line.plain for line in agent_lines(trace, 120)]
    actions = {step.action: sum(each.action == step.action for each in trace.steps) for step in trace.steps}
    for action, count in actions.items():
        (line,) = [line for line in lines if line.strip().startswith(action)]
        assert line.count("•") == count
        assert line.endswith(f" {count}")
    assert any("all rewards" in line for line in lines)
    assert f"{trace.count} steps" in lines[0]


def test_only_the_newest_steps_fit_a_narrow_screen() -> None:
    (trace,) = traces_of(state("q-learning", 150), "c")
    lines = [line.plain for line in agent_lines(trace, 60)]
    assert max(map(len, lines)) <= 60 + 4  # and how often
    assert lines[1] == f"steps {trace.count - 35} to {trace.count}"


def test_bandits_are_drawn_one_by_one() -> None:
    assert [trace.name for trace in traces_of(state("gradient-bandit", 3), "c")] == ["cores", "memory"]


def test_an_unreadable_state_has_no_traces() -> None:
    assert traces_of({}, "c") == []
    assert traces_of({"learned": {"agents": {"c": {"traces": {"agent": {"count": "x"}}}}}}, "c") == []
    assert traces_of(state("q-learning", 2), "other") == []


def test_a_constant_value_is_one_line() -> None:
    (trace,) = traces_of(state("ladder-malleable", 2), "c")
    assert any("always" in line.plain for line in agent_lines(trace, 80))
