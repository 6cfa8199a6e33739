"""What the study runs: every scenario of each workflow."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from headway.studies.study import Tell
from headway_papers.feedback.entrants import FAMILIES
from headway_papers.feedback.units import Done, Unit, carry_out
from headway_papers.frame.ledger import Ledger
from headway_papers.frame.runner import Runner

QUICK, FULL = 8, 100  # workflows a family


class Results(Struct, frozen=True):
    """Everything that the study found."""

    workflows: int  # a family
    seed: int
    done: list[Done]
    took_s: float
    full_s: float  # an estimate for --full


def run_study(
    workflows: int, seed: int, path: Path | None = None, processes: int | None = None, tell: Tell | None = None
) -> Results:
    """Simulate what the ledger at `path` does not hold yet."""
    units = [Unit(family, number, seed) for number in range(workflows) for family in FAMILIES]
    ledger: Ledger[Done] = Ledger(Done, path)
    runner = Runner(ledger, len(units), processes, tell)
    found = runner.run(units, carry_out)
    full_s = sum(done.cpu_s for done in found) / len(found) * FULL * len(FAMILIES) / runner.processes
    return Results(workflows, seed, found, runner.spent_s, full_s)
