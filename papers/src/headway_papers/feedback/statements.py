"""What the paper says, and what is found here: each with the figures that decide, and whether they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from headway.studies.paired import Interval
from headway_papers.feedback.entrants import (
    FAMILIES,
    FIFO,
    LFF,
    PREDICTORS,
    PUBLISHED_ORDERS,
    SHORT_ORDERS,
    TTFS,
    handling,
    is_published,
    said,
)
from headway_papers.feedback.figures import (
    LEAST_DAYS,
    MAKESPAN,
    MAQ,
    METRICS,
    Case,
    days,
    difference,
    in_use,
    maq,
    mean_of,
    order_wins,
    pair_wins,
    spread,
)
from headway_papers.feedback.units import Row
from headway_papers.frame.report import Statement, bracketed

_WORST_SHARE = 0.10  # from here on a combination is "among the worst"


def statements(cases: Sequence[Case]) -> Iterator[Statement]:
    """In the paper's order."""
    yield _bound(cases)
    yield _highest(cases)
    yield _mean_minus(cases)
    yield _best_order(cases, 0.1, FIFO, "FIFO")
    yield from (_best_order(cases, ttf, LFF, "LFF") for ttf in TTFS[1:])
    yield from (_lff_against_fifo(cases, ttf) for ttf in TTFS)
    yield _persevere(cases)
    yield _topology(cases)
    yield _pc_50_with_fifo(cases)
    yield _over_users(cases)
    yield _worst(cases)


def _at(cases: Sequence[Case], ttf: float) -> list[Case]:
    return [case for case in cases if case.ttf == ttf]


def _bound(cases: Sequence[Case]) -> Statement:
    slack = min(in_use(row) for case in cases for row in case.rows.values())
    most = max(in_use(row) for case in cases for row in case.rows.values())
    paper = f"MAQ limits the execution time from below: {LEAST_DAYS:.1f} days divided by it (VI-A)"
    ours = f"the pool's memory is given to tasks for {slack:.0%} to {most:.0%} of a run, never for more than all of it"
    return Statement(paper, ours, most <= 1.0 + 1e-9)


def _highest(cases: Sequence[Case]) -> Statement:
    rows = [row for case in cases for pair, row in case.rows.items() if is_published(pair)]
    above = fmean(row.maq > 0.8 for row in rows)
    highest = max(row.maq for row in rows)
    paper = "few scenarios exceed a MAQ of 80%; the highest is 87.1% (VI-A)"
    return Statement(paper, f"{above:.0%} of {len(rows):,} exceed it; the highest is {highest:.1%}", above < 0.25)


def _mean_minus(cases: Sequence[Case]) -> Statement:
    found = {name: spread(cases, name, PUBLISHED_ORDERS) for name in ("LR mean-", "Power 2", "PC 50")}
    ours = "; ".join(
        f"{name}: median MAQ {it.maq_quartiles[1]:.3f}, median {it.days_quartiles[1]:.2f} days"
        for name, it in found.items()
    )
    line = found["LR mean-"]
    others = [it for name, it in found.items() if name != "LR mean-"]
    agrees = all(
        line.maq_quartiles[1] > it.maq_quartiles[1] and line.days_quartiles[1] < it.days_quartiles[1] for it in others
    )
    return Statement(
        "LR mean- concentrates where MAQ is high and makespan low, beside Power 2 and PC 50 (VI-A)", ours, agrees
    )


def _best_order(cases: Sequence[Case], ttf: float, order: str, name: str) -> Statement:
    there = _at(cases, ttf)
    parts, agrees = [], True
    for metric in METRICS:
        wins = order_wins(there, metric)
        parts.append(f"{metric}: {_top(wins)}; {name} {wins[order]}")
        agrees = agrees and wins[order] == max(wins.values())
    paper = f"TTF {ttf:g}: {name} is best for most workflows, on makespan and on MAQ (VI-B, Figure 4)"
    return Statement(paper, f"of {len(there)}, {'; '.join(parts)}", agrees)


def _top(wins: Counter[str]) -> str:
    return ", ".join(f"{SHORT_ORDERS.get(order, order)} {count}" for order, count in wins.most_common(3))


def _lff_against_fifo(cases: Sequence[Case], ttf: float) -> Statement:
    """The two orders that the paper goes on with, over all predictors."""
    there = _at(cases, ttf)
    parts, better = [], []
    for metric, value, digits, sign in ((MAKESPAN, days, 2, -1), (MAQ, maq, 3, 1)):
        found = [difference(there, (LFF, name), (FIFO, name), value) for name in PREDICTORS]
        mean = fmean(it.mean for it in found)
        sure = sum(_below(it) if metric == MAKESPAN else _above(it) for it in found)
        parts.append(
            f"{metric} {mean:+.{digits}f} on average, better for sure with {sure} of {len(found)} predictors and on "
            f"average in {len(_families_with_lff(there, value, sign))} of {len(FAMILIES)} families"
        )
        better.append(mean < 0 if metric == MAKESPAN else mean > 0)
    paper = f"TTF {ttf:g}: of FIFO and LFF, {'FIFO' if ttf == TTFS[0] else 'LFF'} is better (VI-B, VI-C)"
    ours = f"LFF less FIFO with the same predictor: {'; '.join(parts)}"
    return Statement(paper, ours, not any(better) if ttf == TTFS[0] else all(better))


def _families_with_lff(there: Sequence[Case], value: Callable[[Row], float], sign: int) -> list[str]:
    """Families in which LFF is better than FIFO on average; over all, one much slower family outweighs the others."""
    gains = {
        family: [
            sign * (value(case.rows[LFF, name]) - value(case.rows[FIFO, name]))
            for case in there
            if case.family == family
            for name in PREDICTORS
        ]
        for family in dict.fromkeys(case.family for case in there)
    }
    return [family for family, each in gains.items() if fmean(each) > 0]


def _below(found: Interval) -> bool:
    return found.high is not None and found.high < 0


def _above(found: Interval) -> bool:
    return found.low is not None and found.low > 0


def _persevere(cases: Sequence[Case]) -> Statement:
    counts = []
    for metric in METRICS:
        by = Counter[str]()
        for order, wins in order_wins(cases, metric).items():
            by[handling(order)] += wins
        counts.append((metric, by["persevere"], by["postpone"]))
    means = []
    for order in (order for order in PUBLISHED_ORDERS if f"{order}-postpone" in PUBLISHED_ORDERS):
        found = [difference(cases, (order, name), (f"{order}-postpone", name), maq).mean for name in PREDICTORS]
        means.append(fmean(found))
    ours = "; ".join(f"best on {metric}: {one} times, {other} with postpone" for metric, one, other in counts)
    ours += f"; with the same order and predictor MAQ is {fmean(means):+.3f} higher on average"
    agrees = all(one > other for _, one, other in counts) and all(mean > 0 for mean in means)
    return Statement("persevere is better than postpone over all (VI-B)", ours, agrees)


def _topology(cases: Sequence[Case]) -> Statement:
    by_graph = [order for order in PUBLISHED_ORDERS if order.startswith(("bfs", "dfs", "rank"))]
    parts, agrees = [], True
    for metric in METRICS:
        wins = order_wins(cases, metric)
        most = max(by_graph, key=lambda order: wins[order])
        others = max(wins[order] for order in PUBLISHED_ORDERS if order not in by_graph)
        parts.append(f"{metric}: {SHORT_ORDERS[most]} {wins[most]}, the best of FIFO and LFF {others}")
        agrees = agrees and wins[most] < others
    return Statement("none of BFS, DFS and TR is competitive (VI-B)", "; ".join(parts), agrees)


def _pc_50_with_fifo(cases: Sequence[Case]) -> Statement:
    there = _at(cases, 0.1)
    wins = pair_wins(there, MAKESPAN)
    top = ", ".join(f"{said(pair)} {count}" for pair, count in wins.most_common(3))
    failed = mean_of(there, (FIFO, "PC 50"), lambda row: row.attempts / 1000).mean
    quality = mean_of(there, (FIFO, "PC 50"), maq)
    ours = (
        f"FIFO + PC 50 is fastest for {wins[FIFO, 'PC 50']} of {len(there)}; most often are {top}. It takes "
        f"{failed:.2f} attempts a task, and what failed gets twice the median: MAQ {bracketed(quality)}"
    )
    agrees = wins[FIFO, "PC 50"] == max(wins.values())
    return Statement("TTF 0.1: FIFO is best because of PC 50 (VI-C, Figure 5)", ours, agrees)


def _over_users(cases: Sequence[Case]) -> Statement:
    gain = difference(cases, (LFF, "LR mean-"), (LFF, "Power 2"), maq)
    better = fmean(case.rows[LFF, "LR mean-"].maq > case.rows[LFF, "Power 2"].maq for case in cases)
    ours = (
        f"with LFF persevere LR mean- has {bracketed(gain, sign='+')} more MAQ than Power 2, and more for "
        f"{better:.0%} of workflows"
    )
    return Statement("regression gives better MAQ than users' estimates (Figure 6)", ours, _above(gain))


def _worst(cases: Sequence[Case]) -> Statement:
    there = [case for case in cases if case.ttf > TTFS[0]]
    parts, agrees = [], False
    for metric in METRICS:
        wins = pair_wins(there, metric, worst=True)
        share = sum(
            count for (order, name), count in wins.items() if name == "PC 50" and handling(order) != "persevere"
        )
        part = share / wins.total()
        top = ", ".join(f"{said(pair)} {count}" for pair, count in wins.most_common(3))
        parts.append(f"{metric}: PC 50 with postpone or FIFO is {part:.0%} of the worst; most often {top}")
        agrees = agrees or part >= _WORST_SHARE
    return Statement(
        "PC 50 with postpone is among the worst (VI-C, Figure 7; here TTF 0.5 and 0.9)", "; ".join(parts), agrees
    )
