"""Names to choose from in the settings of a run."""

from __future__ import annotations

from headway.registry import added_names

METHODS = ("auto", "polling", "cgroup-v1", "cgroup-v2")  # of measuring tasks
CLUSTERS = ("local", "slurm", *added_names("headway.clusters"))
DEFAULT_PLAN = "headway"  # on a batch system
