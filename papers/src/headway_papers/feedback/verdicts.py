"""Does feedback beat users' estimates, as the paper says, and is our default ahead of every combination?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from headway.drivers.run_settings import DEFAULT_SIZER
from headway.ordering import DEFAULT_ORDER
from headway_papers.feedback.entrants import EXACT, LFF, OUR_EXACT, OUR_SIZER, Pair, is_published, said
from headway_papers.feedback.figures import Case, Group, days, difference, dominators, group_means, maq
from headway_papers.frame.report import Verdict, bracketed

OURS: Pair = (DEFAULT_ORDER, DEFAULT_SIZER)


def verdicts_on(cases: Sequence[Case]) -> list[Verdict]:
    """The paper's claim, and our goal: no combination of the paper's is better than our default on both MAQ and
    makespan by group means, and no other order with our sizer is so beyond chance.

    Orders that hardly differ take turns at being first by a small margin, hence "beyond chance".
    """
    means = group_means(cases)
    beaten = {group: dominators(each, OURS, is_published) for group, each in means.items()}
    closer = {group: dominators(each, OURS, _with_our_sizer) for group, each in means.items()}
    sure = {
        group: [pair for pair in pairs if _for_sure([it for it in cases if (it.family, it.ttf) == group], pair)]
        for group, pairs in closer.items()
    }
    by_means = f"by the means alone in {sum(map(bool, closer.values()))}"
    return [
        *_claims(cases),
        _none("groups of 15 in which one of the paper's combinations dominates our default", beaten),
        _none("groups of 15 in which another order with our sizer dominates it beyond chance", sure, by_means),
    ]


def _claims(cases: Sequence[Case]) -> list[Verdict]:
    """The abstract: feedback "improves resource utilization and execution times compared to typical user estimates".

    By the combinations of the paper's Figure 6.
    """
    learned, user = (LFF, "LR mean-"), (LFF, "Power 2")
    if any(pair not in case.rows for case in cases for pair in (learned, user)):
        return []
    claim = "claim of Witt et al. 2019: regression (LR mean-) less users' estimates (Power 2), both LFF"
    quality, length = difference(cases, learned, user, maq), difference(cases, learned, user, days)
    return [
        Verdict(f"{claim}: MAQ", quality.mean, 0.0, at_most=False, detail=bracketed(quality, 3, "+")),
        Verdict(f"{claim}: makespan in days", length.mean, 0.0, at_most=True, detail=bracketed(length, 2, "+")),
    ]


def _none(about: str, beaten: Mapping[Group, Sequence[Pair]], more: str = "") -> Verdict:
    lost = {group: pairs for group, pairs in beaten.items() if pairs}
    details = [f"{family} at TTF {ttf:g}: {', '.join(map(said, pairs[:3]))}" for (family, ttf), pairs in lost.items()]
    return Verdict(about, float(len(lost)), 0.0, at_most=True, detail="; ".join([*([more] if more else []), *details]))


def _for_sure(there: Sequence[Case], pair: Pair) -> bool:
    """Whether it is better on both with 95% confidence, workflow by workflow."""
    finer, shorter = difference(there, pair, OURS, maq), difference(there, pair, OURS, days)
    return finer.low is not None and finer.low > 0 and shorter.high is not None and shorter.high < 0


def _with_our_sizer(pair: Pair) -> bool:
    return pair[1] == OUR_SIZER


def lead(cases: Sequence[Case]) -> list[str]:
    """How far our default is ahead of the best of the paper's combinations, by group means, in words."""
    means = group_means(cases)
    fastest = {group: min(each[p][1] for p in each if is_published(p)) for group, each in means.items()}
    finest = {group: max(each[p][0] for p in each if is_published(p)) for group, each in means.items()}
    faster = [1 - each[OURS][1] / fastest[group] for group, each in means.items()]
    finer = [each[OURS][0] - finest[group] for group, each in means.items()]
    return [
        f"Our default ({said(OURS)}) is {fmean(faster):+.1%} faster than the fastest of the paper's combinations in a "
        f"group, on average over groups, {min(faster):+.1%} at worst; its MAQ is {fmean(finer):+.3f} above the "
        f"highest, {min(finer):+.3f} at worst.",
        f"Users who knew the greatest peak of each kind beforehand ({EXACT}) would dominate it in "
        f"{_beaten_by_exact(means, OURS)} of {len(means)} groups; if it began with the same knowledge, in "
        f"{_beaten_by_exact(means, (OURS[0], OUR_EXACT))}.",
    ]


def _beaten_by_exact(means: Mapping[Group, Mapping[Pair, tuple[float, float]]], ours: Pair) -> int:
    return sum(bool(dominators(each, ours, lambda pair: pair[1] == EXACT)) for each in means.values())


def against_other_orders(cases: Sequence[Case], orders: Sequence[str]) -> list[tuple[str, str, str]]:
    """With our sizer: each order's makespan and MAQ less those of our default, with intervals."""
    return [
        (
            order,
            bracketed(difference(cases, (order, OUR_SIZER), OURS, days), 2, "+"),
            bracketed(difference(cases, (order, OUR_SIZER), OURS, maq), 4, "+"),
        )
        for order in orders
        if order != OURS[0]
    ]
