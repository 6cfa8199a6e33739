"""The experiment as titled tables of words, for screen and page alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headway_papers.asa.sections import Section
from headway_papers.feedback.bar import OURS, against_other_orders
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
    Place,
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
from headway_papers.feedback.statements import statements, words

FIGURE_3 = ("PC 50", "Power 2", "LR mean-", OUR_SIZER)
_MOST_PAIRS = 10


def sections(places: Sequence[Place]) -> Iterator[Section]:
    """In the paper's order, then ours."""
    yield figure_3(places)
    yield figure_4(places)
    yield pairs_table("Figure 5: combinations that are best for so many workflows", places, worst=False)
    yield figure_6(places)
    yield pairs_table("Figure 7: combinations that are worst for so many workflows", places, worst=True)
    yield orders_table(places)
    yield groups_table(places)
    yield combinations(places)
    yield our_order(places)


def figure_3(places: Sequence[Place]) -> Section:
    """MAQ and makespan, every order."""
    rows = []
    for name in FIGURE_3:
        orders = PUBLISHED_ORDERS if ENTRANTS[name].published else EVERY_ORDER
        found = spread(places, name, orders)
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
    heads = [
        ("", "predictor"),
        ("", "scenarios"),
        *(("MAQ", title) for title in ("25%", "median", "75%")),
        *(("days", title) for title in ("25%", "median", "75%")),
        ("MAQ", "< 0.5"),
        ("MAQ", "> 0.8"),
        ("MAQ", "highest"),
        ("", "ranks"),
    ]
    note = "Every order with that predictor. Ranks: correlation of MAQ and makespan; the higher the MAQ the faster."
    return Section("Figure 3: memory allocation quality and execution time", heads, rows, note)


def figure_4(places: Sequence[Place]) -> Section:
    """How often each order is best."""
    wins = {
        (metric, ttf): order_wins([place for place in places if place.ttf == ttf], metric)
        for metric in METRICS
        for ttf in TTFS
    }
    rows = [[SHORT_ORDERS[order], *(str(found[order]) for found in wins.values())] for order in PUBLISHED_ORDERS]
    heads = [("", "order"), *((metric, f"TTF {ttf:g}") for metric, ttf in wins)]
    note = "Of 004's orders and predictors, the best combination for each workflow; ties count for each order in them."
    return Section("Figure 4: orders that are best for so many workflows", heads, rows, note)


def pairs_table(title: str, places: Sequence[Place], *, worst: bool) -> Section:
    """Combinations by how often they are best, or worst."""
    wins = {
        (metric, ttf): pair_wins([place for place in places if place.ttf == ttf], metric, worst=worst)
        for metric in METRICS
        for ttf in TTFS
    }
    total: dict[Pair, int] = {}
    for found in wins.values():
        for pair, count in found.items():
            total[pair] = total.get(pair, 0) + count
    chosen = sorted(total, key=lambda pair: -total[pair])[:_MOST_PAIRS]
    rows = [[said(pair), *(str(found[pair]) for found in wins.values())] for pair in chosen]
    heads = [("", "combination"), *((metric, f"TTF {ttf:g}") for metric, ttf in wins)]
    return Section(title, heads, rows, f"The {len(chosen)} of {len(total)} that are so most often.")


def figure_6(places: Sequence[Place]) -> Section:
    """Regression against users' estimates, LFF persevere."""
    rows = []
    for ttf in TTFS:
        there = [place for place in places if place.ttf == ttf]
        for user in USERS:
            gain = difference(there, (LFF, "LR mean-"), (LFF, user), maq)
            shorter = difference(there, (LFF, "LR mean-"), (LFF, user), days)
            more = sum(place.rows[LFF, "LR mean-"].maq > place.rows[LFF, user].maq for place in there)
            rows.append(
                [f"TTF {ttf:g}, {user}", words(gain, 3, "+"), f"{more} of {len(there)}", words(shorter, 2, "+")]
            )
    heads = [("", "LR mean- against"), ("MAQ", "difference"), ("MAQ", "higher for"), ("", "days")]
    return Section("Figure 6: regression against users' estimates, both LFF persevere", heads, rows)


def orders_table(places: Sequence[Place]) -> Section:
    """Why one order is faster than another with the same predictor: MAQ, and how full the pool is."""
    rows = []
    for order in EVERY_ORDER:
        row = [SHORT_ORDERS.get(order, order)]
        for entrant in ("LR mean-", OUR_SIZER):
            pair = (order, entrant)
            row += [words(mean_of(places, pair, value), digits) for value, digits in ((maq, 3), (days, 2))]
            row.append(f"{mean_of(places, pair, in_use).mean:.1%}")
        rows.append(row)
    heads = [
        ("", "order"),
        *((entrant, title) for entrant in ("LR mean-", OUR_SIZER) for title in ("MAQ", "days", "pool in use")),
    ]
    note = "Pool in use: the share of its memory that was given to tasks, over the whole run."
    return Section("Orders with one predictor, over all workflows and TTFs", heads, rows, note)


def groups_table(places: Sequence[Place]) -> Section:
    """Our default in each group, beside the best of 004's combinations."""
    rows = []
    for (family, ttf), means in sorted(group_means(places).items(), key=lambda item: (item[0][1], item[0][0])):
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
    heads = [
        ("", "group"),
        *(("our default", title) for title in ("MAQ", "days")),
        *(("fastest of 004's", title) for title in ("MAQ", "days", "which")),
        *(("highest MAQ of 004's", title) for title in ("MAQ", "days", "which")),
        ("", "dominate"),
    ]
    note = f"Our default is {said(OURS)}. Dominate: combinations of 004 that are better on both."
    return Section("The 15 groups: means over their workflows", heads, rows, note)


def combinations(places: Sequence[Place]) -> Section:
    """Every combination over everything."""
    rows = [
        [said(pair), words(mean_of(places, pair, maq), 3), words(mean_of(places, pair, days), 2)]
        + [f"{mean_of([it for it in places if it.ttf == ttf], pair, days).mean:.2f}" for ttf in TTFS]
        for pair in EVERY_PAIR
    ]
    heads = [("", "combination"), ("", "MAQ"), ("", "days"), *(("days at TTF", f"{ttf:g}") for ttf in TTFS)]
    return Section(
        "All combinations, over all workflows", heads, sorted(rows, key=lambda row: float(row[2].split()[0]))
    )


def our_order(places: Sequence[Place]) -> Section:
    """With our sizer: is another order better than our default?"""
    orders = [*PUBLISHED_ORDERS, OUR_ORDER, CAUTIOUS]
    rows = [[SHORT_ORDERS.get(order, order), *rest] for order, *rest in against_other_orders(places, orders)]
    heads = [("", "order, with our sizer"), ("", "days more"), ("", "MAQ more")]
    note = (
        f"Less our default's, {said(OURS)}, for the same workflow and TTF; intervals are 95%. {CAUTIOUS} is section "
        "VII's next step: more memory for tasks on which many others wait."
    )
    return Section("Other orders with our sizer", heads, rows, note)


def told(places: Sequence[Place]) -> Section:
    """The paper's statements beside ours."""
    rows = [["same" if it.agrees else "DIFFERS", it.paper, it.ours] for it in statements(places)]
    return Section("What 004 says, and what is found here", [("", ""), ("", "004"), ("", "here")], rows)
