"""How long a run people ask for, when a workload model does not say: a stand-in of our own, for the Lublin model.

People ask for more than they need. In real logs the part of its request that a job uses is spread about evenly, with a
peak at jobs that used all of it and were stopped (A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001), and nearly all
requests are one of some twenty round values (D. Tsafrir, Y. Etsion and D. Feitelson, "Modeling user runtime estimates",
JSSPP 2005). Those three observations are all that there is here; users who ask for the same again and again are not.
"""

from __future__ import annotations

import numpy as np

from headway.model.batch_log import Seconds

MINUTES = (5, 10, 15, 20, 30)
HOURS = (1, 2, 3, 4, 6, 8, 10, 12, 18, 24, 36, 48)
ROUND_S = np.array([60.0 * m for m in MINUTES] + [3600.0 * h for h in HOURS])

# Of the jobs of more than five minutes in five logs (CTC, KTH and SDSC SP2, SDSC DataStar, CEA Curie) 13 to 25 %, in
# the middle 16 %, ran for 98 % of their request or more.
STOPPED_SHARE = 0.16


def estimated(run_s: Seconds, draw: np.random.Generator) -> Seconds:
    """A request for each run: never shorter than the run.

    Of the jobs that are as long as the shortest round request, some were stopped at what they had asked for. All
    others used an even share, from nothing to all, of a time that was then rounded up; nobody asks for more than the
    longest round value, two days.
    """
    stopped = (draw.random(len(run_s)) < STOPPED_SHARE) & (run_s >= ROUND_S[0])
    used = 1.0 - draw.random(len(run_s))  # in (0, 1]
    wanted = np.minimum(run_s / used, ROUND_S[-1])
    rounded = ROUND_S[np.searchsorted(ROUND_S, wanted)]
    return np.where(stopped, run_s, np.maximum(rounded, run_s))
