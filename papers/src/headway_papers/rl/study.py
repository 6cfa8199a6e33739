"""What the study runs: every approach in every world."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from headway.studies.study import Tell
from headway_papers.frame.ledger import Ledger
from headway_papers.frame.runner import Runner
from headway_papers.rl.courses import APPROACHES, BANDIT, DEFAULT, LOOP, OURS, Q
from headway_papers.rl.pipelines import Found, Pipeline, find_pipelines
from headway_papers.rl.units import AS_THESIS, AS_TRACED, Done, Unit, carry_out
from headway_papers.rl.worlds import AMDAHL, LAWS

MAIN = (DEFAULT, BANDIT, Q, LOOP, OURS)
VARIANTS = tuple(name for name in APPROACHES if name not in MAIN)


class Asked(Struct, frozen=True):
    """How much to run."""

    worlds: int
    seed: int = 0
    variants: bool = False

    def units(self, pipelines: Sequence[Pipeline]) -> list[Unit]:
        """The longest first, so that all cores are busy to the end."""
        approaches = (*MAIN, *VARIANTS) if self.variants else MAIN
        found = [
            Unit(requests, law, pipeline.name, self.seed * 1000 + world, approach, pipeline.measured)
            for world in range(self.worlds)
            for requests in (AS_THESIS, AS_TRACED)
            for law in (LAWS if requests == AS_THESIS else AMDAHL)
            for pipeline in pipelines
            for approach in approaches
            if approach in MAIN or requests == AS_THESIS
        ]
        return sorted(found, key=lambda unit: -_runs(unit))


class Results(Struct, frozen=True):
    """Everything that the study found."""

    asked: Asked
    found: Found
    done: list[Done]
    took_s: float

    @property
    def approaches(self) -> list[str]:
        """The approaches that were run, in order."""
        tried = {done.unit.approach for done in self.done}
        return [name for name in APPROACHES if name in tried]


def run_study(
    asked: Asked, path: Path | None = None, processes: int | None = None, tell: Tell | None = None
) -> Results:
    """Simulate what the ledger at `path` does not hold yet."""
    found = find_pipelines()
    units = asked.units(found.pipelines)
    ledger: Ledger[Done] = Ledger(Done, path)
    runner = Runner(ledger, sum(map(_runs, units)), processes, tell)
    return Results(asked, found, runner.run(units, carry_out, _runs), runner.spent_s)


def _runs(unit: Unit) -> int:
    return APPROACHES[unit.approach].runs
