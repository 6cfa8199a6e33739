"""Where to look: words that query and database share, extended without gaps while that pays.

S. Altschul et al., "Basic local alignment search tool", 1990.
"""

from __future__ import annotations

import numpy as np

from match.database import WORD, WORDS, Database, words_of
from match.scores import MATCH, MISMATCH
from match.sequences import Array

X_DROP = 20  # an extension ends when its score has fallen so far below the best it had
NEVER = -1000  # for what lies between sequences: falls below any X_DROP at once


def shared_words(queries: Array, database: Database) -> tuple[Array, Array]:
    """Pairs of places (in ``queries``, in the database) where runs of at least ``WORD`` equal bases begin."""
    words = words_of(queries)
    at = np.flatnonzero(words < WORDS)
    begin = database.first[words[at]].astype(np.int64)
    count = database.first[words[at] + 1] - begin
    in_query = np.repeat(at, count)
    nth = np.arange(len(in_query)) - np.repeat(np.cumsum(count) - count, count)
    in_database = database.positions[np.repeat(begin, count) + nth].astype(np.int64)
    # A longer run holds many shared words and is one find: its first.
    begins = queries[in_query - 1] != database.bases[in_database - 1]
    return in_query[begins], in_database[begins]


def extend(queries: Array, database: Database, in_query: Array, in_database: Array, step: int) -> Array:
    """The best that can be had by going on from these places in one direction (``step`` 1 or -1), or nothing: 0."""
    best = np.zeros(len(in_query), np.int32)
    alive = np.arange(len(in_query))
    score = best.copy()
    while len(alive):
        left, right = queries[in_query], database.bases[in_database]
        score = score + np.where(left == right, MATCH, np.where((left | right) < 4, MISMATCH, NEVER))
        best[alive] = np.maximum(best[alive], score)
        going = best[alive] - score < X_DROP
        alive, score = alive[going], score[going]
        in_query, in_database = in_query[going] + step, in_database[going] + step
    return best


def segments(queries: Array, database: Database) -> tuple[Array, Array, Array]:
    """Ungapped alignments around all shared words: a place in the queries, one in the database, and the score."""
    in_query, in_database = shared_words(queries, database)
    score = extend(queries, database, in_query, in_database, 1)
    score += extend(queries, database, in_query - 1, in_database - 1, -1)
    return in_query, in_database, score


assert MATCH * WORD > X_DROP, "an extension must get through the word that it starts from"
