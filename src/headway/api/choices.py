"""Names to choose from in the settings of a run."""

from __future__ import annotations

METHODS = ("auto", "polling", "cgroup-v1", "cgroup-v2")  # of measuring tasks
DEFAULT_PLAN = "headway"  # on a batch system
