"""What a score is worth: S. Karlin and S. Altschul's statistics of random alignments (1990).

In a space of ``m * n`` cells, random sequences have ``E = K m n exp(-lambda S)`` alignments of score S or more.
Without gaps, lambda and K follow from the scores and the frequencies of the bases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from match.scores import MATCH, MISMATCH
from match.sequences import FREQUENCIES, Array


@dataclass(frozen=True)
class Statistics:
    """lambda and H are per point of score and per aligned pair of bases, in nats."""

    decay: float  # lambda, which Python keeps for itself
    k: float
    entropy: float

    def bits(self, score: float) -> float:
        return (self.decay * score - math.log(self.k)) / math.log(2)

    def expected(self, score: float, space: float) -> float:
        """Return E, the number of alignments with at least this score that are expected by chance."""
        return self.k * space * math.exp(-self.decay * score)

    def score_expected(self, count: float, space: float) -> float:
        """Return the score that this number of chance alignments reach: the inverse of ``expected``."""
        return math.log(self.k * space / count) / self.decay

    def space(self, query_bases: int, database_bases: int, entries: int) -> float:
        """The cells in which an alignment can begin: near its end a sequence has no room for one any more.

        An alignment of score S is about ``lambda S / H`` bases long, and the highest to be expected has
        ``lambda S = ln(K m n)`` (S. Altschul and W. Gish, 1996). Both sides are shortened by that until it settles.
        """
        room = float(query_bases * database_bases)
        for _ in range(20):
            shorter = min(max(math.log(self.k * room), 0) / self.entropy, query_bases / 2, database_bases / entries / 2)
            room = (query_bases - shorter) * (database_bases - entries * shorter)
        return room


def score_probabilities(frequencies: Array) -> Array:
    """The probability of each score from MISMATCH to MATCH when two random bases meet."""
    probability = np.zeros(MATCH - MISMATCH + 1)
    probability[-1] = (frequencies**2).sum()
    probability[0] = 1 - probability[-1]
    return probability


def ungapped(frequencies: Array = FREQUENCIES, lowest: int = MISMATCH, probability: Array | None = None) -> Statistics:
    """lambda, K and H of alignments without gaps.

    ``probability`` is that of each score from ``lowest`` upwards. K is Karlin and Altschul's series over the sums of
    j scores, in the form that they give for whole-numbered scores (their appendix; all scores are assumed to have no
    common divisor).
    """
    if probability is None:
        probability = score_probabilities(frequencies)
    scores = np.arange(lowest, lowest + len(probability))
    decay = _positive_root(probability, scores)
    entropy = decay * float((scores * probability * np.exp(decay * scores)).sum())
    series, of_sum, j = 0.0, np.array([1.0]), 0
    while True:
        j += 1
        of_sum = np.convolve(of_sum, probability)
        sums = np.arange(j * lowest, j * lowest + len(of_sum))
        term = float((of_sum * np.exp(decay * np.minimum(sums, 0))).sum()) / j
        series += term
        if term < 1e-10:
            break
    k = decay * math.exp(-2 * series) / (entropy * -math.expm1(-decay))
    return Statistics(decay, k, entropy)


def _positive_root(probability: Array, scores: Array) -> float:
    """lambda: where the mean of ``exp(lambda * score)`` is 1 again, by bisection."""
    if (scores * probability).sum() >= 0 or probability[-1] <= 0:
        raise ValueError("random alignments must lose on the whole and be able to win: see Karlin and Altschul 1990")
    low, high = 0.0, 1.0
    while (probability * np.exp(high * scores)).sum() < 1:
        low, high = high, 2 * high
    # Between 0 and lambda the mean lies below 1, so the upper end always keeps to the right of lambda.
    for _ in range(100):
        middle = (low + high) / 2
        if (probability * np.exp(middle * scores)).sum() < 1:
            low = middle
        else:
            high = middle
    return high
