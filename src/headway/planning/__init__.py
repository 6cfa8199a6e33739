"""WHICH ALLOCATIONS, AND WHEN? Every built-in plan by name."""

from __future__ import annotations

from headway.planning.base import Planner
from headway.planning.one_job import OneJob
from headway.planning.one_job_per_task import OneJobPerTask

PLANS: dict[str, type[Planner]] = {plan.name: plan for plan in (OneJob, OneJobPerTask)}
