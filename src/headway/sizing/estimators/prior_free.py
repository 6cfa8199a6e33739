"""`PriorFree`: what the estimators have in common that know only the peaks of this run, not the user's hints."""

from __future__ import annotations

from headway.model.records import Figure
from headway.sizing.estimators.base import Estimate, Estimator, Start

# Before this many records nothing is concluded from them (Phung and Thain 2024, section V-A).
ENOUGH_RECORDS = 10


class PriorFree(Estimator):
    """Estimates from ten records on, and until then explores with little or with the whole machine.

    Phung and Thain 2024, section V-A.
    """

    climbs = True
    step = 0.0


def small_start(records: int) -> Estimate:
    """Explore with 1 core, 1 GB of memory and 1 GB of disk, as the bucketing algorithms do."""
    text = f"it learns from {ENOUGH_RECORDS} records on and has {records}: what everything starts with"
    return Estimate(Start.SMALL, "start", {"records": records}, text)


def whole_machine(records: int, *, failed: bool = False) -> Estimate:
    """Explore with the whole machine: dear, but it fails only if the machine is too small (section V-C)."""
    text = f"it learns from {ENOUGH_RECORDS} records on and has {records}: the whole machine"
    if failed:
        text = "it needs more than any before it: the whole machine"
    figures: dict[str, Figure] = {"records": records}
    return Estimate(Start.WHOLE_MACHINE, "whole-machine", figures, text)
