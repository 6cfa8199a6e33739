"""lambda and K of alignments with gaps, for which there is no formula: fitted to random sequences.

An island is all cells whose best alignment begins in the same cell. Among N islands of a peak of at least c points
in a matrix of A cells, peaks fall off as ``exp(-lambda (S - c))``, and ``N = K A exp(-lambda c)``; both are estimated
by maximum likelihood (S. Altschul, R. Bundschuh, R. Olsen and T. Hwa, "The estimation of statistical parameters for
local alignment score distributions", 2001). One matrix has thousands of islands but only one best alignment, so this
needs a thousandth of the work that a fit to best alignments would.
"""

from __future__ import annotations

import math

import numpy as np

from match.align import ONE, rows
from match.karlin import Statistics, ungapped
from match.made import SEED
from match.scores import MATCH
from match.sequences import Array, random_bases

CUTOFF = 13  # below it peaks are not yet exponential: the fitted lambda still moves with it
# A match makes 2 points, so even and odd peaks are not equally frequent, and only slowly become so. Hence peaks are
# counted two by two, and fits from an even and an odd cutoff are averaged.
STEP = MATCH
PAIRS, LENGTH, WIDTH = 4, 24_000, 2_000


def peaks(query: Array, target: Array, cutoff: int) -> Array:
    """The peaks of all islands that reach the cutoff."""
    high = [np.empty((2, 0), np.int64)]
    for cell in rows(query, target):
        pair, column = np.nonzero(cell >= cutoff * ONE)
        value = cell[pair, column]
        high.append(np.stack([pair * ONE + value % ONE, value // ONE]))
    island, score = np.concatenate(high, axis=1)
    order = np.lexsort((score, island))
    last = np.append(np.diff(island[order]) != 0, True)[: len(order)]
    highest: Array = score[order][last]
    return highest


def fit(found: Array, cells: int) -> tuple[float, float]:
    """Fit lambda and K to the peaks found in ``cells`` cells."""
    cutoffs = range(CUTOFF, CUTOFF + STEP)
    above = [(found[found >= cutoff] - cutoff) // STEP for cutoff in cutoffs]
    decay = float(np.mean([math.log1p(1 / float(steps.mean())) / STEP for steps in above]))
    k = np.mean([len(steps) * math.exp(decay * cutoff) / cells for steps, cutoff in zip(above, cutoffs, strict=True)])
    return decay, float(k)


def gapped(pairs: int = PAIRS, length: int = LENGTH, width: int = WIDTH) -> tuple[Statistics, int]:
    """The statistics, and the number of islands they rest on: lambda is good to about one part in its square root.

    H, which only says how long chance alignments are, is taken from those without gaps.
    """
    rng = np.random.default_rng(SEED)
    query = random_bases(rng, pairs * length).reshape(pairs, length)
    target = random_bases(rng, pairs * (length + width - 1)).reshape(pairs, length + width - 1)
    found = peaks(query, target, CUTOFF)
    decay, k = fit(found, pairs * length * width)
    return Statistics(decay, k, ungapped().entropy), len(found)
