"""Cells of the comparison, made by hand."""

from __future__ import annotations

from collections.abc import Mapping

from headway_papers.bucketing.allocators import ANY, ENTRANTS, OURS, RECOMMENDED
from headway_papers.bucketing.cells import NEAREST, PLAIN, RESOURCES, Cell, Setting, Share
from headway_papers.bucketing.workflows import GENERATED, LOG, LOGS


def share(awe: float, published: float | None = None) -> Share:
    """Of 100 GB·h given."""
    waste = 100 * (1 - awe)
    return Share(awe, published, 0.75 * waste, 0.25 * waste, 3, "GB·h", {0: awe})


def cell(workflow: str, allocator: str, setting: Setting, awe: float, published: float | None = None) -> Cell:
    return Cell(workflow, LOG, allocator, setting, 1.5, 0.0, {name: share(awe, published) for name in RESOURCES})


def all_cells(
    ours: float = 0.7,
    recommended: float = 0.5,
    others: float = 0.4,
    published: float = 0.45,
    instead: Mapping[tuple[str, str], float] | None = None,
) -> list[Cell]:
    """Six workflows in the two settings that verdicts are about; `instead` for single workflows and allocators."""
    awe = dict.fromkeys(ENTRANTS, others) | {OURS: ours, ANY: ours, RECOMMENDED: recommended}
    return [
        cell(
            workflow,
            name,
            setting,
            (instead or {}).get((workflow, name), awe[name]),
            published if entrant.is_rival else None,
        )
        for setting in (PLAIN, NEAREST)
        for workflow in LOGS
        for name, entrant in ENTRANTS.items()
    ]


def generated_cells() -> list[Cell]:
    """One generated workflow in the same settings."""
    return [
        Cell("Normal", GENERATED, name, setting, 1.5, 0.0, {resource: share(0.6) for resource in RESOURCES})
        for setting in (PLAIN, NEAREST)
        for name in ENTRANTS
    ]
