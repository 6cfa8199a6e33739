"""Is our default ahead? In none of the 15 groups may a combination be better on both MAQ and makespan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from headway.ordering import DEFAULT_ORDER
from headway.sizing import DEFAULT_SIZER
from headway_papers.bucketing.verdicts import Verdict
from headway_papers.feedback.entrants import EXACT, OUR_EXACT, OUR_SIZER, Pair, is_published, said
from headway_papers.feedback.figures import Group, Place, days, difference, dominators, group_means, maq
from headway_papers.feedback.statements import words

OURS: Pair = (DEFAULT_ORDER, DEFAULT_SIZER)


def verdicts_on(places: Sequence[Place]) -> list[Verdict]:
    """The bar: no combination of 004's may be better on both by group means, and no other order with our sizer may be
    so beyond chance. Orders that hardly differ take turns at being first by a hair."""
    means = group_means(places)
    beaten = {group: dominators(each, OURS, is_published) for group, each in means.items()}
    closer = {group: dominators(each, OURS, _with_our_sizer) for group, each in means.items()}
    sure = {
        group: [pair for pair in pairs if _for_sure([it for it in places if (it.family, it.ttf) == group], pair)]
        for group, pairs in closer.items()
    }
    by_a_hair = f"by the means alone in {sum(map(bool, closer.values()))}"
    return [
        _none("groups of 15 in which one of 004's combinations dominates our default", beaten),
        _none("groups of 15 in which another order with our sizer dominates it beyond chance", sure, by_a_hair),
    ]


def _none(about: str, beaten: Mapping[Group, Sequence[Pair]], more: str = "") -> Verdict:
    lost = {group: pairs for group, pairs in beaten.items() if pairs}
    details = [f"{family} at TTF {ttf:g}: {', '.join(map(said, pairs[:3]))}" for (family, ttf), pairs in lost.items()]
    return Verdict(about, float(len(lost)), 0.0, at_most=True, detail="; ".join([*([more] if more else []), *details]))


def _for_sure(there: Sequence[Place], pair: Pair) -> bool:
    """Whether it is better on both with 95% confidence, workflow by workflow."""
    finer, shorter = difference(there, pair, OURS, maq), difference(there, pair, OURS, days)
    return finer.low is not None and finer.low > 0 and shorter.high is not None and shorter.high < 0


def _with_our_sizer(pair: Pair) -> bool:
    return pair[1] == OUR_SIZER


def lead(places: Sequence[Place]) -> list[str]:
    """How far ahead of the best of 004's combinations, by group means, in words."""
    means = group_means(places)
    fastest = {group: min(each[p][1] for p in each if is_published(p)) for group, each in means.items()}
    finest = {group: max(each[p][0] for p in each if is_published(p)) for group, each in means.items()}
    faster = [1 - each[OURS][1] / fastest[group] for group, each in means.items()]
    finer = [each[OURS][0] - finest[group] for group, each in means.items()]
    return [
        f"Our default ({said(OURS)}) is {fmean(faster):+.1%} faster than the fastest of 004's combinations in a group, "
        f"on average over groups, {min(faster):+.1%} at worst; its MAQ is {fmean(finer):+.3f} above the highest, "
        f"{min(finer):+.3f} at worst.",
        f"Users who knew the greatest peak of each kind beforehand ({EXACT}) would dominate it in "
        f"{_beaten_by_exact(means, OURS)} of {len(means)} groups; if it began with the same knowledge, in "
        f"{_beaten_by_exact(means, (OURS[0], OUR_EXACT))}.",
    ]


def _beaten_by_exact(means: Mapping[Group, Mapping[Pair, tuple[float, float]]], ours: Pair) -> int:
    return sum(bool(dominators(each, ours, lambda pair: pair[1] == EXACT)) for each in means.values())


def against_other_orders(places: Sequence[Place], orders: Sequence[str]) -> list[tuple[str, str, str]]:
    """With our sizer: each order's makespan and MAQ less those of our default, with intervals."""
    return [
        (
            order,
            words(difference(places, (order, OUR_SIZER), OURS, days), 2, "+"),
            words(difference(places, (order, OUR_SIZER), OURS, maq), 4, "+"),
        )
        for order in orders
        if order != OURS[0]
    ]
