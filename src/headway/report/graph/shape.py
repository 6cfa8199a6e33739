"""`GraphShape`: figures of a workflow's graph: levels, categories, critical path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import itemgetter
from statistics import fmean, median

from msgspec import Struct

from headway.model.instance import Instance
from headway.model.task import Task


class Spread(Struct, frozen=True, rename={"tasks": "measured"}):
    """Range and median of a figure over the tasks for which it is known."""

    least: float
    median: float
    most: float
    tasks: int


class CategoryShape(Struct, frozen=True, rename={"name": "category"}):
    """One category: number of tasks, levels, recorded run times and memory, and the categories that it feeds."""

    name: str
    tasks: int
    first_level: int
    last_level: int
    on_critical_path: int  # number of its tasks on the critical path
    run_s: Spread | None
    memory_bytes: Spread | None
    feeds: dict[str, int]  # number of dependencies by category, maybe its own


class GraphShape(Struct, rename={"timed": "tasks_with_run_time", "longest_s": "critical_path_s"}):
    """The figures of a graph; categories are in workflow order."""

    name: str
    tasks: int
    dependencies: int
    widths: list[int]  # tasks on each level
    levels: dict[str, int]  # by task
    critical_path: list[str]  # longest by recorded run times if there are any, otherwise by number of tasks
    categories: list[CategoryShape]
    timed: int = 0  # tasks with a recorded run time
    work_s: float | None = None  # sum of all run times
    longest_s: float | None = None  # sum of the run times on the critical path

    @property
    def widest(self) -> int:
        """The first of the levels with the most tasks."""
        return self.widths.index(max(self.widths)) if self.widths else 0

    @property
    def parallelism(self) -> float | None:
        """Work over critical path: the mean number of running tasks if resources are unlimited."""
        if self.work_s is not None and self.longest_s is not None:
            return self.work_s / self.longest_s if self.longest_s > 0 else None
        return self.tasks / len(self.critical_path) if self.critical_path else None


def shape_of(instance: Instance) -> GraphShape:
    """Compute the shape of the instance's graph."""
    flow, recorded = instance.workflow, instance.recorded
    run_s = {task: each.run_s for task, each in recorded.items() if each.run_s is not None and task in flow.tasks}
    levels = flow.levels()
    critical = flow.critical_path(lambda task: run_s.get(task.id, 0.0)) if run_s else flow.critical_path()
    return GraphShape(
        name=flow.name,
        tasks=len(flow),
        dependencies=sum(len(task.parents) for task in flow),
        widths=flow.widths(),
        levels=levels,
        critical_path=critical,
        categories=_categories(instance, levels, set(critical)),
        timed=len(run_s),
        work_s=sum(run_s.values()) if run_s else None,
        longest_s=sum(run_s.get(task, 0.0) for task in critical) if run_s else None,
    )


def _categories(instance: Instance, levels: dict[str, int], critical: set[str]) -> list[CategoryShape]:
    members: dict[str, list[Task]] = {}
    feeds: dict[str, Counter[str]] = {}
    tasks = instance.workflow.tasks
    for task in tasks.values():
        members.setdefault(task.category, []).append(task)
        for parent in task.parents:
            feeds.setdefault(tasks[parent].category, Counter())[task.category] += 1
    found = []
    for name, own in members.items():
        at = [levels[task.id] for task in own]
        took = [instance.recorded[task.id] for task in own if task.id in instance.recorded]
        shape = CategoryShape(
            name,
            len(own),
            min(at),
            max(at),
            sum(task.id in critical for task in own),
            _spread(each.run_s for each in took),
            _spread(each.memory_bytes for each in took),
            dict(feeds.get(name, {})),
        )
        found.append((min(at), fmean(at), shape))
    return [shape for *_, shape in sorted(found, key=itemgetter(0, 1))]


def _spread(values: Iterable[float | None]) -> Spread | None:
    known = sorted(value for value in values if value is not None)
    return Spread(known[0], median(known), known[-1], len(known)) if known else None
