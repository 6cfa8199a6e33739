"""What workflows of a pool say of tasks that are to come, and what the pool asks for then."""

from __future__ import annotations

from headway.drivers.foreseeing import EVERY_S, Foreseeing
from headway.engine.run_state import GATHER_S
from headway.model import records
from headway.model.coming import MOST_OF_A_KIND, Coming, stand_ins
from headway.model.outcome import Ending
from headway.model.resources import Resources
from headway.model.task import Task, Terms
from headway.workers.protocol import encode
from tests.engine.runs import GB, PretendRun

NODE = Resources(cores=1, memory_bytes=8 * GB, disk_bytes=100 * GB, nodes=16, walltime_s=86400.0)
SHARE = "anna/sky 1"


class PoolRun(PretendRun):
    """A pool on a cluster of 16 nodes that are taken for the first hour."""

    def __init__(self) -> None:
        super().__init__([], machine=NODE, growing=True, plan="headway", cluster="slurm")

    def submits(self) -> list[records.Submit]:
        """What is asked for now; jobs wait in the queue."""
        self.now += 2 * GATHER_S
        self.record(records.Tick(self.now))
        made: list[records.Submit] = []
        while decisions := self.engine.decide(self.now):
            for decision in decisions:
                self.record(decision)
                if isinstance(decision, records.ReadInputs):
                    self.record(self.inputs(decision.task))
                if isinstance(decision, records.AskQueue):
                    self.record(records.QueueRead(self.now, [self.now, 3_600.0], [0.0, 16.0]))
            made += [it for it in decisions if isinstance(it, records.Submit)]
        return made

    def live(self) -> set[str]:
        return {job.tag for job in self.engine.jobs.values() if job.live}


def handed(name: str, category: str) -> Task:
    return Task(name, category, "true", hints={"walltime_s": 600.0, "cores": 1.0}, terms=Terms(share=SHARE))


def coming(category: str, tasks: int, level: int) -> Coming:
    return Coming(category, tasks, level, cores=1.0, memory_bytes=GB, run_s=600.0)


def anchors(submits: list[records.Submit]) -> list[int]:
    return [submit.request.per_node.nodes for submit in submits if submit.role == "anchor"]


def test_a_pool_asks_for_what_is_foreseen_and_counts_nothing_twice() -> None:
    pool = PoolRun()
    pool.record(records.TasksAdded(pool.now, [handed("split", "sky/split")]))
    assert anchors(pool.submits()) == [1]
    ahead = PoolRun()
    ahead.record(records.WorkForeseen(0.0, SHARE, (coming("sky/split", 1, 0), coming("sky/wide", 8, 1))))
    assert anchors(ahead.submits()) == [8]
    ahead.record(records.TasksAdded(ahead.now, [handed("split", "sky/split")]))
    assert [task.category for task in ahead.engine._foreseen.tasks()] == ["sky/wide"] * 8
    assert not ahead.submits()  # it was asked for


def test_a_pool_waits_for_a_workflow_that_will_hand_over_more_and_not_for_one_that_is_gone() -> None:
    pool = PoolRun()
    pool.record(records.WorkForeseen(0.0, SHARE, (coming("sky/wide", 4, 0),)))
    assert anchors(pool.submits()) == [4]
    pool.now += 3_000.0
    pool.submits()
    assert len(pool.live()) == 1
    pool.record(records.WorkForeseen(pool.now, SHARE, ()))
    pool.submits()
    assert not pool.live()


def test_ten_thousand_tasks_make_a_short_message_and_few_stand_ins() -> None:
    wide = [Task(f"w{number}", "wide", "true", hints={"cores": 2.0, "walltime_s": 60.0}) for number in range(9_999)]
    last = Task("last", "last", "true", parents=tuple(task.id for task in wide), hints={"memory_bytes": 2 * GB})
    run = PretendRun([*wide, last], machine=Resources(cores=4, memory_bytes=8 * GB, disk_bytes=GB))
    foreseeing = Foreseeing(run.engine)
    told = foreseeing.news(0.0)
    assert told is not None and len(encode(told)) < 500
    assert [(it.category, it.tasks, it.level, it.cores) for it in told.coming] == [
        ("wide", 9_999, 0, 2.0),
        ("last", 1, 1, 1.0),
    ]
    tasks = stand_ins(told.coming, "w")
    assert len(tasks) == MOST_OF_A_KIND + 1
    work_s = sum(task.hints.get("walltime_s", 0.0) for task in tasks)
    assert round(work_s) == 9_999 * 60
    assert foreseeing.news(EVERY_S + 1.0) is None  # nothing has changed
    run.decide()
    run.end(run.held[0], Ending.SUCCESS)
    changed = foreseeing.news(2 * EVERY_S + 2.0)
    assert changed is not None and changed.coming[0].tasks < 9_999
    foreseeing.forget()
    assert foreseeing.news(2 * EVERY_S + 2.5) == changed  # to a pool that was started again
