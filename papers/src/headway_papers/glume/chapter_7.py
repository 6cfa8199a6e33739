"""Table 7.1, and Figures 7.1 to 7.4: the gain of each plan over Zhang's for each configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from headway.studies.paired import BEATS, Interval, Pair, gain, pairs_of, places_of
from headway.studies.runs import Row
from headway_papers.glume.goal import CELLS, Cell, cell_of
from headway_papers.glume.plans import GLUME_AS_CODED, ZHANG_AS_CODED
from headway_papers.glume.published import TABLE_7_1
from headway_papers.glume.workflows import Workflow

READINGS = {"the simulator's code": (GLUME_AS_CODED, ZHANG_AS_CODED), "the text": ("glume", "zhang")}
Gains = dict[str, dict[str, Interval]]  # by configuration, then by plan


class Wins(Struct, frozen=True):
    """A cell of Table 7.1: the configurations in which GLUME beats Zhang, and those in which Zhang beats GLUME."""

    glume: int
    zhang: int
    of: int
    gain: Interval  # of GLUME over Zhang, the mean over all runs of the cell
    published: tuple[int, int]

    @property
    def agrees(self) -> bool:
        """Whether the same algorithm has more wins as in the thesis."""
        ours, theirs = self.glume - self.zhang, self.published[0] - self.published[1]
        return (ours > 0) == (theirs > 0) and (ours < 0) == (theirs < 0)


def table_7_1(
    rows: Sequence[Row], logs: Mapping[str, str], workflows: Mapping[str, Workflow], glume: str, zhang: str
) -> dict[Cell, Wins]:
    """The cells of the table that have rows."""
    by_cell: dict[Cell, dict[str, list[Pair]]] = {}
    for pair in pairs_of(places_of(rows), glume, zhang):
        cell = cell_of(pair.row, logs, workflows)
        by_cell.setdefault(cell, {}).setdefault(pair.row.workflow, []).append(pair)
    found = {}
    for cell in CELLS:
        if cell in by_cell:
            gains = [gain(pairs).mean for pairs in by_cell[cell].values()]
            found[cell] = Wins(
                sum(value >= BEATS for value in gains),
                sum(value <= -BEATS for value in gains),
                len(gains),
                gain([pair for pairs in by_cell[cell].values() for pair in pairs]),
                TABLE_7_1[cell],
            )
    return found


def gains_over(rows: Sequence[Row], base: str, plans: Sequence[str], workflows: Mapping[str, Workflow]) -> Gains:
    """By how much makespans are shorter than under `base`, for each configuration and plan with rows."""
    places = places_of(rows)
    found: Gains = {}
    for plan in plans:
        by_workflow: dict[str, list[Pair]] = {}
        for pair in pairs_of(places, plan, base):
            by_workflow.setdefault(workflows[pair.row.workflow].short_name, []).append(pair)
        for name, pairs in by_workflow.items():
            found.setdefault(name, {})[plan] = gain(pairs)
    order = [workflow.short_name for workflow in workflows.values()]
    return {name: found[name] for name in order if name in found}
