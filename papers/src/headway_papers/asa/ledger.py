"""What was found so far: loads, and what came of units."""

from __future__ import annotations

from pathlib import Path

from headway_papers.asa.machines import Calibrated
from headway_papers.asa.units import Done, Unit
from headway_papers.json_ledger import JsonLedger, Key

Found = Calibrated | Done


def key_of(found: Found | Unit) -> Key:
    """What a result is found by."""
    if isinstance(found, Calibrated):
        return found.key
    return found.unit.key if isinstance(found, Done) else found.key


class Ledger(JsonLedger[Found]):
    """Results by what was run."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(Found, key_of, path)
