"""Feeds a reader hostile texts, and keeps one for each kind of fault: the shortest."""

from __future__ import annotations

import logging
import random

from tests.fuzz.law import Fault, broken
from tests.fuzz.mutating import mutated
from tests.fuzz.readers import Reader

MOST_FAULTS = 50


def faults_of(reader: Reader, cases: int, seed: int) -> list[Fault]:
    """The faults that so many hostile texts find, one of each kind. Text number n depends on the seed and n alone."""
    logging.disable(logging.CRITICAL)
    found: dict[str, Fault] = {}
    try:
        for number in range(cases):
            chance = random.Random(f"{reader.name} {seed} {number}")
            fault = broken(reader, mutated(reader.seeds, chance))
            if fault is not None and (fault.what not in found or len(fault.data) < len(found[fault.what].data)):
                found[fault.what] = fault
            if len(found) >= MOST_FAULTS:
                break
    finally:
        logging.disable(logging.NOTSET)
    return list(found.values())
