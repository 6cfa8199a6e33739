"""Which known name a user meant by a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

_LONGEST = 60  # letters of a name that is compared with others
_MOST_COMPARED = 1000


def meant(word: str, known: Iterable[str], most: int = 2) -> str:
    """Return the known name of which `word` is a misspelling, or an empty text.

    One letter may be wrong, missing, added or swapped with the next one; in names of five letters and more, `most`
    letters. A name of one letter has no misspelling.

    >>> meant("smaple", ["part", "sample"]), meant("path", ["part", "sample"]), meant("ID", ["id"]), meant("x", ["y"])
    ('sample', '', '', '')
    """
    best, least = "", most + 1
    for name in islice(known, _MOST_COMPARED):
        shorter, longer = sorted((len(word), len(name)))
        allowed = 1 if shorter < 5 else most
        if shorter > 1 and longer <= _LONGEST and longer - shorter <= allowed:
            distance = _distance(word, name)
            if distance <= allowed and distance < least:
                best, least = name, distance
    return best


def _distance(one: str, other: str) -> int:
    """Return the number of letters to change, insert, remove or swap (Damerau-Levenshtein, each letter once)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, against in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1]
