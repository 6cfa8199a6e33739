"""Headway: gets a scientific workflow through a batch-scheduled cluster fast and without waste.

The Python API, explained in docs/python.md:

- `run(workflow)` runs a workflow file, or a `Workflow` of `Task`s built in code;
- `Executor` runs Python functions behind the interface of `concurrent.futures`.
"""

from __future__ import annotations

from headway.version import __version__

TYPE_CHECKING = False  # `typing` would take 5 ms of each of a thousand calls
if TYPE_CHECKING:
    from typing import Any

    from headway.integrations.executor import Executor
    from headway.integrations.nested_executor import current_executor
    from headway.integrations.running import Run, RunError, run
    from headway.integrations.task_future import NeedError, TaskError, TaskFuture
    from headway.model.errors import HeadwayError
    from headway.model.outcome import Usage
    from headway.model.task import Task
    from headway.model.workflow import Workflow

__all__ = [
    "Executor",
    "HeadwayError",
    "NeedError",
    "Run",
    "RunError",
    "Task",
    "TaskError",
    "TaskFuture",
    "Usage",
    "Workflow",
    "__version__",
    "current_executor",
    "run",
]

# Imported when they are used: the command line needs none of them to answer `--help`.
_HOMES = {
    "Executor": "integrations.executor",
    "HeadwayError": "model.errors",
    "NeedError": "integrations.task_future",
    "Run": "integrations.running",
    "RunError": "integrations.running",
    "Task": "model.task",
    "TaskError": "integrations.task_future",
    "TaskFuture": "integrations.task_future",
    "Usage": "model.outcome",
    "Workflow": "model.workflow",
    "current_executor": "integrations.nested_executor",
    "run": "integrations.running",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'headway' has no attribute {name!r}")
    return getattr(import_module(f"headway.{_HOMES[name]}"), name)
