"""Where we agree with 000, where not, and why: sentences made from the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from headway_papers.asa.comparing import pairs_of, published_closing, standing
from headway_papers.asa.experiment import Bounded, Results
from headway_papers.asa.machines import MACHINES, QUEUES
from headway_papers.asa.published import ASA, BIG_JOB, TABLE_2
from headway_papers.asa.units import AT_ONCE, HEADWAY, NAIVE


def findings(results: Results) -> Iterator[str]:
    """A sentence or two a finding."""
    yield from _learning(results)
    yield from _bound(results)
    closed, ours, most = published_closing()
    yield (
        f"Table 1: ASA closes {100 * closed:.0f}% of the gap between Per-Stage and Big Job (mean logarithms), with "
        f"{ours:.2f} of Per-Stage's core-hours; Big Job has {most:.2f}."
    )
    for queue in QUEUES:
        yield from _queue(results, queue)
    yield from _accuracy(results)


def _learning(results: Results) -> Iterator[str]:
    late = {}
    for policy in ("default", "tuned", "greedy"):
        own = [it for it in results.convergence.recoveries if it.policy == policy]
        late[policy] = fmean(it.iterations is None for it in own)
        if policy == "greedy":
            stuck = sum(it.iterations is None for it in own)
    yield (
        f"Figure 5: as in the paper the default policy is too slow (after {100 * late['default']:.0f}% of changes it "
        f"does not know the wait before the next), and the tuned one is quick ({100 * late['tuned']:.0f}%). "
        + (
            "Unlike the paper's, our greedy policy does not get stuck: it goes through the alternatives that have lost "
            "least, at most all of them."
            if not stuck
            else f"Greedy is stuck after {stuck} changes."
        )
    )


def _bound(results: Results) -> Iterator[str]:
    bounds = results.convergence.bounds
    broken = [it for it in bounds if it.broken and it.policy != "greedy"]
    whole = [it for it in bounds if not it.broken and it.policy != "greedy"]
    if broken:
        yield (
            f"The appendix's bound does not hold for: {_names(broken)}. Its proof (equations 11 to 13) takes p times "
            "the loss of the sampled alternative for the expected loss. On average that is the sum of p² times loss, "
            "which with even chances is 1/m of it. A round ends when one alternative is charged twice, which takes "
            "about √m losses, not 4."
        )
    if whole:
        yield (
            f"It holds for: {_names(whole)}. The tuned policy's repetitions end rounds, 4 each, and do not count as "
            "losses. The greedy policy is not what it is about."
        )


def _names(bounds: Sequence[Bounded]) -> str:
    return ", ".join(f"{it.policy} ({it.about})" for it in bounds)


def _queue(results: Results, queue: str) -> Iterator[str]:
    done = [each for each in results.done if each.unit.backfill == queue]
    found = {(it.plan, it.dependency): standing(it) for it in pairs_of(done)}
    big, asa = found.get((BIG_JOB, "reserved")), found.get((ASA, "reserved"))
    if big is None or asa is None:
        return
    gaps = []
    for machine in MACHINES:
        pairs = [it for it in pairs_of([each for each in done if each.unit.machine == machine]) if it.plan == BIG_JOB]
        gaps += [f"{standing(it).ratio.mean:.2f} on {machine}" for it in pairs]
    yield (
        f"{queue}: Big Job's makespan is {big.ratio.mean:.2f} of Per-Stage's ({', '.join(gaps)}). "
        + (
            "Where short and narrow jobs are backfilled, a stage waits far less than the whole, and the paper's "
            "premise, that every stage waits about as long as one big job, does not hold."
            if queue != "fcfs"
            else "Here every job waits its turn, whatever its shape: that is the paper's premise, and nearest to what "
            "Table 2 says of UPPMAX, whose waits hardly depend on cores."
        )
    )
    for plan in (ASA, AT_ONCE, NAIVE, HEADWAY):
        for rule in ("reserved", "slurm"):
            it = found.get((plan, rule))
            if it is not None:
                closes = "" if it.closes is None else f", closes {100 * it.closes.mean:.0f}% of the gap"
                yield (
                    f"{queue}: {it.name} takes {it.ratio.mean:.2f} of Per-Stage's makespan{closes}, with "
                    f"{it.core_ratio.mean:.2f} of its core-hours."
                )
    if queue == "fcfs" and asa.closes is not None:
        yield (
            "The plan asa also submits a stage while the one before it still waits, if it is expected to wait longer "
            "than those before it would take (§4.6: jobs are submitted 'earlier than even upcoming stages'); "
            "all-at-once, which asks for every stage at the beginning, shows what there is to be had."
        )


def _accuracy(results: Results) -> Iterator[str]:
    for queue in QUEUES:
        own = [
            it
            for each in results.done
            if each.unit.backfill == queue and each.unit.dependency == "reserved"
            for it in each.accuracy
        ]
        if own:
            paper = fmean(TABLE_2[it.workflow, it.cores].hit for it in own)
            yield (
                f"{queue}, 60 submissions: {100 * fmean(it.hit for it in own):.0f}% hits (000: {100 * paper:.0f}%), "
                f"and {100 * fmean(it.nearest for it in own):.0f}% of predictions are the nearest alternative. A hit "
                "is any prediction that is not too long, so whoever always says 0 has 100%; where waits are longer "
                "than the hour in which all 60 are submitted, none of them can learn from another."
            )
