"""Which type of GPU tasks ask for: the smallest that held what similar tasks used in earlier runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import structs

from headway.clusters.base import Cluster
from headway.engine.gpu_memory import GpuMemory
from headway.model.devices import GpuType
from headway.model.job import Wish
from headway.model.observation import Observation
from headway.model.task import Task
from headway.model.units import format_bytes
from headway.model.workflow import Workflow


def ask_for_fitting_gpus(
    workflow: Workflow, cluster: Cluster, seen: Iterable[Observation], say: Callable[[str], None]
) -> Workflow:
    """Return the workflow with a wish for a type of GPU on tasks that need GPUs and name no type.

    It is added only where the need of such tasks was measured, and the site has several types of known memory. `say`
    is called with a sentence about each category.
    """
    memory = GpuMemory()
    for each in seen:
        memory.observe(each.as_task(), each.as_outcome())
    types: dict[Wish | None, list[GpuType]] = {}
    told: set[str] = set()

    def with_type(task: Task) -> Task:
        used, gpus = memory.used_bytes(task), task.hints.get("gpus", 0)
        if used is None or not gpus or (task.wish is not None and task.wish.gpu_type is not None):
            return task
        if task.wish not in types:
            there = cluster if task.wish is None else cluster.wishing(task.wish)
            types[task.wish] = there.gpu_types() if there is not None else []
        kind = smallest(types[task.wish], used, gpus)
        if kind is None:
            return task
        if task.category not in told:
            told.add(task.category)
            most = f"similar tasks used at most {format_bytes(used)} of a GPU"
            say(f"{task.category} asks for GPUs of type {kind.name} ({format_bytes(kind.memory_bytes)}): {most}")
        return structs.replace(task, wish=structs.replace(task.wish or Wish(), gpu_type=kind.name))

    tasks = [with_type(task) for task in workflow]
    if not told:
        return workflow
    fitted = workflow.with_tasks(tasks)
    fitted.places = workflow.places
    return fitted


def smallest(types: list[GpuType], used_bytes: int, gpus: float) -> GpuType | None:
    """The type with the least memory that is enough; None if there is none, or no other to choose."""
    fitting = [kind for kind in types if kind.memory_bytes >= used_bytes and kind.on_a_node >= gpus]
    return min(fitting, key=lambda kind: (kind.memory_bytes, kind.name)) if len(types) > 1 and fitting else None
