"""Does the paper's claim hold, are its figures reproduced, and is ours ahead?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from headway_papers.bucketing.allocators import ANY, OURS, RECOMMENDED, RIVALS
from headway_papers.bucketing.cells import NEAREST, PLAIN, RESOURCES, Cell, Setting
from headway_papers.bucketing.times import RECORDS, Timing
from headway_papers.bucketing.workflows import LOG
from headway_papers.frame.report import Verdict

MOST_DIFFERENCE = 0.10  # to the published efficiencies, on average
LEAST_LEAD = {"memory": 0.08, "disk": 0.05, "cores": 0.02}  # of ours over the algorithm that the paper recommends
MOST_BEHIND = 0.06  # of ours, behind the best rival on a workflow
BASELINE = "whole-machine"  # not compared: the logs were made with it
BUCKETING = ("greedy-bucketing", "exhaustive-bucketing")
CLAIMED_MS = 1.6

Awe = Mapping[tuple[str, str], float]  # by workflow and allocator


def verdicts_on(cells: Sequence[Cell], times: Sequence[Timing] = ()) -> list[Verdict]:
    """All verdicts; none where the paper's logs are missing."""
    found: list[Verdict] = []
    differences = differences_of(cells, NEAREST)
    if differences:
        found += _claims(cells, times)
        by_allocator = ", ".join(f"{name} {fmean(each):.3f}" for name, each in differences.items())
        mean = fmean(value for each in differences.values() for value in each)
        about = f"mean difference to the published AWE ({NEAREST})"
        found.append(Verdict(about, mean, MOST_DIFFERENCE, at_most=True, detail=by_allocator))
    tables = {resource: awe_of(cells, PLAIN, resource) for resource in RESOURCES}
    if all(tables.values()):
        found += [lead(table, resource) for resource, table in tables.items()]
        found += [ahead(table, resource) for resource, table in tables.items()]
        found.append(nowhere_far_behind(tables))
    for setting in (PLAIN, NEAREST):
        if awe_of(cells, setting, "memory"):
            found += [beaten_in_both(cells, setting, resource) for resource in RESOURCES]
    return found


def _claims(cells: Sequence[Cell], times: Sequence[Timing]) -> Iterator[Verdict]:
    """The abstract: greedy or exhaustive bucketing outperforms five alternatives, at 1.6 ms an allocation at most."""
    others = [name for name in RIVALS if name not in BUCKETING]
    for resource in RESOURCES:
        awe = awe_of(cells, NEAREST, resource)
        ours, best = (max(names, key=lambda name: mean_of(awe, name)) for names in (BUCKETING, others))
        workflows = list(dict.fromkeys(workflow for workflow, _ in awe))
        won = sum(
            max(awe[workflow, name] for name in BUCKETING) > max(awe[workflow, name] for name in others)
            for workflow in workflows
        )
        about = (
            f"claim of Phung and Thain 2024: {resource}, mean AWE of bucketing over the best of five others ({NEAREST})"
        )
        detail = f"{ours} over {best}; ahead on {won} of {len(workflows)} workflows"
        yield Verdict(about, mean_of(awe, ours) - mean_of(awe, best), 0.0, at_most=False, detail=detail)
    spans = [timing.us / 1000 for timing in times if timing.allocator in BUCKETING]
    if spans:
        about = f"claim of Phung and Thain 2024: ms for an outcome and an allocation, at most {RECORDS[-1]:,} records"
        yield Verdict(about, max(spans), CLAIMED_MS, at_most=True, detail="on this machine")


def beaten_in_both(cells: Sequence[Cell], setting: Setting, resource: str) -> Verdict:
    """How many of the paper's allocators have both a higher mean AWE and fewer failed attempts than ours."""
    awe, failed = awe_of(cells, setting, resource), failed_of(cells, setting, resource)
    better = [name for name in RIVALS if mean_of(awe, name) > mean_of(awe, OURS) and failed[name] < failed[OURS]]
    fewer = max(
        (name for name in RIVALS if failed[name] < failed[OURS]), key=lambda name: mean_of(awe, name), default=""
    )
    detail = f"{OURS} has {mean_of(awe, OURS):.3f} with {failed[OURS]:,.0f} failures"
    if fewer:
        detail += f"; with fewer the best is {fewer}, {mean_of(awe, fewer):.3f} with {failed[fewer]:,.0f}"
    about = f"{resource}: allocators of the paper with a higher mean AWE and fewer failures than {OURS} ({setting})"
    return Verdict(about, len(better), 0.0, at_most=True, detail=detail)


def failed_of(cells: Sequence[Cell], setting: Setting, resource: str, kind: str = LOG) -> dict[str, float]:
    """The attempts that a resource ended on all workflows, by allocator."""
    found: dict[str, float] = {}
    for cell in cells:
        if cell.kind == kind and cell.setting == setting:
            found[cell.allocator] = found.get(cell.allocator, 0.0) + cell.resources[resource].failures
    return found


def differences_of(cells: Sequence[Cell], setting: Setting) -> dict[str, list[float]]:
    """Distances to the published efficiencies, by allocator; the baseline is left out."""
    found: dict[str, list[float]] = {}
    for cell in cells:
        if cell.kind == LOG and cell.setting == setting and cell.allocator != BASELINE:
            for share in cell.resources.values():
                if share.published is not None:
                    found.setdefault(cell.allocator, []).append(abs(share.awe - share.published))
    return found


def awe_of(cells: Sequence[Cell], setting: Setting, resource: str, kind: str = LOG) -> dict[tuple[str, str], float]:
    """Efficiencies by workflow and allocator."""
    return {
        (cell.workflow, cell.allocator): cell.resources[resource].awe
        for cell in cells
        if cell.kind == kind and cell.setting == setting
    }


def mean_of(awe: Awe, allocator: str) -> float:
    """The mean over workflows."""
    return fmean(value for (_, name), value in awe.items() if name == allocator)


def lead(awe: Awe, resource: str) -> Verdict:
    """How far ours is ahead of the algorithm that the paper recommends."""
    value = mean_of(awe, ANY) - mean_of(awe, RECOMMENDED)
    detail = f"{mean_of(awe, ANY):.3f} to {mean_of(awe, RECOMMENDED):.3f}"
    about = f"{resource}: mean AWE of {ANY}, over that of {RECOMMENDED} ({PLAIN})"
    return Verdict(about, value, LEAST_LEAD[resource], at_most=False, detail=detail)


def ahead(awe: Awe, resource: str) -> Verdict:
    """How far ours is ahead of the best of the paper's allocators."""
    best = max(RIVALS, key=lambda name: mean_of(awe, name))
    value = mean_of(awe, ANY) - mean_of(awe, best)
    about = f"{resource}: mean AWE of {ANY}, over that of any other of the paper"
    return Verdict(about, value, 0.0, at_most=False, detail=f"the best is {best} with {mean_of(awe, best):.3f}")


def nowhere_far_behind(tables: Mapping[str, Awe]) -> Verdict:
    """How far ours is behind the best rival where it is furthest behind."""
    gaps = {
        (resource, workflow): _behind(awe, workflow)
        for resource, awe in tables.items()
        for workflow in dict.fromkeys(workflow for workflow, _ in awe)
    }
    (resource, workflow), (value, rival) = max(gaps.items(), key=lambda item: item[1][0])
    about = f"the furthest that {ANY}, is behind the best rival of a cell ({PLAIN})"
    detail = f"{resource} of {workflow}, where the best is {rival}"
    return Verdict(about, value, MOST_BEHIND, at_most=True, detail=detail)


def _behind(awe: Awe, workflow: str) -> tuple[float, str]:
    best = max(RIVALS, key=lambda name: awe[workflow, name])
    return awe[workflow, best] - awe[workflow, ANY], best
