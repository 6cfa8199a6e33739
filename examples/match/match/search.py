"""The search: shared words, extended without gaps; the best of each entry aligned with gaps; what that is worth."""

from __future__ import annotations

import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from match.align import align
from match.database import Database
from match.hits import Hit
from match.karlin import Statistics
from match.seeds import segments
from match.sequences import DATABASE_GAP, QUERY_GAP, Array

BATCH = 8  # queries that numpy works on at once
BAND = 24  # the largest difference between inserted and deleted bases
TRIES = 50  # the expected number of segments of a random query that are good enough to be aligned with gaps
REPORT = 10.0  # hits of a higher E-value are left out


@dataclass(frozen=True, eq=False)
class Search:
    """What a search needs to have in memory."""

    database: Database
    ungapped: Statistics
    gapped: Statistics

    def run(self, queries: dict[str, Array], cores: int = 1) -> list[Hit]:
        """All hits, query by query and best first; the same on any number of cores."""
        names = list(queries)
        batches = [{name: queries[name] for name in names[at : at + BATCH]} for at in range(0, len(names), BATCH)]
        if cores > 1:
            # The children of a fork share the database with us instead of loading it again.
            _SHARED.append(self)
            with ProcessPoolExecutor(min(cores, max(len(batches), 1)), multiprocessing.get_context("fork")) as pool:
                found = list(pool.map(_search_shared, batches))
            _SHARED.pop()
        else:
            found = [self.batch(batch) for batch in batches]
        return [hit for hits in found for hit in hits]

    def batch(self, queries: dict[str, Array]) -> list[Hit]:
        """The hits of a few queries."""
        names, sequences = list(queries), list(queries.values())
        gap = np.array([QUERY_GAP], np.uint8)
        joined = np.concatenate([gap, *(part for sequence in sequences for part in (sequence, gap))])
        starts = np.cumsum([1, *(len(sequence) + 1 for sequence in sequences)])

        in_query, in_database, score = segments(joined, self.database)
        query = np.searchsorted(starts, in_query, side="right") - 1
        worth = score >= np.array([self.trigger(len(sequence)) for sequence in sequences])[query]
        query, in_query, in_database, score = (each[worth] for each in (query, in_query, in_database, score))
        entry = self.database.entry_at(in_database)
        # The best segment of each query in each entry; of equal ones the first.
        order = np.lexsort((in_database, in_query, -score, entry, query))
        pair = np.stack([query, entry])[:, order]
        best = order[np.diff(pair, axis=1, prepend=-1).any(axis=0)]
        query, entry = query[best], entry[best]
        offset = (in_database[best] - self.database.starts[entry]) - (in_query[best] - starts[query])
        found = self.with_gaps(names, sequences, query, entry, offset)
        return sorted(found, key=lambda hit: (hit.query, hit.rank()))

    def trigger(self, query_bases: int) -> int:
        """The score without gaps from which a segment is worth an alignment with gaps."""
        return math.ceil(self.ungapped.score_expected(TRIES, self.space(self.ungapped, query_bases)))

    def space(self, statistics: Statistics, query_bases: int) -> float:
        return statistics.space(query_bases, self.database.total_bases, self.database.entries)

    def with_gaps(
        self, names: list[str], sequences: list[Array], query: Array, entry: Array, offset: Array
    ) -> list[Hit]:
        """Aligns queries with entries in a band around the diagonal where base i meets base i + offset."""
        length = max(map(len, sequences))
        padded = np.full((len(sequences), length), QUERY_GAP, np.uint8)
        for row, sequence in zip(padded, sequences, strict=True):
            row[: len(sequence)] = sequence
        # Where the band leaves its entry it must meet neither the next one nor the array's end.
        first, end = self.database.starts[entry], self.database.starts[entry + 1] - 1
        begin = first + offset - BAND
        place = begin[:, None] + np.arange(length + 2 * BAND)
        inside = (place >= first[:, None]) & (place < end[:, None])
        target = np.where(inside, self.database.bases[np.where(inside, place, 0)], DATABASE_GAP)
        aligned = align(padded[query], target)

        hits = []
        spaces = [self.space(self.gapped, len(sequence)) for sequence in sequences]
        for i, score in enumerate(aligned.score.tolist()):
            evalue = self.gapped.expected(score, spaces[query[i]])
            if evalue <= REPORT:
                hits.append(
                    Hit(
                        evalue=evalue,
                        bits=self.gapped.bits(score),
                        score=score,
                        query=names[query[i]],
                        query_start=int(aligned.query_start[i]),
                        query_end=int(aligned.query_end[i]),
                        entry=self.database.names[entry[i]],
                        entry_start=int(aligned.target_start[i] + offset[i] - BAND),
                        entry_end=int(aligned.target_end[i] + offset[i] - BAND),
                    )
                )
        return hits


_SHARED: list[Search] = []  # what the children of a fork find


def _search_shared(queries: dict[str, Array]) -> list[Hit]:
    return _SHARED[-1].batch(queries)
