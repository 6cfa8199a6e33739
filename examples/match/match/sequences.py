"""DNA as small numbers, and its files: FASTA with one line a sequence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

LETTERS = b"ACGT"
FREQUENCIES = np.array([0.29, 0.21, 0.21, 0.29])  # of A, C, G and T in everything that is made here
# They stand between sequences, where nothing may match: not even each other, so each side has its own.
QUERY_GAP, DATABASE_GAP = 4, 5

_CODE_OF_BYTE = np.full(256, 255, np.uint8)
_CODE_OF_BYTE[np.frombuffer(LETTERS, np.uint8)] = np.arange(4)
_BYTE_OF_CODE = np.frombuffer(LETTERS, np.uint8)


def random_bases(rng: np.random.Generator, count: int) -> Array:
    """Independent bases with the frequencies above."""
    return np.searchsorted(np.cumsum(FREQUENCIES)[:3], rng.random(count, np.float32)).astype(np.uint8)


def decode(text: bytes) -> Array:
    """Codes 0 to 3 for A, C, G and T; anything else is an error."""
    codes = _CODE_OF_BYTE[np.frombuffer(text, np.uint8)]
    if (codes == 255).any():
        raise ValueError("a sequence holds something other than A, C, G and T")
    return codes


def write_fasta(path: Path, sequences: dict[str, Array]) -> None:
    with path.open("wb") as file:
        for name, bases in sequences.items():
            file.write(b">%s\n%s\n" % (name.encode(), _BYTE_OF_CODE[bases].tobytes()))


def read_fasta(path: Path) -> dict[str, Array]:
    """By name, in the file's order."""
    lines = path.read_bytes().split(b"\n")
    names = [line.removeprefix(b">").decode() for line in lines[:-1:2]]
    return dict(zip(names, map(decode, lines[1::2]), strict=True))
