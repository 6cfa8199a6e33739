"""`keeping`: the settings with which a run most likely keeps a deadline at the least cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import structs

from headway.api.choices import DEFAULT_PLAN
from headway.api.plan import SLURM, plan
from headway.api.settings import RunSettings
from headway.api.settings_in_effect import Origin
from headway.api.workflow_in_queue import OF_JOBS
from headway.model.errors import InputError
from headway.model.records import ChosenSetting
from headway.model.units import format_duration
from headway.report.queue.through_queue import LIKELY
from headway.report.words import count

_PREFERENCES = {"headway": "balanced", "headway-cost": "cost", "headway-time": "time"}  # by plan, in simulation


def keeping(
    deadline_s: float, workflow: Path, settings: RunSettings, by: Origin = "command line"
) -> tuple[RunSettings, str]:
    """The settings with the cheapest preference that is in time in 90% of the queue's imagined futures, and a sentence.

    If none is, the one with the best chance. The queue is read once; nothing is submitted.
    """
    if settings.cluster != SLURM:
        raise InputError("this machine has no queue", where="--deadline", todo="add --on slurm")
    if settings.plan not in ("", DEFAULT_PLAN) or settings.prefer:
        told = "--prefer" if settings.prefer else f"the plan {settings.plan}"
        raise InputError(f"a deadline chooses what {told} has chosen", where="--deadline", todo="leave one out")
    of_jobs: dict[str, Any] = {name: settings.batch[name] for name in OF_JOBS if settings.batch.get(name)}
    if nodes := settings.batch.get("nodes"):
        of_jobs["nodes"] = nodes
    found = plan(
        workflow,
        on=SLURM,
        plan=tuple(_PREFERENCES),
        deadline=deadline_s,
        history=settings.history,
        set=settings.config,
        **of_jobs,
    )
    best = found.recommended
    prefer = _PREFERENCES[best.plan]
    told = f"in time in {round((best.in_time or 0.0) * found.futures)} of {count(found.futures, 'imagined future')}"
    if (best.in_time or 0.0) < LIKELY:
        told = f"the deadline is not likely to be kept: {told} at best"
    chosen = (*settings.chosen, ChosenSetting("deadline", format_duration(deadline_s), by))
    return structs.replace(settings, prefer=prefer, chosen=chosen), f"{told}, with --prefer {prefer}"
