"""Slurm's notation for many node names: `n[1-3,07],gpu5`."""

from __future__ import annotations

import re

_MOST_NODES = 200_000  # more than any cluster has; a broken answer must not fill the memory
_PART = re.compile(r"[^,\[\]]*(?:\[[0-9,-]+\][^,\[\]]*)*")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)
_NO_NODES = ("", "(null)", "None", "None assigned", "N/A", "n/a")


def expand(words: str) -> tuple[str, ...]:
    """Expand to names, in their order; a ValueError if that is not possible.

    >>> expand("n[1-3,07],gpu5")
    ('n1', 'n2', 'n3', 'n07', 'gpu5')
    """
    names: list[str] = []
    words = words.strip()
    if words in _NO_NODES:
        return ()
    position = 0
    while True:
        part = _PART.match(words, position)
        if not part or not part[0]:
            raise ValueError(f"{words[:100]!r} is not a list of nodes")
        names += _names(part[0], _MOST_NODES - len(names))
        position = part.end()
        if position == len(words):
            return tuple(names)
        if words[position] != ",":
            raise ValueError(f"{words[:100]!r} is not a list of nodes")
        position += 1


def _names(part: str, most: int) -> list[str]:
    """The names of one part, which may have several brackets."""
    before, bracket, rest = part.partition("[")
    if not bracket:
        return [part]
    inside, _, after = rest.partition("]")
    tails = _names(after, most)
    heads = [before + number for number in _numbers(inside, most)]
    if len(heads) * len(tails) > most:
        raise ValueError(f"more than {_MOST_NODES} nodes")
    return [head + tail for head in heads for tail in tails]


def _numbers(inside: str, most: int) -> list[str]:
    numbers: list[str] = []
    for span in inside.split(","):
        found = _RANGE.fullmatch(span)
        if not found:
            raise ValueError(f"{span[:100]!r} is not a range of nodes")
        first, last = int(found[1]), int(found[2] or found[1])
        if last - first >= most - len(numbers):
            raise ValueError(f"more than {_MOST_NODES} nodes")
        numbers += [str(number).zfill(len(found[1])) for number in range(first, last + 1)]
    return numbers
