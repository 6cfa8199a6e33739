"""Tasks that span nodes: whole nodes of one job, and what happens when one of these is lost."""

from __future__ import annotations

from headway.drivers.assemble import assemble
from headway.engine.engine import Engine
from headway.model import records
from headway.model.job import JobPhase
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Launch, Release, Submit
from headway.model.resources import Resources
from headway.model.task import Task

GB = 10**9
SITE = Resources(cores=4, memory_bytes=8 * GB, disk_bytes=100 * GB, nodes=3)
NODE = SITE.replace(nodes=1)


def small(name: str) -> Task:
    return Task(name, name, "-", hints={"cores": 1, "memory_bytes": GB})


def wide(name: str, nodes: int, **more: int) -> Task:
    return Task(name, name, "-", hints={"nodes": nodes}, **more)


class Site:
    """A run whose jobs are granted at once, each with as many nodes as was asked for."""

    def __init__(self, *tasks: Task) -> None:
        started = records.RunStarted(0.0, "1", "uid", "wide", "/nowhere", "", "0", "max-seen", "fifo")
        self.engine: Engine = assemble(started)
        self.now = 0.0
        for record in (started, records.LimitsRead(0.0, SITE), records.TasksAdded(0.0, list(tasks))):
            self.engine.apply(record)

    def decide(self) -> list[Decision]:
        made: list[Decision] = []
        while decisions := self.engine.decide(self.now):
            for decision in decisions:
                self.engine.apply(decision)
                made.append(decision)
                if isinstance(decision, records.ReadInputs):
                    self.engine.apply(records.InputsRead(self.now, decision.task))
                elif isinstance(decision, Submit):
                    self.engine.apply(records.JobState(self.now, decision.tag, JobPhase.RUNNING))
                    number = decision.tag.rpartition("-")[2]
                    for node in "abc"[: decision.request.per_node.nodes]:
                        self.engine.apply(records.NodeUp(self.now, f"{node}#{number}", decision.tag, NODE))
        return made

    def launches(self) -> dict[str, tuple[str, ...]]:
        return {made.task: (made.node, *made.also) for made in self.decide() if isinstance(made, Launch)}

    def end(self, task: str, ending: Ending = Ending.SUCCESS) -> None:
        attempt = self.engine.tasks[task].attempts
        self.engine.apply(records.TaskEnded(self.now, Outcome(task, attempt, ending, self.now, self.now)))

    def lose(self, node: str) -> None:
        self.engine.apply(records.NodeLost(self.now, node, "it is gone"))

    def free(self) -> dict[str, float]:
        return {name: node.free.cores for name, node in self.engine.nodes.items()}


def test_a_spanning_task_has_whole_nodes_and_frees_them() -> None:
    site = Site(wide("w", 2), *(small(f"s{number}") for number in range(6)))
    placed = site.launches()
    assert placed["w"] == ("a#1", "b#1")
    assert {placed[f"s{number}"] for number in range(4)} == {("c#1",)}  # the others find no room
    assert site.free() == {"a#1": 0, "b#1": 0, "c#1": 0}
    given = site.engine.tasks["w"].running
    assert given is not None and given.resources == SITE.replace(nodes=2)
    site.end("w")
    assert site.free() == {"a#1": 4, "b#1": 4, "c#1": 0}
    assert site.launches().keys() == {"s4", "s5"}


def test_a_spanning_task_waits_for_whole_nodes() -> None:
    site = Site(small("s"), wide("w", 3))
    assert site.launches().keys() == {"s"}
    site.end("s")
    assert site.launches()["w"] == ("a#1", "b#1", "c#1")


def test_the_loss_of_the_node_that_runs_its_command_frees_the_others() -> None:
    site = Site(wide("w", 2))
    site.launches()
    site.lose("a#1")
    assert site.free() == {"b#1": 4, "c#1": 4}
    assert site.launches()["w"] == ("b#1", "c#1")


def test_a_failure_after_the_loss_of_another_of_its_nodes_is_not_its_own() -> None:
    site = Site(wide("w", 2))
    site.launches()
    site.lose("b#1")
    assert not site.launches()  # it may survive that, and runs until it says otherwise
    site.end("w", Ending.EXIT_CODE)
    assert site.launches()["w"] == ("a#1", "c#1")
    site.end("w", Ending.EXIT_CODE)  # this one is
    assert [made.status for made in site.decide() if isinstance(made, records.Finish)] == ["failed"]


def test_a_job_that_has_become_too_narrow_is_released_and_replaced() -> None:
    site = Site(wide("w", 3))
    site.launches()
    site.lose("a#1")
    made = site.decide()
    assert [(release.tag, release.why.rule) for release in made if isinstance(release, Release)] == [
        ("headway-uid-1", "too-narrow")
    ]
    [launch] = [launch for launch in made if isinstance(launch, Launch)]
    assert (launch.node, *launch.also) == ("a#2", "b#2", "c#2")
