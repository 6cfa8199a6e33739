"""The rules of disk."""

from __future__ import annotations

from headway.model.records import Why
from headway.model.task import Task
from headway.sizing.base import Context, Prediction
from headway.sizing.estimators.base import Estimator
from headway.sizing.resource_rules.base import ByteRules


class DiskRules(ByteRules):
    """Only a task with a directory of its own holds disk."""

    resource = "disk_bytes"

    def is_estimated(self, task: Task, estimator: Estimator) -> bool:
        return task.isolated or estimator.overrules

    def fair_share(self, policy: str, task: Task, context: Context) -> Prediction:
        if not task.isolated:
            text = "it runs in the workflow's directory, not in one of its own"
            return Prediction(0, Why(policy, "in-place", {}, text))
        return super().fair_share(policy, task, context)
