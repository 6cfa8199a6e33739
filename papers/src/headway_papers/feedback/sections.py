"""The study's tables and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from headway.report.page_style import legend
from headway_papers.feedback.charts import Axis, Cloud, bars, scatter
from headway_papers.feedback.entrants import (
    CAUTIOUS,
    ENTRANTS,
    EVERY_ORDER,
    EVERY_PAIR,
    LFF,
    OUR_ORDER,
    OUR_SIZER,
    PUBLISHED_ORDERS,
    SHORT_ORDERS,
    TTFS,
    USERS,
    Pair,
    is_published,
    said,
)
from headway_papers.feedback.figures import (
    METRICS,
    Case,
    days,
    difference,
    dominators,
    group_means,
    in_use,
    maq,
    mean_of,
    order_wins,
    pair_wins,
    spread,
)
from headway_papers.feedback.verdicts import OURS, against_other_orders
from headway_papers.frame.page import picture
from headway_papers.frame.report import Section, bracketed, columns

Key = TypeVar("Key", bound=Hashable)
FIGURE_3 = ("PC 50", "Power 2", "LR mean-", OUR_SIZER)
_MOST_PAIRS = 10
_COLOURS = {"PC 50": "#d1434b", "Power 2": "#8c959f", "LR mean-": "#2f6fb5", OUR_SIZER: "#e8762d"}
_BY_TTF = ("#6cb0e8", "#2f6fb5", "#1b3a5c")
_TTF_LEGEND = legend((f"TTF {ttf:g}", colour) for ttf, colour in zip(TTFS, _BY_TTF, strict=True))
_MOST_DOTS = 1500  # of each colour


def sections(cases: Sequence[Case], seed: int) -> Iterator[Section]:
    """In the paper's order, then ours."""
    yield figure_3(cases, seed)
    yield figure_4(cases)
    yield pairs_table("Figure 5", "best", cases)
    yield figure_6(cases)
    yield pairs_table("Figure 7", "worst", cases)
    yield orders_table(cases)
    yield groups_table(cases)
    yield combinations(cases)
    yield our_order(cases)


def figure_3(cases: Sequence[Case], seed: int) -> Section:
    """MAQ and makespan, every order."""
    rows, clouds = [], []
    draw = np.random.Generator(np.random.Philox(key=[seed, 3]))
    for name in FIGURE_3:
        orders = PUBLISHED_ORDERS if ENTRANTS[name].published else EVERY_ORDER
        every = [case.rows[order, name] for case in cases for order in orders]
        chosen = draw.choice(len(every), min(_MOST_DOTS, len(every)), replace=False).tolist()
        clouds.append(Cloud(name, _COLOURS[name], [(every[at].maq, days(every[at])) for at in chosen]))
        found = spread(cases, name, orders)
        rows.append(
            [
                name,
                f"{found.scenarios:,}",
                *(f"{value:.3f}" for value in found.maq_quartiles),
                *(f"{value:.2f}" for value in found.days_quartiles),
                f"{found.below_half:.0%}",
                f"{found.above_80:.0%}",
                f"{found.highest_maq:.3f}",
                f"{found.correlation:+.2f}",
            ]
        )
    quartiles = ("25%", "median", "75%")
    heads = columns(
        "predictor",
        ("", "scenarios"),
        ("MAQ", *quartiles),
        ("days", *quartiles),
        ("MAQ", "< 0.5", "> 0.8", "highest"),
        ("", "ranks"),
    )
    note = "Every order with that predictor. Ranks: correlation of MAQ and makespan; the higher the MAQ the faster."
    drawn = scatter("Figure 3", clouds, Axis("MAQ", 0.2, 1.0), Axis("days", 0.0, 25.0))
    pictures = [picture(drawn, legend=legend(_COLOURS.items()))]
    return Section("Figure 3: memory allocation quality and execution time", heads, rows, note, pictures)


def _by_metric_and_ttf(
    cases: Sequence[Case], count: Callable[[list[Case], str], Counter[Key]]
) -> dict[tuple[str, float], Counter[Key]]:
    return {(metric, ttf): count([it for it in cases if it.ttf == ttf], metric) for metric in METRICS for ttf in TTFS}


def _counts(figure: str, wins: Mapping[tuple[str, float], Counter[Key]], named: Mapping[Key, str]) -> list[str]:
    """A bar chart for each metric."""
    return [
        picture(
            bars(
                f"{figure}: {metric}",
                [(name, [wins[metric, ttf][key] for ttf in TTFS]) for key, name in named.items()],
                _BY_TTF,
            ),
            metric,
            _TTF_LEGEND,
        )
        for metric in METRICS
    ]


def figure_4(cases: Sequence[Case]) -> Section:
    """How often each order is best."""
    wins = _by_metric_and_ttf(cases, order_wins)
    rows = [[SHORT_ORDERS[order], *(str(found[order]) for found in wins.values())] for order in PUBLISHED_ORDERS]
    heads = [("", "order"), *((metric, f"TTF {ttf:g}") for metric, ttf in wins)]
    note = "Of the paper's combinations, the best one for each workflow; ties count for each order in them."
    pictures = _counts("Figure 4", wins, {order: SHORT_ORDERS[order] for order in PUBLISHED_ORDERS})
    return Section("Figure 4: number of workflows for which each order is best", heads, rows, note, pictures)


def pairs_table(figure: str, which: str, cases: Sequence[Case]) -> Section:
    """Combinations by how often they are best, or worst."""
    wins = _by_metric_and_ttf(cases, partial(pair_wins, worst=which == "worst"))
    total: Counter[Pair] = sum(wins.values(), Counter())
    chosen = sorted(total, key=lambda pair: -total[pair])[:_MOST_PAIRS]
    rows = [[said(pair), *(str(found[pair]) for found in wins.values())] for pair in chosen]
    heads = [("", "combination"), *((metric, f"TTF {ttf:g}") for metric, ttf in wins)]
    note = f"The first {len(chosen)} of {len(total)}."
    pictures = _counts(figure, wins, {pair: said(pair) for pair in chosen})
    return Section(f"{figure}: number of workflows for which a combination is {which}", heads, rows, note, pictures)


def figure_6(cases: Sequence[Case]) -> Section:
    """Regression against users' estimates, LFF persevere."""
    rows = []
    for ttf in TTFS:
        there = [case for case in cases if case.ttf == ttf]
        for user in USERS:
            gain = difference(there, (LFF, "LR mean-"), (LFF, user), maq)
            shorter = difference(there, (LFF, "LR mean-"), (LFF, user), days)
            more = sum(case.rows[LFF, "LR mean-"].maq > case.rows[LFF, user].maq for case in there)
            rows.append(
                [f"TTF {ttf:g}, {user}", bracketed(gain, 3, "+"), f"{more} of {len(there)}", bracketed(shorter, 2, "+")]
            )
    heads = columns("LR mean- against", ("MAQ", "difference", "higher for"), ("", "days"))
    clouds = [
        Cloud(
            f"TTF {ttf:g}",
            colour,
            [(it.rows[LFF, "Power 2"].maq, it.rows[LFF, "LR mean-"].maq) for it in cases if it.ttf == ttf],
        )
        for ttf, colour in zip(TTFS, _BY_TTF, strict=True)
    ]
    axes = Axis("MAQ, Power 2", 0.2, 1.0), Axis("MAQ, LR mean-", 0.2, 1.0)
    pictures = [picture(scatter("Figure 6", clouds, *axes, diagonal=True), legend=_TTF_LEGEND)]
    return Section("Figure 6: regression against users' estimates, both LFF persevere", heads, rows, "", pictures)


def orders_table(cases: Sequence[Case]) -> Section:
    """Why one order is faster than another with the same predictor: MAQ, and how full the pool is."""
    rows = []
    for order in EVERY_ORDER:
        row = [SHORT_ORDERS.get(order, order)]
        for entrant in ("LR mean-", OUR_SIZER):
            pair = (order, entrant)
            row += [bracketed(mean_of(cases, pair, value), digits) for value, digits in ((maq, 3), (days, 2))]
            row.append(f"{mean_of(cases, pair, in_use).mean:.1%}")
        rows.append(row)
    heads = columns("order", *((entrant, "MAQ", "days", "pool in use") for entrant in ("LR mean-", OUR_SIZER)))
    note = "Pool in use: the share of its memory that was given to tasks, over the whole run."
    return Section("Orders with one predictor, over all workflows and TTFs", heads, rows, note)


def groups_table(cases: Sequence[Case]) -> Section:
    """Our default in each group, beside the best of the paper's combinations."""
    rows = []
    for (family, ttf), means in sorted(group_means(cases).items(), key=lambda item: (item[0][1], item[0][0])):
        published = [pair for pair in means if is_published(pair)]
        fastest = min(published, key=lambda pair: means[pair][1])
        finest = max(published, key=lambda pair: means[pair][0])
        rows.append(
            [
                f"{family}, TTF {ttf:g}",
                f"{means[OURS][0]:.3f}",
                f"{means[OURS][1]:.2f}",
                f"{means[fastest][0]:.3f}",
                f"{means[fastest][1]:.2f}",
                said(fastest),
                f"{means[finest][0]:.3f}",
                f"{means[finest][1]:.2f}",
                said(finest),
                str(len(dominators(means, OURS, is_published))),
            ]
        )
    best = [(f"the paper's {which}", "MAQ", "days", "which") for which in ("fastest", "highest MAQ")]
    heads = columns("group", ("our default", "MAQ", "days"), *best, ("", "dominate"))
    note = f"Our default is {said(OURS)}. Dominate: combinations of the paper that are better on both."
    return Section("The 15 groups: means over their workflows", heads, rows, note)


def combinations(cases: Sequence[Case]) -> Section:
    """Every combination over everything."""
    length = {pair: mean_of(cases, pair, days) for pair in EVERY_PAIR}
    rows = [
        [said(pair), bracketed(mean_of(cases, pair, maq), 3), bracketed(length[pair], 2)]
        + [f"{mean_of([it for it in cases if it.ttf == ttf], pair, days).mean:.2f}" for ttf in TTFS]
        for pair in sorted(EVERY_PAIR, key=lambda pair: length[pair].mean)
    ]
    heads = [("", "combination"), ("", "MAQ"), ("", "days"), *(("days at TTF", f"{ttf:g}") for ttf in TTFS)]
    return Section("All combinations, over all workflows", heads, rows)


def our_order(cases: Sequence[Case]) -> Section:
    """With our sizer: is another order better than our default?"""
    orders = [*PUBLISHED_ORDERS, OUR_ORDER, CAUTIOUS]
    rows = [[SHORT_ORDERS.get(order, order), *rest] for order, *rest in against_other_orders(cases, orders)]
    heads = [("", "order, with our sizer"), ("", "days more"), ("", "MAQ more")]
    note = (
        f"Less our default's, {said(OURS)}, for the same workflow and TTF; intervals are 95%. {CAUTIOUS} is section "
        "VII's next step: more memory for tasks on which many others wait."
    )
    return Section("Other orders with our sizer", heads, rows, note)
