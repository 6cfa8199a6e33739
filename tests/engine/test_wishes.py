"""Tasks that may run only in certain jobs."""

from __future__ import annotations

import pytest

from headway.drivers.assemble import assemble
from headway.engine.engine import Engine
from headway.engine.run_state import GATHER_S
from headway.model import records
from headway.model.job import JobPhase, Wish
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Launch, QueueRead, Release, Submit
from headway.model.resources import Resources
from headway.model.task import Task
from headway.planning.keeping import START_S

GB = 10**9
USUAL = Resources(cores=4, memory_bytes=8 * GB, disk_bytes=100 * GB, nodes=3, walltime_s=36000.0)
LARGE = USUAL.replace(cores=16, memory_bytes=64 * GB, nodes=1)
GPU = Wish(partition="gpu")


class Site:
    """A run whose jobs are granted at once; `known` are the wishes that the site heeds."""

    def __init__(
        self,
        *tasks: Task,
        plan: str = "headway",
        known: tuple[Wish, ...] = (GPU,),
        most_jobs: int = 8,
        growing: bool = False,
    ):
        started = records.RunStarted(
            0.0, "1", "uid", "w", "/nowhere", "", "0", "max-seen", "fifo", cluster="slurm", plan=plan, growing=growing
        )
        self.engine: Engine = assemble(started)
        self.now = 0.0
        self.log: list[Decision] = []
        self.is_full = False
        limits = [records.LimitsRead(0.0, LARGE, most_jobs, wish=wish) for wish in known]
        for record in (started, records.LimitsRead(0.0, USUAL, most_jobs), *limits, records.TasksAdded(0.0, [*tasks])):
            self.engine.apply(record)

    def go(self) -> list[Decision]:
        made: list[Decision] = []
        while decisions := self.engine.decide(self.now):
            for decision in decisions:
                self.engine.apply(decision)
                made.append(decision)
                match decision:
                    case records.ReadInputs():
                        self.engine.apply(records.InputsRead(self.now, decision.task))
                    case records.AskQueue():
                        free = [1.0 if decision.wish else 3.0]
                        self.engine.apply(QueueRead(self.now, [self.now], free, wish=decision.wish))
                    case Submit() if not self.is_full:
                        self.engine.apply(records.JobState(self.now, decision.tag, JobPhase.RUNNING))
                        for number in range(decision.request.per_node.nodes):
                            node = decision.request.per_node.replace(nodes=1, walltime_s=None)
                            self.engine.apply(records.NodeUp(self.now, f"{decision.tag}-{number}", decision.tag, node))
        self.log += made
        return made

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.engine.apply(records.Tick(self.now))
        self.go()

    def end(self, task: str) -> None:
        self.now += 10.0
        attempt = self.engine.tasks[task].attempts
        outcome = Outcome(task, attempt, Ending.SUCCESS, self.now - 10, self.now)
        self.engine.apply(records.TaskEnded(self.now, outcome))

    def to_the_end(self) -> None:
        self.go()
        while not self.engine.finished:
            running = self.engine.running()
            assert running, "nothing runs"
            self.end(running[0].task.id)
            self.go()

    def wish_of_job(self, tag: str) -> Wish | None:
        return self.engine.jobs[tag].request.wish


def task(name: str, wish: Wish | None = None, *parents: str, cores: float = 2) -> Task:
    return Task(name, name, "-", hints={"cores": cores, "memory_bytes": GB}, parents=parents, wish=wish)


CHAIN = (
    task("first"),
    task("train", GPU, "first"),
    task("test", GPU, "train"),
    task("last", None, "test"),
    task("beside"),
)


@pytest.mark.parametrize("plan", ["headway", "one-job", "one-job-per-task", "level-by-level"])
def test_a_task_runs_only_in_jobs_with_its_wish(plan: str) -> None:
    site = Site(*CHAIN, plan=plan)
    site.to_the_end()
    assert site.engine.finished == "succeeded"
    wishes = {made.task: site.wish_of_job(made.tag) for made in site.log if isinstance(made, Launch)}
    assert wishes == {"first": None, "train": GPU, "test": GPU, "last": None, "beside": None}
    asked = {made.request.wish: made.request.per_node.cores for made in site.log if isinstance(made, Submit)}
    assert asked == {None: 4, GPU: 16}


def test_no_job_waits_idle_for_tasks_with_other_wishes() -> None:
    site = Site(task("first"), task("train", GPU, "first"), task("last", None, "train"))
    assert [made.request.wish for made in site.go() if isinstance(made, Submit)] == [None]
    site.end("first")
    made = site.go()
    assert [site.wish_of_job(one.tag) for one in made if isinstance(one, Release)] == [None]
    assert [one.request.wish for one in made if isinstance(one, Submit)] == [GPU]


def test_tags_are_unique_and_the_limit_on_jobs_counts_for_all() -> None:
    wishes = [Wish(account=name) for name in "abc"]
    site = Site(task("plain"), *(task(f"t{wish}", wish) for wish in wishes), known=tuple(wishes), most_jobs=2)
    site.go()
    assert sum(job.live for job in site.engine.jobs.values()) == 2
    site.to_the_end()
    tags = [made.tag for made in site.log if isinstance(made, Submit)]
    assert len(tags) == len(set(tags)) >= 4
    assert site.engine.finished == "succeeded"


def test_tasks_of_one_category_may_have_different_wishes() -> None:
    alike = [Task(f"t{number}", "t", "-", wish=GPU if number % 2 else None) for number in range(6)]
    site = Site(*alike)
    site.to_the_end()
    assert {made.task: site.wish_of_job(made.tag) for made in site.log if isinstance(made, Launch)} == {
        each.id: each.wish for each in alike
    }


def test_where_wishes_have_no_effect_all_tasks_share_jobs() -> None:
    site = Site(*CHAIN, known=())
    site.to_the_end()
    assert {made.request.wish for made in site.log if isinstance(made, Submit)} == {None}


def test_a_task_is_measured_by_the_nodes_of_its_own_jobs() -> None:
    site = Site(Task("big", "big", "-", hints={"cores": 8}, wish=GPU), Task("too-big", "x", "-", hints={"cores": 8}))
    site.go()
    assert [made.task for made in site.log if isinstance(made, records.GiveUp)] == ["too-big"]


@pytest.mark.parametrize("plan", ["headway", "one-job", "one-job-per-task", "level-by-level"])
def test_a_wish_may_come_while_a_run_grows(plan: str) -> None:
    """It is heeded from then on, and jobs without tasks are kept as long as those of tasks without a wish."""
    site = Site(task("plain"), plan=plan, known=(), growing=True)
    site.wait(GATHER_S)
    site.engine.apply(records.LimitsRead(site.now, LARGE, 8, wish=GPU))
    site.engine.apply(records.TasksAdded(site.now, [task("train", GPU)]))
    site.wait(GATHER_S)
    assert {made.task: site.wish_of_job(made.tag) for made in site.log if isinstance(made, Launch)} == {
        "plain": None,
        "train": GPU,
    }
    site.end("train")
    site.wait(START_S - 1)
    kept = plan == "headway"  # others release a job whose tasks are over
    assert {job.request.wish for job in site.engine.jobs.values() if job.live} == ({None, GPU} if kept else {None})
    site.wait(1)
    assert {job.request.wish for job in site.engine.jobs.values() if job.live} == {None}
    site.engine.apply(records.QuoteAsked(site.now, "q", task("q", GPU, cores=16), {}))
    (quote,) = [made for made in site.go() if isinstance(made, records.Quote)]
    assert quote.resources is not None and quote.resources.cores == 16


def test_an_idle_job_is_given_back_when_one_with_a_wish_waits() -> None:
    """It may wait for the nodes that the idle one holds."""
    site = Site(task("plain"), known=(), growing=True)
    site.wait(GATHER_S)
    site.end("plain")
    site.go()
    site.is_full = True
    site.engine.apply(records.LimitsRead(site.now, LARGE, 8, wish=GPU))
    site.engine.apply(records.TasksAdded(site.now, [task("train", GPU)]))
    site.wait(GATHER_S)
    assert {job.request.wish for job in site.engine.jobs.values() if job.live} == {GPU}
