"""Requested times for the Lublin model, which has none: a simple model of our own.

Users request more than they need. In real logs the used share of a request is spread about evenly, with a peak of jobs
that used all of it and were stopped (A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001), and nearly all requests are
one of some twenty round values (D. Tsafrir, Y. Etsion and D. Feitelson, "Modeling user runtime estimates", JSSPP 2005).
The model has these three properties; it has no users who repeat their requests.
"""

from __future__ import annotations

import numpy as np

from headway.model.batch_log import Seconds

MINUTES = (5, 10, 15, 20, 30)
HOURS = (1, 2, 3, 4, 6, 8, 10, 12, 18, 24, 36, 48)
ROUND_S = np.array([60.0 * m for m in MINUTES] + [3600.0 * h for h in HOURS])

# In five logs (CTC, KTH and SDSC SP2, SDSC DataStar, CEA Curie) 13 to 25 % (median 16 %) of the jobs of more than five
# minutes ran for at least 98 % of their request.
STOPPED_SHARE = 0.16


def estimated(run_s: Seconds, draw: np.random.Generator) -> Seconds:
    """Draw a requested time for each run time, at least as long.

    A share of the jobs that ran for the shortest round value or longer were stopped at their request. All others used
    a uniform share of a time that is rounded up to a round value, at most two days.
    """
    stopped = (draw.random(len(run_s)) < STOPPED_SHARE) & (run_s >= ROUND_S[0])
    used = 1.0 - draw.random(len(run_s))  # in (0, 1]
    wanted = np.minimum(run_s / used, ROUND_S[-1])
    rounded = ROUND_S[np.searchsorted(ROUND_S, wanted)]
    return np.where(stopped, run_s, np.maximum(rounded, run_s))
