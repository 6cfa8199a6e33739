"""The engine alone: decisions that follow from facts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.drivers.assemble import assemble
from headway.engine.engine import READ_AHEAD
from headway.engine.failures import MOST_QUICK_DEATHS, SOON_S
from headway.engine.placer import MOST_OVERTAKINGS
from headway.engine.state import Phase
from headway.model import codec, records
from headway.model.job import JobPhase
from headway.model.outcome import Ending, Stamp
from headway.model.resources import Resources
from headway.model.task import Fingerprint, Task
from tests.engine.runs import GB, MACHINE, PretendRun


def chain(*ids: str) -> list[Task]:
    return [Task(task, task, "true", parents=tuple(ids[max(0, i - 1) : i])) for i, task in enumerate(ids)]


def test_parents_go_first_and_the_run_ends() -> None:
    run = PretendRun(chain("a", "b", "c"))
    assert run.to_the_end() == "succeeded"
    assert [launch.task for launch in run.launches()] == ["a", "b", "c"]
    assert [type(r).__name__ for r in run.log][-2:] == ["Release", "Finish"]


def test_a_task_waits_for_all_that_it_depends_on() -> None:
    run = PretendRun([Task("a", "a", "true"), Task("b", "b", "true"), Task("c", "c", "true", parents=("a", "b"))])
    run.decide()
    run.end(run.held[0], Ending.SUCCESS)
    run.decide()
    assert [launch.task for launch in run.held] == ["b"]
    assert run.to_the_end() == "succeeded"


def test_tasks_are_packed_and_never_beyond_the_machine() -> None:
    run = PretendRun(Task(f"t{i}", "t", "true", hints={"cores": 0.5, "memory_bytes": 3 * GB}) for i in range(10))
    run.decide()
    assert len(run.held) == 2  # 3 of 8 GB each
    run.end(run.held[0], Ending.SUCCESS)
    run.decide()
    assert len(run.held) == 4  # 1 GB was seen; one task still has 3; half a core each: now the cores are the limit
    held = sum((launch.resources for launch in run.held), Resources(nodes=1))
    assert held.fits_in(MACHINE)


def test_memory_is_retried_with_more_memory_only() -> None:
    sizes = {1: Ending.MEMORY, 2: Ending.MEMORY, 3: Ending.SUCCESS}
    run = PretendRun([Task("t", "t", "true", hints={"memory_bytes": 1 * GB})], lambda launch: sizes[launch.attempt])
    assert run.to_the_end() == "succeeded"
    given = [launch.resources for launch in run.launches()]
    assert [r.memory_bytes for r in given] == [1 * GB, 2 * GB, 4 * GB]
    assert len({(r.cores, r.disk_bytes, r.walltime_s) for r in given}) == 1


def test_memory_that_is_never_enough_is_given_up_at_the_limit() -> None:
    run = PretendRun([Task("t", "t", "true", hints={"memory_bytes": 3 * GB})], lambda launch: Ending.MEMORY)
    assert run.to_the_end() == "failed"
    assert [launch.resources.memory_bytes for launch in run.launches()] == [3 * GB, 6 * GB, 8 * GB]
    (verdict,) = [r for r in run.log if isinstance(r, records.GiveUp)]
    assert verdict.why.rule == "cannot-fit"
    assert verdict.why.text == "8 GB memory ran out, and there is no more here"


def test_a_task_that_reaches_its_own_limit_is_not_tried_again() -> None:
    run = PretendRun([Task("t", "t", "true", limits={"walltime_s": 60})], lambda launch: Ending.TIME)
    assert run.to_the_end() == "failed"
    assert [launch.resources.walltime_s for launch in run.launches()] == [60]
    (verdict,) = [r for r in run.log if isinstance(r, records.GiveUp)]
    assert verdict.why.text.startswith("it used up the 1m 00s time that 'limit' in the workflow file allows")


def test_memory_that_no_task_holds_is_lent() -> None:
    task = Task("t", "t", "true", hints={"memory_bytes": GB})
    for lends, ceiling in ((False, None), (True, 4 * GB)):
        run = PretendRun([task], lambda launch: Ending.SUCCESS, lends=lends)
        run.to_the_end()
        (launch,) = run.launches()
        assert launch.resources.memory_bytes == GB
        assert (launch.ceiling and launch.ceiling.memory_bytes) == ceiling


def test_one_task_of_a_new_category_tries_less_than_its_hint() -> None:
    """The other tasks that start at the same time get the hint: were the first guess too low, all would fail."""
    machine = Resources(cores=8, memory_bytes=64 * GB, disk_bytes=100 * GB)
    hints = {"memory_bytes": 6 * GB}
    old = [Task(f"old{number}", f"old{number}", "true", outputs=(f"{number}",), hints=hints) for number in range(4)]
    new = [
        Task(
            f"new{number}", "new", "true", parents=tuple(task.id for task in old), outputs=(f"n{number}",), hints=hints
        )
        for number in range(5)
    ]
    run = PretendRun([*old, *new], machine=machine, sizer="ladder", failures=0.03)
    run.decide()
    for launch in list(run.held):
        run.end(launch, Ending.SUCCESS)  # each used 1 GB
    run.decide()
    given = sorted(launch.resources.memory_bytes for launch in run.held)
    assert len(given) == 5
    assert 1 * GB < given[0] < 3 * GB
    assert given[1:] == [6 * GB] * 4


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_other_failures_are_retried_as_often_as_the_user_says(retries: int) -> None:
    run = PretendRun([Task("t", "t", "true", retries=retries)], lambda launch: Ending.EXIT_CODE)
    assert run.to_the_end() == "failed"
    assert len(run.launches()) == 1 + retries


def test_exhaustion_does_not_use_up_the_user_s_retries() -> None:
    endings = [Ending.MEMORY, Ending.EXIT_CODE, Ending.MEMORY, Ending.SUCCESS]
    run = PretendRun(
        [Task("t", "t", "true", hints={"memory_bytes": GB}, retries=1)], lambda launch: endings[launch.attempt - 1]
    )
    assert run.to_the_end() == "succeeded"


def test_node_loss_never_counts_against_a_task() -> None:
    """Its one retry is left when it fails by itself."""
    ends = {4: Ending.EXIT_CODE}
    run = PretendRun([Task("t", "t", "true", retries=1)], lambda launch: ends.get(launch.attempt, Ending.SUCCESS))
    run.decide()
    for _ in range(3):
        run.held.clear()
        run.record(records.NodeLost(run.now, "here"))
        for tag in list(run.engine.jobs):
            run.record(records.JobState(run.now, tag, records.JobPhase.ENDED))
        run.decide()
        assert len(run.held) == 1
    assert run.to_the_end() == "succeeded"
    assert [launch.attempt for launch in run.launches()] == [1, 2, 3, 4, 5]
    assert len({launch.tag for launch in run.launches()}) == 4


def lose_the_node(run: PretendRun, *, excused: bool = False) -> None:
    run.held.clear()
    run.record(records.NodeLost(run.now, "here", excused=excused))
    for tag in list(run.engine.jobs):
        run.record(records.JobState(run.now, tag, records.JobPhase.ENDED))
    run.decide()


def test_a_task_that_kills_every_node_is_stopped_and_named() -> None:
    run = PretendRun([Task("t", "t", "true")])
    run.decide()
    while not run.engine.finished:
        lose_the_node(run)
    assert len(run.launches()) == 5
    assert any(isinstance(r, records.GiveUp) and r.why.rule == "kills-nodes" for r in run.log)


def test_a_task_that_ends_one_supervisor_after_the_other_on_one_machine_is_stopped_and_named() -> None:
    run = PretendRun([Task("t", "t", "true")])
    run.decide()
    while not run.engine.finished:
        lose_the_node(run, excused=True)
    assert len(run.launches()) == MOST_QUICK_DEATHS
    (given_up,) = (record for record in run.log if isinstance(record, records.GiveUp))
    assert given_up.why.rule == "kills-supervisors" and "20 supervisors in a row" in given_up.why.text


def test_its_neighbour_is_not_given_up() -> None:
    run = PretendRun([Task("killer", "k", "true"), Task("neighbour", "n", "true")], keep_going=True)
    run.decide()
    while not run.engine.finished:
        if "killer" in {launch.task for launch in run.held}:
            lose_the_node(run, excused=True)
        else:
            run.end(run.held[0], Ending.SUCCESS)
            run.decide()
    assert [record.task for record in run.log if isinstance(record, records.GiveUp)] == ["killer"]
    assert run.engine.tasks["neighbour"].phase is Phase.SUCCEEDED


def test_a_long_task_survives_any_number_of_deaths_of_supervisors_on_one_machine() -> None:
    run = PretendRun([Task("t", "t", "true")])
    run.decide()
    for number in range(3 * MOST_QUICK_DEATHS):
        run.now += SOON_S + 1.0 if number % 10 == 9 else 1.0  # now and then it runs for a while
        lose_the_node(run, excused=True)
    assert run.to_the_end() == "succeeded"


def test_a_neighbour_of_a_task_that_kills_nodes_is_not_given_up() -> None:
    run = PretendRun([Task("killer", "k", "true"), Task("neighbour", "n", "true")], keep_going=True)
    run.decide()
    for _ in range(40):
        if any(launch.task == "killer" for launch in run.held):
            lose_the_node(run)
        elif run.held:
            run.end(run.held[0], Ending.SUCCESS)
            run.decide()
    assert run.engine.finished == "failed"
    assert run.engine.tasks["killer"].phase is Phase.FAILED
    assert run.engine.tasks["neighbour"].phase is Phase.SUCCEEDED


def test_many_waiting_tasks_of_one_category_do_not_hide_another() -> None:
    wide = [Task(f"w{i}", "wide", "true", hints={"cores": 2}) for i in range(READ_AHEAD + 50)]
    run = PretendRun([Task("hold", "hold", "true"), *wide, Task("small", "small", "true")])
    run.decide()
    assert [launch.task for launch in run.held] == ["hold", "small"]


def test_a_task_that_can_never_fit_is_reported_before_anything_runs() -> None:
    run = PretendRun([*chain("a", "b"), Task("big", "big", "true", parents=("b",), hints={"memory_bytes": 9 * GB})])
    decisions = run.decide()
    assert isinstance(decisions[0], records.GiveUp)
    assert not run.launches()
    assert "9 GB" in decisions[0].why.text and "8 GB" in decisions[0].why.text


def test_without_keep_going_nothing_new_starts_after_a_failure() -> None:
    tasks = [Task(name, "c", "true") for name in "abcdef"]
    run = PretendRun(tasks, lambda launch: Ending.EXIT_CODE if launch.task == "a" else Ending.SUCCESS)
    assert run.to_the_end() == "failed"
    assert {launch.task for launch in run.launches()} == {"a", "b"}


def test_with_keep_going_only_what_depends_on_the_failure_is_cut_off() -> None:
    tasks = [*chain("a", "b", "c"), *(Task(name, "d", "true") for name in "xyz")]
    run = PretendRun(tasks, lambda r: Ending.EXIT_CODE if r.task == "a" else Ending.SUCCESS, keep_going=True)
    assert run.to_the_end() == "failed"
    phases = {task: state.phase for task, state in run.engine.tasks.items()}
    assert phases == {"a": Phase.FAILED, "b": Phase.CUT_OFF, "c": Phase.CUT_OFF} | dict.fromkeys("xyz", Phase.SUCCEEDED)


def test_a_large_task_is_not_starved_by_small_ones() -> None:
    small = [Task(f"s{i}", "small", "true", hints={"cores": 1}) for i in range(200)]
    large = Task("large", "large", "true", hints={"cores": 2})
    run = PretendRun([small[0], small[1], large, *small[2:]])
    assert run.to_the_end() == "succeeded"
    order = [launch.task for launch in run.launches()]
    assert order.index("large") <= 2 + MOST_OVERTAKINGS


def test_higher_priority_first() -> None:
    run = PretendRun([Task("a", "a", "true"), Task("b", "b", "true"), Task("c", "c", "true", priority=5)])
    run.decide()
    assert run.launches()[0].task == "c"


def test_stopping_gently_lets_running_tasks_end_and_is_resumable() -> None:
    run = PretendRun(Task(f"t{i}", "t", "true") for i in range(6))
    run.decide()
    run.record(records.UserCancel(run.now, "gently"))
    assert run.to_the_end() == "stopped"
    assert len(run.launches()) == 2
    run.record(records.Resumed(run.now, "x"))
    assert run.to_the_end() == "succeeded"
    assert sorted(launch.task for launch in run.launches()) == [f"t{i}" for i in range(6)]


def test_a_manager_that_relieves_another_goes_on_with_stopping() -> None:
    run = PretendRun(Task(f"t{i}", "t", "true") for i in range(6))
    run.decide()
    run.record(records.UserCancel(run.now, "gently"))
    run.record(records.Resumed(run.now, "x", relieves=True))
    assert run.to_the_end() == "stopped"
    assert len(run.launches()) == 2


def test_stopping_at_once_kills_and_is_resumable() -> None:
    run = PretendRun(Task(f"t{i}", "t", "true") for i in range(6))
    run.decide()
    run.record(records.UserCancel(run.now, "now"))
    kills = [decision.task for decision in run.decide() if isinstance(decision, records.Kill)]
    assert sorted(kills) == ["t0", "t1"]
    assert not any(isinstance(decision, records.Kill) for decision in run.decide()), "one kill each"
    for launch in list(run.held):
        run.end(launch, Ending.CANCELLED)
    run.decide()
    assert run.engine.finished == "stopped"
    run.record(records.Resumed(run.now, "x"))
    assert run.to_the_end() == "succeeded"


def test_late_news_of_a_lost_attempt_changes_nothing() -> None:
    run = PretendRun([Task("t", "t", "true")])
    run.decide()
    lost = run.held[0]
    run.record(records.NodeLost(run.now, "here"))
    for tag in list(run.engine.jobs):
        run.record(records.JobState(run.now, tag, records.JobPhase.ENDED))
    run.decide()
    run.end(lost, Ending.SUCCESS)
    assert run.engine.tasks["t"].phase is Phase.RUNNING


def test_a_missing_input_fails_the_task_by_name() -> None:
    run = PretendRun([Task("t", "t", "true", inputs=("x",))])
    run.inputs = lambda task: records.InputsRead(run.now, task, missing_inputs=["x"])
    assert run.to_the_end() == "failed"
    (verdict,) = [r for r in run.log if isinstance(r, records.GiveUp)]
    assert verdict.why.rule == "missing-input" and "x" in verdict.why.text
    assert not run.launches()


def known(task: Task, **digests: str) -> records.ResultsKnown:
    return records.ResultsKnown(0.0, [records.Known(task.id, Fingerprint(task.recipe(), digests), "7")])


def test_an_earlier_result_stands_until_something_changes() -> None:
    task = Task("t", "t", "sort x > y", inputs=("x",), outputs=("y",))
    run = PretendRun([task])
    run.record(known(task, x="digest"))
    run.inputs = lambda name: records.InputsRead(run.now, name, digests={"x": "digest"})
    assert run.to_the_end() == "succeeded"
    assert not run.launches()
    assert [r.run for r in run.log if isinstance(r, records.Reuse)] == ["7"]


@pytest.mark.parametrize(
    ("before", "digest", "missing", "reason"),
    [
        (Task("t", "t", "sort -u x > y", inputs=("x",), outputs=("y",)), "digest", [], "its command changed"),
        (
            Task("t", "t", "sort x > y", {"A": "1"}, inputs=("x",), outputs=("y",)),
            "digest",
            [],
            "its environment changed",
        ),
        (Task("t", "t", "sort x > y", inputs=("x",), outputs=("y",)), "other", [], "input x changed"),
        (Task("t", "t", "sort x > y", inputs=("x",), outputs=("y",)), "digest", ["y"], "output y is missing"),
    ],
)
def test_what_changed_is_said(before: Task, digest: str, missing: list[str], reason: str) -> None:
    run = PretendRun([Task("t", "t", "sort x > y", inputs=("x",), outputs=("y",))])
    run.record(known(before, x="digest"))
    run.inputs = lambda name: records.InputsRead(run.now, name, digests={"x": digest}, missing_outputs=missing)
    assert run.to_the_end() == "succeeded"
    assert [launch.because for launch in run.launches()] == [reason]


def test_an_output_that_another_program_changed_is_made_again() -> None:
    task = Task("t", "t", "true > y", outputs=("y",))
    before, touched, other = Stamp(1, 1, "digest"), Stamp(1, 2, "digest"), Stamp(1, 2, "other")
    for now, launched in ((touched, False), (other, True)):
        run = PretendRun([task])
        result = records.Known("t", Fingerprint(task.recipe(), {}), "7", {"y": before})
        run.record(records.ResultsKnown(0.0, [result]))
        run.inputs = lambda name, made=now, run=run: records.InputsRead(run.now, name, outputs={"y": made})
        assert run.to_the_end() == "succeeded"
        assert bool(run.launches()) == launched


def test_again_runs_everything() -> None:
    task = Task("t", "t", "true")
    run = PretendRun([task], again=True)
    run.record(known(task))
    assert run.to_the_end() == "succeeded"
    assert "--again" in run.launches()[0].because


def test_the_workflow_grows_while_it_runs() -> None:
    run = PretendRun([Task("a", "a", "true", outputs=("x",))])
    run.decide()
    run.record(records.TasksAdded(run.now, [Task("b", "b", "true", inputs=("x",)), Task("c", "c", "true")]))
    run.decide()
    assert [launch.task for launch in run.held] == ["a", "c"]
    assert run.to_the_end() == "succeeded"
    assert [launch.task for launch in run.launches()] == ["a", "c", "b"]


def test_a_task_added_below_a_failed_one_is_cut_off() -> None:
    run = PretendRun([Task("a", "a", "true"), Task("z", "z", "true")], lambda r: Ending.EXIT_CODE, keep_going=True)
    run.decide()
    run.end(run.held[0], Ending.EXIT_CODE)
    run.decide()
    run.record(records.TasksAdded(run.now, [Task("b", "b", "true", parents=("a",))]))
    assert run.engine.tasks["b"].phase is Phase.CUT_OFF


def test_a_multi_node_task_does_not_fit_one_machine() -> None:
    run = PretendRun([Task("mpi", "mpi", "true", hints={"nodes": 2})])
    assert run.to_the_end() == "failed"
    assert not run.launches()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_run_ends_replays_to_the_same_state_and_succeeds_once_each(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 14))
    tasks = []
    for index in range(count):
        parents = data.draw(st.sets(st.integers(0, index - 1), max_size=3)) if index else set()
        hints = data.draw(st.sampled_from([{}, {"cores": 2}, {"memory_bytes": 3 * GB}, {"walltime_s": 9.0}]))
        tasks.append(
            Task(
                f"t{index}",
                f"c{index % 3}",
                "true",
                parents=tuple(f"t{parent}" for parent in sorted(parents)),
                hints=hints,
                retries=data.draw(st.integers(0, 2)),
                priority=data.draw(st.integers(0, 1)),
            )
        )
    endings = st.sampled_from([Ending.SUCCESS] * 5 + [Ending.MEMORY, Ending.EXIT_CODE, Ending.NODE_LOST, Ending.TIME])
    budget = iter(data.draw(st.lists(endings, min_size=60, max_size=60)))
    run = PretendRun(tasks, lambda launch: next(budget, Ending.SUCCESS), keep_going=data.draw(st.booleans()))
    status = run.to_the_end()
    successes = [r.outcome.task for r in run.log if isinstance(r, records.TaskEnded) and r.outcome.ending == "success"]
    assert len(successes) == len(set(successes))
    assert (status == "succeeded") == (len(successes) == count)
    twin = assemble(run.engine.settings)
    for record in run.log:
        twin.apply(codec.decode(codec.encode(record)))
    assert {t: s.phase for t, s in twin.tasks.items()} == {t: s.phase for t, s in run.engine.tasks.items()}
    assert twin.allocator.state() == run.engine.allocator.state()
    assert twin.decide(run.now) == run.engine.decide(run.now)


# --- workflows that grow, shrink and wait ---


def task(name: str, **about: Any) -> Task:
    return Task(name, name, "true", **about)


def test_a_growing_run_is_over_when_nothing_more_comes() -> None:
    run = PretendRun([], growing=True)
    assert run.decide() == []
    run.record(records.TasksAdded(1.0, [task("a")]))
    run.decide()
    run.end(run.held[0], Ending.SUCCESS)
    assert [type(decision) for decision in run.decide()] == []  # it keeps its node: more may come
    run.record(records.TasksAdded(2.0, [task("b", parents=("a",))]))
    run.decide()
    run.record(records.NoMoreTasks(3.0))
    assert run.to_the_end() == "succeeded"
    assert len(run.launches()) == 2
    assert sum(isinstance(record, records.Submit) for record in run.log) == 1


def test_a_withdrawn_task_never_runs_nor_does_what_depends_on_it() -> None:
    run = PretendRun([task("a"), task("b"), task("c", parents=("b",))], growing=True)
    run.record(records.TaskWithdrawn(1.0, "b"))
    run.record(records.NoMoreTasks(1.0))
    assert run.to_the_end() == "succeeded"
    assert [launch.task for launch in run.launches()] == ["a"]


@pytest.mark.parametrize("ending", [Ending.CANCELLED, Ending.MEMORY, Ending.EXIT_CODE])
def test_a_withdrawn_task_that_runs_is_stopped_and_not_tried_again(ending: Ending) -> None:
    run = PretendRun([task("a", retries=5)])
    run.decide()
    run.record(records.TaskWithdrawn(1.0, "a"))
    kills = run.decide()
    assert [(kill.task, kill.attempt) for kill in kills if isinstance(kill, records.Kill)] == [("a", 1)]
    assert run.decide() == []  # once is enough
    run.end(run.held[0], ending)
    run.decide()
    assert (run.engine.finished, len(run.launches())) == ("succeeded", 1)


def test_a_withdrawn_task_is_not_tried_again_when_its_node_is_lost() -> None:
    run = PretendRun([task("a")])
    run.decide()
    run.record(records.TaskWithdrawn(1.0, "a"))
    run.record(records.NodeLost(2.0, "here"))
    run.held.clear()
    run.decide()
    assert (run.engine.finished, len(run.launches())) == ("succeeded", 1)


def test_a_waiting_task_lends_its_resources_and_takes_them_back() -> None:
    whole = {"cores": 2.0, "memory_bytes": 8e9}
    run = PretendRun([task("outer", hints=whole), task("inner", hints=whole)])
    run.decide()
    outer = run.held[0]
    run.record(records.TaskWaits(1.0, "outer", 1, waits=True))
    run.decide()
    assert [launch.task for launch in run.held] == ["outer", "inner"]
    run.record(records.TaskWaits(2.0, "outer", 1, waits=False))
    run.record(records.TaskWaits(2.0, "outer", 1, waits=False))  # told twice, counted once
    node = run.engine.nodes["here"]
    assert (node.free.cores, node.free.memory_bytes) == (-2, -8 * GB)
    run.record(records.TasksAdded(3.0, [task("later")]))
    run.decide()
    assert len(run.held) == 2  # no room until both have ended
    run.end(run.held[1], Ending.SUCCESS)
    run.end(outer, Ending.SUCCESS)
    assert node.free == run.machine
    assert run.to_the_end() == "succeeded"


def test_a_task_that_ends_while_it_waits_gives_nothing_back_twice() -> None:
    run = PretendRun([task("a"), task("b")])
    run.decide()
    run.record(records.TaskWaits(1.0, "a", 1, waits=True))
    run.end(run.held[0], Ending.EXIT_CODE)
    run.record(records.TaskWaits(2.0, "a", 1, waits=False))  # late news
    run.end(run.held[0], Ending.SUCCESS)
    node = run.engine.nodes["here"]
    assert node.free == run.machine


def test_a_resumed_growing_run_comes_to_its_end() -> None:
    run = PretendRun([task("a")], growing=True)
    run.decide()
    run.record(records.Resumed(5.0, "0"))
    assert run.to_the_end() == "succeeded"


def test_tasks_of_one_category_that_are_given_less_go_past_one_that_finds_no_room() -> None:
    tasks = [
        task("first"),
        *(Task(f"t{n}", "kind", "true", hints={"memory_bytes": size * GB}) for n, size in enumerate((7, 6, 2))),
    ]
    run = PretendRun(tasks, sizer="user")
    run.decide()
    assert [launch.task for launch in run.held] == ["first", "t2"]
    assert run.held[1].overtook == "t0"


def test_a_task_that_waited_when_its_manager_died_has_its_resources_back() -> None:
    run = PretendRun([task("a")], growing=True)
    run.decide()
    node = run.engine.nodes["here"]
    before = node.free
    run.record(records.TaskWaits(1.0, "a", 1, waits=True))
    run.record(records.Resumed(2.0, "0"))
    assert node.free == before
    run.end(run.held[0], Ending.SUCCESS)
    assert node.free == run.machine


def test_nothing_starts_in_a_suspended_job() -> None:
    whole = {"cores": MACHINE.cores}
    run = PretendRun([Task("a", "t", "true", hints=whole), Task("b", "t", "true", hints=whole)])
    run.decide()
    (first,), tag = run.held, run.held[0].tag
    run.record(records.JobSeen(run.now, tag, JobPhase.RUNNING, 7, suspended=True))
    run.end(first, Ending.SUCCESS)
    run.decide()
    assert not run.held
    run.record(records.JobSeen(run.now, tag, JobPhase.RUNNING, 7))
    run.decide()
    assert [launch.task for launch in run.held] == ["b"]


def test_a_changed_time_limit_counts() -> None:
    machine = MACHINE.replace(walltime_s=600.0)
    run = PretendRun([Task("a", "t", "true")], machine=machine, cluster="slurm", plan="one-job-per-task")
    run.decide()
    tag = run.held[0].tag
    for walltime_s, until in ((1800.0, 1800.0), (60.0, 60.0), (None, 600.0)):
        run.record(records.JobSeen(run.now, tag, JobPhase.RUNNING, 7, walltime_s=walltime_s))
        assert run.engine.nodes["here"].until == until


@pytest.mark.parametrize(("notice_s", "stake_s"), [(0, 300.0), (20, 20.0)])
def test_where_jobs_are_preempted_a_request_says_how_much_work_it_holds(notice_s: float, stake_s: float) -> None:
    task = Task("a", "t", "true", hints={"walltime_s": 300.0}, notice_s=notice_s)
    run = PretendRun([task], cluster="slurm", plan="one-job")
    run.record(records.LimitsRead(0.0, MACHINE, preempts=True))
    run.record(records.QueueRead(0.0, [0.0], [1.0]))
    submits = [decision for decision in run.decide() if isinstance(decision, records.Submit)]
    assert [submit.request.at_stake_s for submit in submits] == [stake_s]


def test_plans_know_how_much_a_task_reads_as_the_placer_does() -> None:
    """Else a plan may ask for jobs that the placer finds too short for the task, again and again."""
    run = PretendRun([Task("t", "t", "true", inputs=("data",))])
    run.inputs = lambda task: records.InputsRead(run.now, task, input_bytes=3 * GB, inputs={"data": "digest"})
    run.decide()
    assert run.engine.tasks["t"].task.input_bytes == run.engine.workflow.tasks["t"].input_bytes == 3 * GB
