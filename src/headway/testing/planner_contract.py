"""What every planner must do, tried in simulated queues."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

from collections.abc import Iterator

from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, run_through
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model.codec import encode
from headway.model.instance import Instance, Recorded
from headway.model.records import Launch, Release, Submit, TaskEnded
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning.base import Estimate, Planner

NODES = 8
MOST_JOBS = 4


class PlannerContract:
    """Every task runs once, requests stay within the limits, jobs are given back, and the same run decides the same."""

    def make(self, estimate: Estimate) -> Planner:
        """Return a new planner that expects tasks to run as long as `estimate` says."""
        raise NotImplementedError

    def test_every_task_succeeds_and_runs_once(self) -> None:
        for run in self._runs():
            assert run.engine.finished == "succeeded"
            launched = [record.task for record in run.journal if isinstance(record, Launch)]
            assert sorted(launched) == sorted(task.id for task in run.tasks)

    def test_tasks_wait_for_their_parents(self) -> None:
        for run in self._runs():
            ended = {r.outcome.task: r.outcome.ended_at for r in run.journal if isinstance(r, TaskEnded)}
            began = {record.task: record.at for record in run.journal if isinstance(record, Launch)}
            assert all(began[task.id] >= ended[parent] for task in run.tasks for parent in task.parents)

    def test_requests_stay_within_the_limits(self) -> None:
        for run in self._runs():
            for record in run.journal:
                if isinstance(record, Submit):
                    asked = record.request.per_node
                    assert 1 <= asked.nodes <= NODES
                    assert asked.cores <= run.node.cores
                    assert asked.memory_bytes <= run.node.memory_bytes

    def test_tags_are_unique_and_no_job_is_given_back_twice(self) -> None:
        for run in self._runs():
            tags = [record.tag for record in run.journal if isinstance(record, Submit)]
            released = [record.tag for record in run.journal if isinstance(record, Release)]
            assert len(set(tags)) == len(tags)
            assert len(set(released)) == len(released)
            assert set(released) <= set(tags)

    def test_no_job_is_left_in_the_queue(self) -> None:
        for run in self._runs():
            assert not [job.tag for job in run.engine.jobs.values() if job.live]

    def test_the_same_run_decides_the_same(self) -> None:
        for first, second in zip(self._runs(), self._runs(), strict=True):
            assert list(map(encode, first.journal)) == list(map(encode, second.journal))

    def _runs(self) -> Iterator[SimulatedRun]:
        for instance in (_fan(12), _chain(3), _diamonds(2)):
            for way in ("easy", "conservative"):
                run = run_through(instance, Through(self.make))
                queue = BatchQueue(NODES, Scheduling(way), most_jobs=MOST_JOBS)
                simulate(queue, [run])
                yield run


def _instance(tasks: list[Task]) -> Instance:
    """Return the tasks with recorded run times between one minute and an hour."""
    recorded = {task.id: Recorded(run_s=60.0 + 590.0 * (number % 7)) for number, task in enumerate(tasks)}
    return Instance(Workflow("contract", tasks), recorded)


def _fan(width: int) -> Instance:
    wide = [Task(f"w{number}", "wide", "-") for number in range(width)]
    return _instance([*wide, Task("last", "last", "-", parents=tuple(task.id for task in wide))])


def _chain(length: int) -> Instance:
    return _instance([Task(f"t{n}", "c", "-", parents=(f"t{n - 1}",) if n else ()) for n in range(length)])


def _diamonds(count: int) -> Instance:
    tasks = [Task("join0", "join", "-")]
    for number in range(1, count + 1):
        sides = [Task(f"side{number}{s}", "side", "-", parents=(f"join{number - 1}",)) for s in "abc"]
        tasks += [*sides, Task(f"join{number}", "join", "-", parents=tuple(side.id for side in sides))]
    return _instance(tasks)
