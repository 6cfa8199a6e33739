"""Does ASA learn as fast as 000 shows, and do stages asked for ahead get near one big job? From the figures alone."""

from __future__ import annotations

from headway.experiments.asa.comparing import pairs_of, standing
from headway.experiments.asa.experiment import Results
from headway.experiments.asa.machines import QUEUES
from headway.experiments.asa.published import ASA
from headway.experiments.asa.signal import CHANGES, ITERATIONS
from headway.experiments.asa.units import CHAINED, HEADWAY
from headway.experiments.bucketing.verdicts import Verdict

MOST_ITERATIONS = 100
LEAST_CLOSED = 0.60
MOST_CORE_HOURS = 1.05
JUDGED = (ASA, CHAINED, HEADWAY)


def verdicts_on(results: Results) -> list[Verdict]:
    """All of them; under rule `reserved`."""
    found = [_learning(results)]
    for queue in QUEUES:
        done = [each for each in results.done if each.unit.backfill == queue]
        for pairs in pairs_of(done):
            if pairs.plan in JUDGED and pairs.dependency == "reserved":
                at = standing(pairs)
                if at.closes is None:
                    detail = f"Per-Stage is as fast as Big Job there ({at.gap.mean:+.3f}), so there is nothing to close"
                    about = f"{queue}: {at.plan}'s makespan against Per-Stage's"
                    found.append(Verdict(about, at.ratio.mean, 1.0, at_most=True, detail=detail))
                else:
                    about = f"{queue}: what {at.plan} closes of the gap between Per-Stage and Big Job"
                    detail = f"makespans are {at.ratio.mean:.2f} of Per-Stage's"
                    found.append(Verdict(about, at.closes.mean, LEAST_CLOSED, at_most=False, detail=detail))
                about = f"{queue}: {at.plan}'s core-hours against Per-Stage's"
                found.append(Verdict(about, at.core_ratio.mean, MOST_CORE_HOURS, at_most=True))
    return found


def _learning(results: Results) -> Verdict:
    tuned = [it for it in results.convergence.recoveries if it.policy == "tuned"]
    most = max(ITERATIONS if it.iterations is None else it.iterations for it in tuned)
    about = "the most iterations that tuned ASA needs after a change of Figure 5's"
    signals = len(tuned) // len(CHANGES)
    return Verdict(about, most, MOST_ITERATIONS, at_most=True, detail=f"{len(CHANGES)} changes of {signals} signals")
