"""The made data: a database of random sequences, and queries of which a known third is copied from it."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from match.database import Database
from match.sequences import Array, random_bases

SEED = 1990  # the year of BLAST
PLANTED_SHARE = 1 / 3
SIMILARITIES = 0.6, 1.0
# A part of what is changed is inserted or deleted, in pieces of one, two or a few bases.
INDEL_SHARE = 0.1
MEAN_INDEL_BASES = 2


@dataclass(frozen=True)
class Planted:
    """Where a query was copied from, ``[start, end)`` in the entry, and how much of the copy is unchanged."""

    query: str
    entry: str
    start: int
    end: int
    similarity: float


def volume(name: str, bases: int) -> dict[str, Array]:
    """One file of the database: entries of some hundreds to some thousands of bases."""
    rng = np.random.default_rng([SEED, *name.encode()])
    lengths: list[int] = []
    while sum(lengths) < bases:
        lengths.append(min(800 + int(rng.exponential(1200)), 20_000))
    cuts = np.cumsum(lengths)[:-1]
    return {f"{name}{i:06}": entry for i, entry in enumerate(np.split(random_bases(rng, sum(lengths)), cuts))}


def mutate(rng: np.random.Generator, bases: Array, similarity: float) -> tuple[Array, float]:
    """A changed copy, and the share of columns of its alignment with the original that hold the same base."""
    change = 1 - similarity
    substituted = rng.random(len(bases)) < change * (1 - INDEL_SHARE)
    other = (bases + rng.integers(1, 4, len(bases))) % 4
    event = change * INDEL_SHARE / MEAN_INDEL_BASES / 2
    length = rng.geometric(1 / MEAN_INDEL_BASES, (2, len(bases))) * (rng.random((2, len(bases))) < event)
    inserted = length[0]
    reach = np.maximum.accumulate(np.arange(len(bases)) + length[1])  # deletions reach so far to the right
    kept = reach <= np.arange(len(bases))
    copied = np.repeat(np.where(substituted, other, bases), kept + inserted)
    is_new = np.ones(len(copied), bool)
    is_new[(np.cumsum(kept + inserted) - (kept + inserted))[kept]] = False
    copied[is_new] = random_bases(rng, int(is_new.sum()))
    unchanged = kept & ~substituted
    return copied.astype(np.uint8), float(unchanged.sum() / (len(bases) + inserted.sum()))


def queries(database: Database, count: int) -> tuple[dict[str, Array], list[Planted]]:
    """A third of them, drawn by lot, hold a mutated piece of an entry between random ends; the others are random."""
    rng = np.random.default_rng([SEED, count])
    chosen = set(rng.permutation(count)[: round(count * PLANTED_SHARE)].tolist())
    made: dict[str, Array] = {}
    planted: list[Planted] = []
    for i in range(count):
        name, length = f"q{i:06}", int(rng.integers(400, 701))
        piece = random_bases(rng, length)
        if i in chosen:
            entry = int(rng.integers(database.entries))
            bases = database.entry(entry)
            length = min(length, len(bases))
            start = int(rng.integers(len(bases) - length + 1))
            piece, similarity = mutate(rng, bases[start : start + length], rng.uniform(*SIMILARITIES))
            planted.append(Planted(name, database.names[entry], start, start + length, similarity))
        ends = rng.integers(0, 101, 2)
        made[name] = np.concatenate([random_bases(rng, ends[0]), piece, random_bases(rng, ends[1])])
    return made, planted


def write_planted(path: Path, planted: list[Planted]) -> None:
    rows = [[field.name for field in fields(Planted)], *(map(str, astuple(each)) for each in planted)]
    path.write_text("".join("\t".join(row) + "\n" for row in rows))


def read_planted(path: Path) -> list[Planted]:
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    return [Planted(query, entry, int(start), int(end), float(same)) for query, entry, start, end, same in rows]
