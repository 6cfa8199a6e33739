"""Slurm's notation for records: `NodeName=n1 State=IDLE Reason=not responding`."""

from __future__ import annotations


def pairs_of(line: str) -> dict[str, str]:
    """Parse a line; a word without `=` belongs to the value before it. Takes time in proportion to the line's length.

    >>> pairs_of("Name=a b Weights=CPU=1.0,Mem=2 State=")
    {'Name': 'a b', 'Weights': 'CPU=1.0,Mem=2', 'State': ''}
    """
    values: dict[str, list[str]] = {}
    latest: list[str] = []
    for word in line.split(" "):
        key, mark, value = word.partition("=")
        if key and mark:
            latest = values[key] = [value]
        else:
            latest.append(word)
    return {key: " ".join(words).strip() for key, words in values.items()}
