"""Slurm's notation for many node names: `n[1-3,07],gpu5`."""

from __future__ import annotations

import itertools
import re

# More than any cluster has, and longer than any host's name: a broken answer must not fill the memory.
_MOST_NODES = 200_000
_LONGEST_NAME = 255
_PART = re.compile(r"(?:[^,\[\]]|\[[0-9,-]+\])+")
_BRACKETS = re.compile(r"\[([0-9,-]+)\]")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)
_NO_NODES = ("", "(null)", "None", "None assigned", "N/A", "n/a")


def expand(words: str) -> tuple[str, ...]:
    """Expand to names, in their order; a ValueError if that is not possible.

    >>> expand("n[1-3,07],gpu5")
    ('n1', 'n2', 'n3', 'n07', 'gpu5')
    """
    words = words.strip()
    if words in _NO_NODES:
        return ()
    parts = _PART.findall(words)
    if ",".join(parts) != words:
        raise ValueError(f"{words[:100]!r} is not a list of nodes")
    names: list[str] = []
    for part in parts:
        if len(_BRACKETS.sub("", part)) > _LONGEST_NAME:
            raise ValueError(f"{part[:100]!r} is not the name of a node")
        choices: list[list[str]] = []
        count = 1
        for place, text in enumerate(_BRACKETS.split(part)):  # plain text and the insides of brackets alternate
            choices.append(_numbers(text) if place % 2 else [text])
            count *= len(choices[-1])
            if len(names) + count > _MOST_NODES:
                raise ValueError(f"more than {_MOST_NODES} nodes")
        names += map("".join, itertools.product(*choices))
    return tuple(names)


def _numbers(inside: str) -> list[str]:
    numbers: list[str] = []
    for span in inside.split(","):
        found = _RANGE.fullmatch(span)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not found or last < first:
            raise ValueError(f"{span[:100]!r} is not a range of nodes")
        if last - first >= _MOST_NODES - len(numbers):
            raise ValueError(f"more than {_MOST_NODES} nodes")
        numbers += [str(number).zfill(len(found[1])) for number in range(first, last + 1)]
    return numbers
