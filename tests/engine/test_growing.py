"""Runs that grow: under every plan, with quotes, and with tasks that are handed back."""

from __future__ import annotations

import pytest

from headway.drivers.assemble import assemble
from headway.engine import board
from headway.engine.board import REMEMBERED, REMEMBERED_COMMANDS
from headway.engine.run_state import GATHER_AT_MOST_S, GATHER_S
from headway.model import records
from headway.model.outcome import Ending
from headway.model.resources import Resources
from headway.model.task import Task, Terms, Work
from headway.planning import PLANS
from headway.planning.keeping import START_S, UNKNOWN_S
from headway.report.run.summary import RunSummary
from headway.serving import pool_server, server
from tests.engine.runs import GB, PretendRun

NODE = Resources(cores=2, memory_bytes=8 * GB, disk_bytes=100 * GB, walltime_s=86400.0)


def task(name: str, **about) -> Task:
    return Task(name, name, "true", **about)


class PlannedRun(PretendRun):
    """A growing run on a cluster whose queue is empty."""

    def __init__(self, plan: str) -> None:
        super().__init__([], machine=NODE, growing=True, plan=plan, cluster="slurm")

    def add(self, *tasks: Task) -> list[records.Decision]:
        """Add tasks; return what is decided at once, and when no other has come for a time."""
        self.record(records.TasksAdded(self.now, list(tasks)))
        made = self.decide()
        self.now += GATHER_S
        self.record(records.Tick(self.now))
        return made + self.decide()

    def decide(self) -> list[records.Decision]:
        made = super().decide()
        while any(isinstance(it, records.AskQueue) for it in made[-1:]):
            self.record(records.QueueRead(self.now, [self.now], [1.0]))
            made += super().decide()
        return made


def submitted(decisions: list[records.Decision]) -> list[records.Submit]:
    return [it for it in decisions if isinstance(it, records.Submit)]


@pytest.mark.parametrize("plan", PLANS)
def test_a_run_that_began_empty_gets_nodes_as_soon_as_there_is_a_task(plan: str) -> None:
    run = PlannedRun(plan)
    assert submitted(run.decide()) == []
    run.now = 60.0
    assert len(submitted(run.add(task("a")))) == 1
    assert [launch.task for launch in run.held] == ["a"]


@pytest.mark.parametrize("plan", PLANS)
def test_jobs_without_tasks_are_kept_for_a_while_and_then_given_back(plan: str) -> None:
    run = PlannedRun(plan)
    run.add(task("a"))
    run.now = 10.0
    run.end(run.held[0], Ending.SUCCESS)
    run.decide()
    run.now = 10.0 + UNKNOWN_S
    run.record(records.Tick(run.now))
    run.decide()
    assert [job.tag for job in run.engine.jobs.values() if job.live] == []
    assert len(submitted(run.add(task("b")))) == 1


def test_how_long_jobs_are_kept_follows_from_the_queue_and_from_when_tasks_came_so_far() -> None:
    """Another job would not wait: this one is worth its start, and nothing once the next task came much later."""
    run = PlannedRun("headway")
    for number in range(3):
        run.add(task(f"t{number}"))
        run.now += 10.0
        run.end(run.held[0], Ending.SUCCESS)
        run.decide()
        kept = [job for job in run.engine.jobs.values() if job.live]
        assert len(kept) == (0 if number else 1), number
        if kept:
            assert run.engine.wakes_at == run.now + START_S
        run.now += 5_000.0
        run.record(records.Tick(run.now))
        run.decide()
        assert not [job for job in run.engine.jobs.values() if job.live]


def test_tasks_that_are_added_one_after_the_other_are_planned_for_together() -> None:
    run = PlannedRun("one-job")
    made: list[records.Decision] = []
    for number in range(4):
        run.now = 0.3 * number
        run.record(records.TasksAdded(run.now, [task(f"t{number}")]))
        made += run.decide()
    assert not submitted(made)
    assert run.engine.wakes_at == pytest.approx(0.9 + GATHER_S)
    run.now = 0.9 + GATHER_S
    run.record(records.Tick(run.now))
    assert len(submitted(run.decide())) == 1


def test_tasks_that_never_stop_coming_are_planned_for_all_the_same() -> None:
    run = PlannedRun("one-job")
    for number in range(1, 100):
        run.now = 0.1 * number
        run.record(records.TasksAdded(run.now, [task(f"t{number}")]))
        run.record(records.Tick(run.now))
        if submitted(run.decide()):
            break
    assert GATHER_S < run.now <= GATHER_AT_MOST_S + 0.3


def test_tasks_for_a_job_that_is_there_are_planned_for_soon() -> None:
    run = PlannedRun("headway")
    run.add(task("a"))
    run.add(task("b"))
    assert run.now < (run.engine.wakes_at or 0.0) < 30.0


def test_a_quote_is_what_the_task_gets_and_may_use() -> None:
    run = PretendRun([], growing=True, lends=True, sizer="user")
    asked = task("a", hints={"memory_bytes": 1 * GB})
    run.record(records.QuoteAsked(0.0, "q1", asked))
    (quote,) = run.decide()
    assert isinstance(quote, records.Quote)
    assert quote.resources is not None
    assert quote.resources.memory_bytes == 1 * GB
    run.record(records.TasksAdded(1.0, [task("a", terms=Terms(quote="q1")), task("b", hints={"memory_bytes": GB})]))
    run.decide()
    by_task = {launch.task: launch for launch in run.held}
    assert (by_task["a"].resources, by_task["a"].ceiling) == (quote.resources, None)
    assert by_task["b"].ceiling is not None  # without a quote it may use what no task holds


def test_a_quote_after_failures_is_larger_and_one_that_fits_nowhere_says_so() -> None:
    run = PretendRun([], growing=True)
    run.record(records.QuoteAsked(0.0, "q1", task("a"), {"memory_bytes": [5.0 * GB]}))
    run.record(records.QuoteAsked(0.0, "q2", task("a"), {"memory_bytes": [8.0 * GB]}))
    larger, none = run.decide()
    assert isinstance(larger, records.Quote)
    assert larger.resources is not None
    assert larger.resources.memory_bytes > 5 * GB
    assert isinstance(none, records.Quote)
    assert none.resources is None
    assert "8" in none.why["memory_bytes"].text


def test_a_task_may_be_handed_back_when_it_is_out_of_memory() -> None:
    run = PretendRun([task("a", terms=Terms(on_exhausted="return"))], lambda launch: Ending.MEMORY)
    assert run.to_the_end() == "succeeded"  # whoever added it sees to it
    assert len(run.launches()) == 1
    (given_up,) = [record for record in run.log if isinstance(record, records.GiveUp)]
    assert given_up.handed_back
    assert given_up.why.rule == "handed-back"


def test_a_task_that_was_handed_back_is_no_failed_one_but_an_attempt() -> None:
    ends = {"a": Ending.MEMORY, "b": Ending.SUCCESS}
    tasks = [task(name, terms=Terms(on_exhausted="return")) for name in ends]
    run = PretendRun(tasks, lambda launch: ends[launch.task])
    run.to_the_end()
    summary = RunSummary()
    for record in run.log:
        summary.apply(record)
    whole = summary.whole()
    assert (whole.total, whole.done, whole.failed, whole.waiting, whole.attempts) == (1, 1, 0, 0, 2)


def test_a_task_whose_quote_was_too_small_is_retried_with_more() -> None:
    ends = {1: Ending.MEMORY, 2: Ending.SUCCESS}
    run = PretendRun([], lambda launch: ends[launch.attempt], growing=True)
    run.record(records.QuoteAsked(0.0, "q1", task("a", hints={"memory_bytes": 1 * GB})))
    run.decide()
    run.record(records.TasksAdded(1.0, [task("a", terms=Terms(quote="q1"))]))
    run.record(records.NoMoreTasks(1.0))
    assert run.to_the_end() == "succeeded"
    first, second = run.launches()
    assert second.resources.memory_bytes > first.resources.memory_bytes


def test_a_resumed_run_may_go_on_growing() -> None:
    run = PretendRun([], growing=True)
    run.record(records.QuoteAsked(0.0, "q1", task("a")))
    run.decide()
    run.record(records.Resumed(5.0, "0", growing=True))
    assert run.decide() == []
    run.record(records.TasksAdded(6.0, [task("a", terms=Terms(quote="q1"))]))
    run.record(records.NoMoreTasks(7.0))
    assert run.to_the_end() == "succeeded"


def test_a_pool_forgets_attempts_that_were_over_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would grow for as long as it lives. Late news of such an attempt change nothing."""
    monkeypatch.setattr(board, "REMEMBERED", 5)
    run = PretendRun([], growing=True, again=True, keep_going=True)

    def hand_over(number: int) -> Task:
        held = Resources(cores=1, memory_bytes=GB)
        work = Work("uid", "/flow", f"/flow/{number}", "/flow/home", task(f"t{number}"), 1, held, held)
        handed = Task(f"uid/{number}", "flow/t", "", terms=Terms(share=f"anna/flow {number}"), work=work)
        run.record(records.TasksAdded(run.now, [handed]))
        return handed

    for number in range(20):
        hand_over(number)
        run.now += 1.0
        run.decide()
        if number == 3:
            run.record(records.TaskWithdrawn(run.now, "uid/3"))
        run.end(run.held[0], Ending.EXIT_CODE if number % 2 else Ending.SUCCESS)
    hand_over(0)  # long ago, and so like a new one
    run.decide()
    assert set(run.engine.tasks) == {*(f"uid/{number}" for number in range(15, 20)), "uid/0"}
    assert run.engine.tasks.keys() == run.engine.workflow.tasks.keys()
    assert not run.engine.is_running("uid/7", 1)
    run.end(run.held[0], Ending.SUCCESS)
    run.record(records.NoMoreTasks(run.now))
    assert run.to_the_end() == "succeeded"
    rebuilt = assemble(run.log[0])
    for record in run.log:
        rebuilt.apply(record)
    assert rebuilt.tasks.keys() == run.engine.tasks.keys()
    assert pool_server.REMEMBERED >= 2 * REMEMBERED  # the server never hands a task to an engine that knows it


def test_a_service_forgets_commands_that_were_over_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the amounts that they were promised; tasks on which others may depend stay."""
    monkeypatch.setattr(board, "REMEMBERED_COMMANDS", 5)
    run = PretendRun([], growing=True, keep_going=True)
    run.record(records.TasksAdded(run.now, [task("first")]))
    run.decide()
    run.end(run.held[0], Ending.SUCCESS)
    for number in range(20):
        run.record(records.QuoteAsked(run.now, f"q{number}", task("t")))
        run.record(records.QuoteAsked(run.now, f"e{number}", task("t"), elsewhere=True))
        run.decide()
        command = task(f"c{number}", terms=Terms(quote=f"q{number}", forget=True))
        run.record(records.TasksAdded(run.now, [command]))
        run.now += 1.0
        run.decide()
        run.end(run.held[0], Ending.EXIT_CODE if number % 2 else Ending.SUCCESS)
        run.decide()
    assert set(run.engine.tasks) == {"first", *(f"c{number}" for number in range(14, 20))}
    assert run.engine.tasks.keys() == run.engine.workflow.tasks.keys()
    assert set(run.engine._board.quotes) == {f"q{number}" for number in range(14, 20)}
    rebuilt = assemble(run.log[0])
    for record in run.log:
        rebuilt.apply(record)
    assert rebuilt.tasks.keys() == run.engine.tasks.keys()
    assert server.REMEMBERED >= 2 * REMEMBERED_COMMANDS  # the server never hands a task to an engine that knows it


def test_a_job_is_longer_for_an_attempt_that_earlier_jobs_of_a_pool_were_too_short_for() -> None:
    """Each attempt of a workflow is another task of the pool."""

    def asked_s(expiries: int) -> float:
        run, held = PlannedRun("one-job-per-task"), Resources(cores=1, memory_bytes=GB)
        work = Work("uid", "/flow", "/flow/1", "/flow/home", task("t"), 1 + expiries, held, held, expiries)
        (job,) = submitted(run.add(Task("uid/t", "flow/t", "", work=work)))
        assert job.request.per_node.walltime_s is not None
        return job.request.per_node.walltime_s

    assert asked_s(0) < asked_s(1) < asked_s(2) < asked_s(5)


def test_a_run_in_a_pool_goes_on_for_longer_than_a_job_of_the_pool_may_take() -> None:
    run = PretendRun([task("a"), task("b", parents=("a",))], machine=NODE)
    run.decide()
    run.now = 2 * 86400.0
    run.end(run.held[0], Ending.SUCCESS)
    run.decide()
    assert [launch.task for launch in run.held] == ["b"]
