"""Names to choose from in the settings of a run."""

from __future__ import annotations

METHODS = ("auto", "polling", "cgroup-v1", "cgroup-v2")  # of measuring tasks
IN_JOB = "job"
MANAGERS = ("here", IN_JOB)  # where a run's manager is
SANDBOXES = ("as-stated", "strict")  # what tasks see of the workflow's directory: as the file says, or their inputs
DEFAULT_PLAN = "headway"  # on a batch system
