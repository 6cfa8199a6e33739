"""What was found so far."""

from __future__ import annotations

from pathlib import Path

from headway_papers.feedback.units import Done
from headway_papers.json_ledger import JsonLedger


class Ledger(JsonLedger[Done]):
    """Results by what was run."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(Done, lambda done: done.unit.key, path)
