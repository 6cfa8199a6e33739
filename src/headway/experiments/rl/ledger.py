"""What was found so far."""

from __future__ import annotations

from pathlib import Path

from headway.experiments.rl.units import Done
from headway.experiments.studies.json_ledger import JsonLedger


class Ledger(JsonLedger[Done]):
    """Results by what was run."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(Done, lambda done: done.unit.key, path)
