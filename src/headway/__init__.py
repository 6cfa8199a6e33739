"""Headway: gets a scientific workflow through a batch-scheduled cluster fast and without waste.

The Python API, explained in `headway docs python`:

- `run(workflow)` runs a workflow file, or a `Workflow` of `Task`s built in code;
- `Executor` runs Python functions behind the interface of `concurrent.futures`;
- one function per verb of the command line: `start`, `status`, `why`, `replay`, `plan`, …; `headway.api` lists them.
"""

from __future__ import annotations

from headway.api import FUNCTIONS
from headway.version import __version__ as __version__

TYPE_CHECKING = False  # `typing` would take 5 ms of each of a thousand calls
if TYPE_CHECKING:  # `as` says that a name is offered to users
    from typing import Any

    from headway.api.advise import advise as advise
    from headway.api.bundle import bundle as bundle
    from headway.api.cancel import cancel as cancel
    from headway.api.check_inputs import check_inputs as check_inputs
    from headway.api.clean import clean as clean
    from headway.api.compare import compare as compare
    from headway.api.convert import convert as convert
    from headway.api.cwl import cwl as cwl
    from headway.api.detach import detach as detach
    from headway.api.docs import docs as docs
    from headway.api.doctor import doctor as doctor
    from headway.api.exec import execute as execute
    from headway.api.follow import follow as follow
    from headway.api.generate import generate as generate
    from headway.api.history import explain_agents as explain_agents
    from headway.api.history import export_history as export_history
    from headway.api.history import prune_history as prune_history
    from headway.api.history import show_history as show_history
    from headway.api.init import init as init
    from headway.api.logs import logs as logs
    from headway.api.nextflow import nextflow as nextflow
    from headway.api.plan import plan as plan
    from headway.api.policies import policies as policies
    from headway.api.preview import preview as preview
    from headway.api.quote import quote as quote
    from headway.api.replay import replay as replay
    from headway.api.resume import resume as resume
    from headway.api.runs import runs as runs
    from headway.api.service import service as service
    from headway.api.service import stop_service as stop_service
    from headway.api.settings import RunSettings as RunSettings
    from headway.api.show import show as show
    from headway.api.simulate import simulate as simulate
    from headway.api.start import start as start
    from headway.api.status import status as status
    from headway.api.usage import usage as usage
    from headway.api.waits import waits as waits
    from headway.api.why import why as why
    from headway.integrations.executor import Executor as Executor
    from headway.integrations.nested_executor import current_executor as current_executor
    from headway.integrations.running import Run as Run
    from headway.integrations.running import RunError as RunError
    from headway.integrations.running import run as run
    from headway.integrations.task_future import NeedError as NeedError
    from headway.integrations.task_future import TaskError as TaskError
    from headway.integrations.task_future import TaskFuture as TaskFuture
    from headway.integrations.usage import Usage as Usage
    from headway.model.errors import HeadwayError as HeadwayError
    from headway.model.task import Task as Task
    from headway.model.workflow import Workflow as Workflow

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
    "Usage": "integrations.usage",
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
    return sorted([*_HOMES, "__version__"])
