"""What plugin authors import, and the entry points under which they register: see docs/plugins.md.

This module and `headway.testing` stay as they are between minor versions; other modules may change.
"""

from __future__ import annotations

from headway.clusters.base import Cluster, JobNews
from headway.clusters.local import RunJobs
from headway.formats.base import TaskLogFormat, WorkflowFormat
from headway.model.errors import HeadwayError, InputError, SiteError, WorkflowError
from headway.model.instance import Instance, Recorded
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending, Outcome
from headway.model.records import AskQueue, QueueRead, Release, Submit, WakeAt, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.task_log import LoggedTask, TaskLog
from headway.model.workflow import Workflow
from headway.ordering.base import Order
from headway.planning import Plan
from headway.planning.base import Planner, View
from headway.sizing.agents.malleable import MalleableAllocator
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.estimators.base import Attempt, Estimate, Estimator, Query
from headway.waiting.base import Shape, WaitModel

# What can be added: the group of entry points, and what an entry names.
ENTRY_POINTS = {
    "headway.sizers": "an Estimator or a Sizer (class); chosen by --sizer",
    "headway.allocators": "a MalleableAllocator (class), which chooses cores too; chosen by --sizer",
    "headway.orders": "an Order (class); chosen by --order",
    "headway.planners": "a Plan, or a Planner (class); chosen by --plan",
    "headway.wait_models": "a WaitModel (class); chosen by --models of `headway waits`",
    "headway.clusters": "a Cluster (class), made from (RunJobs, options, node_command); chosen by --on",
    "headway.formats": "a WorkflowFormat; found by the ending of a file's name",
    "headway.task_logs": "a TaskLogFormat; found by the first line of a file",
    "headway.verbs": "a click command with a short_help; a new command of `headway`",
}

__all__ = [
    "ENTRY_POINTS",
    "AskQueue",
    "Attempt",
    "CannotFit",
    "Cluster",
    "Context",
    "Ending",
    "Estimate",
    "Estimator",
    "HeadwayError",
    "InputError",
    "Instance",
    "JobNews",
    "JobPhase",
    "JobRequest",
    "LoggedTask",
    "MalleableAllocator",
    "Order",
    "Outcome",
    "Plan",
    "Planner",
    "Prediction",
    "Query",
    "QueueRead",
    "Recorded",
    "Release",
    "Resources",
    "RunJobs",
    "Shape",
    "SiteError",
    "Sizer",
    "Submit",
    "Task",
    "TaskLog",
    "TaskLogFormat",
    "View",
    "WaitModel",
    "WakeAt",
    "Why",
    "Workflow",
    "WorkflowError",
    "WorkflowFormat",
]
