"""Headway: gets a scientific workflow through a batch-scheduled cluster fast and without waste.

The Python API, explained in docs/python.md:

- `run(workflow)` runs a workflow file, or a `Workflow` of `Task`s built in code;
- `Executor` runs Python functions behind the interface of `concurrent.futures`;
- one function per verb of the command line: `start`, `status`, `why`, `replay`, `plan`, …; `headway.api` lists them.
"""

from __future__ import annotations

from headway.api import FUNCTIONS
from headway.version import __version__

TYPE_CHECKING = False  # `typing` would take 5 ms of each of a thousand calls
if TYPE_CHECKING:
    from typing import Any

    from headway.api.bundle import bundle
    from headway.api.cancel import cancel
    from headway.api.detach import detach
    from headway.api.doctor import doctor
    from headway.api.follow import follow
    from headway.api.history import explain_agents, export_history, prune_history, show_history
    from headway.api.init import init
    from headway.api.logs import logs
    from headway.api.preview import preview
    from headway.api.resume import resume
    from headway.api.settings import RunSettings
    from headway.api.start import start
    from headway.api.status import status
    from headway.api.usage import usage
    from headway.api.why import why
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
    "RunSettings",
    "Task",
    "TaskError",
    "TaskFuture",
    "Usage",
    "Workflow",
    "__version__",
    "bundle",
    "cancel",
    "compare",
    "convert",
    "current_executor",
    "detach",
    "doctor",
    "explain_agents",
    "export_history",
    "follow",
    "generate",
    "init",
    "logs",
    "plan",
    "policies",
    "preview",
    "prune_history",
    "replay",
    "resume",
    "run",
    "show",
    "show_history",
    "simulate",
    "start",
    "status",
    "usage",
    "waits",
    "why",
]

# Imported when they are used: the command line needs none of them to answer `--help`.
_HOMES = {name: f"api.{module}" for name, module in FUNCTIONS.items()} | {
    "Executor": "integrations.executor",
    "HeadwayError": "model.errors",
    "NeedError": "integrations.task_future",
    "Run": "integrations.running",
    "RunError": "integrations.running",
    "RunSettings": "api.settings",
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


def __dir__() -> list[str]:
    return __all__
