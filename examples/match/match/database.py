"""The database in memory: all entries in one array, and an index that knows where each word occurs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from match.sequences import DATABASE_GAP, Array

WORD = 11  # bases; BLAST's choice for DNA
WORDS = 4**WORD
# The number of positions that are indexed at a time: sorting needs five times the memory of what it sorts.
CHUNK = 4_000_000


def words_of(bases: Array) -> Array:
    """Return the number of the word that begins at each position; ``WORDS`` if the word holds a gap."""
    count = max(len(bases) - WORD + 1, 0)
    words = np.zeros(count, np.uint32)
    whole = np.ones(count, bool)
    for i in range(WORD):
        base = bases[i : i + count]
        words <<= 2
        words |= base & 3
        whole &= base < 4
    words[~whole] = WORDS
    return words


@dataclass(frozen=True, eq=False)
class Database:
    """The database. It needs 17 MB and five bytes a base: one for the base, four for its entry in the index."""

    names: list[str]
    starts: Array  # of the entries in ``bases``, and behind the last one its end: one gap lies between two entries
    bases: Array
    first: Array  # word w occurs at positions[first[w] : first[w + 1]]
    positions: Array

    @classmethod
    def of(cls, sequences: dict[str, Array]) -> Database:
        """Join the entries and index them."""
        gap = np.array([DATABASE_GAP], np.uint8)
        bases = np.concatenate([gap, *(part for entry in sequences.values() for part in (entry, gap))])
        if len(bases) >= 2**32:
            raise ValueError("a database holds at most 4,294 million bases; use smaller or fewer volumes")
        starts = np.cumsum([1, *(len(entry) + 1 for entry in sequences.values())])
        first, positions = index(bases)
        return cls(list(sequences), starts, bases, first, positions)

    @property
    def entries(self) -> int:
        return len(self.names)

    @property
    def total_bases(self) -> int:
        return len(self.bases) - self.entries - 1

    def entry(self, number: int) -> Array:
        return self.bases[self.starts[number] : self.starts[number + 1] - 1]

    def entry_at(self, positions: Array) -> Array:
        """The entries in which these places of ``bases`` lie."""
        return np.searchsorted(self.starts, positions, side="right") - 1

    def save(self, path: Path) -> None:
        np.savez(
            path, names=self.names, starts=self.starts, bases=self.bases, first=self.first, positions=self.positions
        )

    @classmethod
    def load(cls, path: Path) -> Database:
        with np.load(path) as file:
            return cls(file["names"].tolist(), file["starts"], file["bases"], file["first"], file["positions"])


def index(bases: Array) -> tuple[Array, Array]:
    """A counting sort of all places by their word, chunk by chunk; within a word they ascend."""
    counts = np.zeros(WORDS + 1, np.int64)
    chunks = [(at, bases[at : at + CHUNK + WORD - 1]) for at in range(0, len(bases), CHUNK)]
    for _, chunk in chunks:
        counts += np.bincount(words_of(chunk), minlength=WORDS + 1)
    first = np.concatenate([[0], np.cumsum(counts[:WORDS])]).astype(np.uint32)
    positions = np.empty(int(first[-1]), np.uint32)
    next_free = first[:WORDS].astype(np.int64)
    for at, chunk in chunks:
        places = np.arange(at, at + len(chunk) - WORD + 1, dtype=np.uint64)
        keys = np.sort(words_of(chunk).astype(np.uint64) << 32 | places)  # by word, then by place
        keys = keys[: np.searchsorted(keys, WORDS << 32)]
        words = (keys >> 32).astype(np.int64)
        counts = np.bincount(words, minlength=WORDS)
        before = np.cumsum(counts) - counts
        positions[(next_free - before)[words] + np.arange(len(words))] = keys & 0xFFFFFFFF
        next_free += counts
    return first, positions
