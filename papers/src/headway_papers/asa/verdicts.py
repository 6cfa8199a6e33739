"""Does ASA learn as fast as 000 shows, and do stages asked for ahead get near one big job? From the figures alone."""

from __future__ import annotations

from headway.studies.paired import Interval
from headway_papers.asa.comparing import pairs_of, standing
from headway_papers.asa.experiment import Results
from headway_papers.asa.machines import QUEUES
from headway_papers.asa.published import ASA, BIG_JOB
from headway_papers.asa.signal import CHANGES, ITERATIONS
from headway_papers.asa.units import AT_ONCE, HEADWAY
from headway_papers.bucketing.verdicts import Verdict

MOST_ITERATIONS = 100
LEAST_CLOSED = 0.60
MOST_CORE_HOURS = 1.05
ON_AVERAGE = "on average"
JUDGED = (ASA, AT_ONCE, HEADWAY)


def verdicts_on(results: Results) -> list[Verdict]:
    """All of them; under rule `reserved`: on average over all queues, as it is asked for, and queue by queue."""
    found = [_learning(results)]
    for queue in (ON_AVERAGE, *QUEUES):
        done = [each for each in results.done if queue in (ON_AVERAGE, each.unit.backfill)]
        for pairs in pairs_of(done):
            if pairs.plan in JUDGED and pairs.dependency == "reserved":
                at = standing(pairs)
                if at.closes is not None:
                    about = f"{queue}: what {at.plan} closes of the gap between Per-Stage and Big Job"
                    detail = f"{_between(at.closes)}makespans are {at.ratio.mean:.2f} of Per-Stage's"
                    found.append(Verdict(about, at.closes.mean, LEAST_CLOSED, at_most=False, detail=detail))
                about = f"{queue}: {at.plan}'s core-hours against Per-Stage's"
                detail = _between(at.core_ratio).removesuffix("; ")
                found.append(Verdict(about, at.core_ratio.mean, MOST_CORE_HOURS, at_most=True, detail=detail))
    return found


def _between(found: Interval) -> str:
    return (
        "" if found.low is None or found.high is None else f"{found.low:.2f} to {found.high:.2f} with 95% confidence; "
    )


def skipped(results: Results) -> list[str]:
    """Where there is nothing to close."""
    found = []
    for queue in QUEUES:
        done = [each for each in results.done if each.unit.backfill == queue]
        for pairs in pairs_of(done):
            at = standing(pairs)
            if pairs.plan == BIG_JOB and at.closes is None:
                found.append(
                    f"{queue}: there is no gap to close: Big Job takes {at.ratio.mean:.2f} of Per-Stage's makespan"
                )
    return found


def _learning(results: Results) -> Verdict:
    tuned = [it for it in results.convergence.recoveries if it.policy == "tuned"]
    most = max(ITERATIONS if it.iterations is None else it.iterations for it in tuned)
    about = "the most iterations that tuned ASA needs after a change of Figure 5's"
    signals = len(tuned) // len(CHANGES)
    return Verdict(about, most, MOST_ITERATIONS, at_most=True, detail=f"{len(CHANGES)} changes of {signals} signals")
