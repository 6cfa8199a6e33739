"""Does ASA learn as fast as the paper shows, and does it reach Big Job's makespan at Per-Stage's core-hours?"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log

from headway.studies.paired import Interval, interval
from headway_papers.asa.comparing import Pairs, pairs_of, standing
from headway_papers.asa.convergence import CHANGES, ITERATIONS
from headway_papers.asa.machines import QUEUES
from headway_papers.asa.published import ASA
from headway_papers.asa.study import Results
from headway_papers.asa.units import AT_ONCE, HEADWAY
from headway_papers.frame.report import Verdict

MOST_ITERATIONS = 100
MOST_CORE_HOURS = 1.02
# §6: "a mere 2% increase in total runtime" over Big Job, and "a 43% reduction" of core-hours; Table 1 has 1.43 times.
CLAIMED_MAKESPAN, CLAIMED_CORE_HOURS = 1.02, 1.43
ON_AVERAGE = "on average"
JUDGED = (ASA, AT_ONCE, HEADWAY)


def verdicts_on(results: Results) -> list[Verdict]:
    """All verdicts, under rule `reserved`: on average over all queues, and queue by queue."""
    found = [_learning(results)]
    for queue in (ON_AVERAGE, *QUEUES):
        done = [each for each in results.done if queue in (ON_AVERAGE, each.unit.backfill)]
        judged = [it for it in pairs_of(done) if it.plan in JUDGED and it.dependency == "reserved"]
        for pairs in judged:
            found += _claims(queue, pairs) if pairs.plan == ASA else ()
            found.append(_against_per_stage(queue, pairs))
    return found


def _claims(queue: str, pairs: Pairs) -> Iterator[Verdict]:
    """The paper's own: Big Job's makespan, at far fewer core-hours."""
    both = list(zip(pairs.rows, pairs.big_job, strict=True))
    longer = interval([log(row.makespan_s / big.makespan_s) for row, big in both], pairs.clusters)
    about = f"{queue}, claim of Souza et al. 2020: asa's makespan against Big Job's"
    low, high = (None if end is None else exp(end) for end in (longer.low, longer.high))
    ratio = Interval(exp(longer.mean), low, high)
    yield Verdict(about, ratio.mean, CLAIMED_MAKESPAN, at_most=True, detail=_between(ratio))
    saved = interval([big.core_hours / row.core_hours for row, big in both], pairs.clusters)
    about = f"{queue}, claim of Souza et al. 2020: Big Job's core-hours against asa's"
    yield Verdict(about, saved.mean, CLAIMED_CORE_HOURS, at_most=False, detail=_between(saved))


def _against_per_stage(queue: str, pairs: Pairs) -> Verdict:
    at = standing(pairs)
    about = f"{queue}: {at.plan}'s core-hours against Per-Stage's"
    detail = "; ".join(filter(None, (_between(at.core_ratio), f"makespans are {at.ratio.mean:.2f} of Per-Stage's")))
    return Verdict(about, at.core_ratio.mean, MOST_CORE_HOURS, at_most=True, detail=detail)


def _between(found: Interval) -> str:
    return "" if found.low is None or found.high is None else f"{found.low:.2f} to {found.high:.2f} with 95% confidence"


def _learning(results: Results) -> Verdict:
    tuned = [it for it in results.convergence.recoveries if it.policy == "tuned"]
    most = max(ITERATIONS if it.iterations is None else it.iterations for it in tuned)
    about = "the most iterations that tuned ASA needs after a change in Figure 5"
    signals = len(tuned) // len(CHANGES)
    return Verdict(about, most, MOST_ITERATIONS, at_most=True, detail=f"{len(CHANGES)} changes of {signals} signals")
