"""What was found so far."""

from __future__ import annotations

from pathlib import Path

from headway_papers.json_ledger import JsonLedger
from headway_papers.rl.units import Done


class Ledger(JsonLedger[Done]):
    """Results by what was run."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(Done, lambda done: done.unit.key, path)
