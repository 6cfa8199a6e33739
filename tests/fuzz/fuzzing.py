"""Feeds a reader hostile texts, and keeps one for each kind of fault: the shortest."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable

from tests.fuzz.law import Fault, breaches
from tests.fuzz.mutating import mutated
from tests.fuzz.readers import Reader

MOST_FAULTS = 50
AT_A_TIME = 100  # texts between two looks at the memory


def text(reader: Reader, seed: int, number: int) -> bytes:
    """Text number n for a reader, which depends on the seed and n alone."""
    return mutated(reader.seeds, random.Random(f"{reader.name} {seed} {number}"))


def faults_of(reader: Reader, numbers: range, seed: int) -> list[Fault]:
    """The faults that the hostile texts of these numbers find, one of each kind."""
    logging.disable(logging.CRITICAL)
    found: list[Fault] = []
    try:
        for begin in range(0, len(numbers), AT_A_TIME):
            texts = [text(reader, seed, number) for number in numbers[begin : begin + AT_A_TIME]]
            found = one_of_each([*found, *breaches(reader, texts)])
            if len(found) >= MOST_FAULTS:
                break
    finally:
        logging.disable(logging.NOTSET)
    return found


def one_of_each(faults: Iterable[Fault]) -> list[Fault]:
    """The fault with the shortest text of each kind."""
    shortest: dict[str, Fault] = {}
    for fault in faults:
        if fault.what not in shortest or len(fault.data) < len(shortest[fault.what].data):
            shortest[fault.what] = fault
    return list(shortest.values())
