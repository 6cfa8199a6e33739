"""The experiment as titled tables of words, for screen and page alike: ours beside 000's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median

from msgspec import Struct

from headway.report.queue.words import waited
from headway.report.words import NOTHING
from headway.studies.charts import Dot
from headway.studies.paired import Interval
from headway_papers.asa.accuracy import Accuracy
from headway_papers.asa.comparing import Standing, pairs_of, standing
from headway_papers.asa.convergence import DELTA, POLICIES, Recovery
from headway_papers.asa.experiment import Results
from headway_papers.asa.machines import MACHINES, QUEUES, Machine
from headway_papers.asa.published import (
    ASA,
    BIG_JOB,
    MONTAGE,
    PER_STAGE,
    STRATEGIES,
    TABLE_1,
    TABLE_2,
    WORKFLOWS,
    Cell,
)
from headway_papers.asa.signal import CHANGES
from headway_papers.asa.units import AT_ONCE, HEADWAY, NAIVE, RULES, Done, Row

_PAPER = "paper"


class Section(Struct, frozen=True):
    """A table and a line on it. Heads are two lines: a group, and a title. Dots are a picture of some of it."""

    title: str
    heads: list[tuple[str, str]]  # the first is that of the names
    rows: list[list[str]]
    note: str = ""
    dots: list[Dot] = []


def sections(results: Results) -> Iterator[Section]:
    """In the paper's order."""
    yield figure_5(results)
    yield regret(results)
    yield waits(results)
    for queue in QUEUES:
        done = [each for each in results.done if each.unit.backfill == queue]
        if done:
            for machine in MACHINES.values():
                yield summary(f"{queue}, {machine.name}", [it for it in done if it.unit.machine == machine.name])
            yield makespans(queue, done)
            yield core_hours(queue, done)
            yield perceived(queue, done)
            yield table_2(queue, done)


# --- the learner alone ---


def figure_5(results: Results) -> Section:
    """How long after each change."""
    rows = []
    for policy in POLICIES:
        found = [it for it in results.convergence.recoveries if it.policy == policy]
        by_change = [[it for it in found if it.at == at] for at in CHANGES]
        figures = [_iterations(each) for each in by_change]
        rows.append([policy, *figures, f"{100 * fmean(it.right for it in found):.0f}%"])
    heads = [("", "policy"), *(("change at iteration", str(at)) for at in CHANGES), ("", "right")]
    note = (
        "Iterations until the right alternative has more than half of the chances: median, and the most; 'never' is "
        "not before the next change. Right: answers than which no alternative was nearer."
    )
    return Section("Figure 5: how soon ASA knows a wait that has changed", heads, rows, note)


def _iterations(found: Sequence[Recovery]) -> str:
    known = [it.iterations for it in found if it.iterations is not None]
    never = len(found) - len(known)
    if not known:
        return "never"
    words = f"{median(known):.0f}, {max(known)}"
    return f"{words}, {never} never" if never else words


def regret(results: Results) -> Section:
    """Theorem 1."""
    rows = [
        [
            f"{it.policy}: {it.about}",
            str(it.last.regret),
            f"{it.last.bound:.0f}",
            str(it.worst.iterations),
            str(it.worst.regret),
            f"{it.worst.bound:.0f}",
            f"{100 * it.broken / it.tried:.0f}%",
        ]
        for it in results.convergence.bounds
    ]
    at_worst = "where it is worst"
    heads = [
        ("", ""),
        ("at the end", "regret"),
        ("at the end", "bound"),
        (at_worst, "iteration"),
        (at_worst, "regret"),
        (at_worst, "bound"),
        ("", "broken"),
    ]
    note = (
        f"Appendix A, Theorem 1: loss beyond the best single alternative, and 4η + ln m + √(2t ln(m/δ)) with δ = "
        f"{DELTA:g}. Broken: the share of iterations after which the regret is beyond the bound."
    )
    return Section("Regret beside the appendix's bound", heads, rows, note)


# --- queues ---


def waits(results: Results) -> Section:
    """What was matched."""
    rows = []
    for machine in MACHINES.values():
        for queue in QUEUES:
            own = [it for it in results.calibrated if (it.machine, it.backfill) == (machine.name, queue)]
            if own:
                loads = sorted(it.load for it in own)
                means = [f"{fmean(it.waits_h[cores] for it in own):.1f}" for cores in machine.cores]
                rows.append([f"{machine.name}, {queue}", f"{loads[0]:.2f} to {loads[-1]:.2f}", *means])
        rows.append(
            [f"{machine.name}, {_PAPER}", NOTHING, *(f"{TABLE_2[MONTAGE, it].real_h:g}" for it in machine.cores)]
        )
    mean = "mean wait, hours"
    heads = [("", ""), ("", "load"), (mean, "28 or 160"), (mean, "56 or 320"), (mean, "112 or 640 cores")]
    note = "One load for each made-up log, so that jobs of the most cores, for 20 minutes, wait as long as in Table 2."
    return Section("Loads, and what they make jobs wait", heads, rows, note)


def summary(title: str, done: Sequence[Done]) -> Section:
    """Every strategy on a machine."""
    found = [standing(pairs) for pairs in pairs_of(done)]
    rows = [
        [
            it.name,
            waited(it.makespan_s),
            _interval(it.ratio),
            NOTHING if it.closes is None else f"{100 * it.closes.mean:.0f}%",
            waited(it.total_wait_s),
            waited(it.perceived_wait_s),
            f"{it.core_hours:.0f}",
            _interval(it.core_ratio),
            f"{it.idle_core_hours:.1f}",
            f"{it.early}",
        ]
        for it in found
    ]
    heads = [
        ("", "strategy"),
        ("makespan", "mean"),
        ("makespan", "to Per-Stage"),
        ("", "closes"),
        ("wait", "total"),
        ("wait", "perceived"),
        ("core-hours", "mean"),
        ("core-hours", "to Per-Stage"),
        ("core-hours", "idle"),
        ("", "early"),
    ]
    runs = found[0].runs if found else 0
    note = (
        f"{runs} runs each. Closes: of the gap between Per-Stage and Big Job, if there is one. Early: allocations that "
        "were given back."
    )
    dots = [Dot(it.name, it.ratio, _interval(it.ratio)) for it in found]
    return Section(f"{title}: all strategies", heads, rows, note, dots)


_Wanted = Callable[[Done, Row], bool]


def _of(cell: Cell) -> _Wanted:
    return lambda done, row: (row.workflow, row.cores) == cell


def _by_cell(done: Sequence[Done]) -> dict[Cell, dict[tuple[str, str], Standing]]:
    found = {}
    for cell in TABLE_1:
        pairs = pairs_of(done, _of(cell))
        found[cell] = {(it.plan, it.dependency): standing(it) for it in pairs}
    return found


def _cell(cell: Cell) -> str:
    return f"{cell[0]} {cell[1]}"


def makespans(queue: str, done: Sequence[Done]) -> Section:
    """Table 1's makespans."""
    others = (AT_ONCE, HEADWAY)
    rows = []
    for cell, by_plan in _by_cell(done).items():
        paper = TABLE_1[cell]
        first = by_plan.get((PER_STAGE, "reserved"))
        row = [_cell(cell), NOTHING if first is None else waited(first.makespan_s), waited(paper[PER_STAGE].makespan_s)]
        for plan in (BIG_JOB, ASA, *others):
            own = by_plan.get((plan, "reserved"))
            row.append(NOTHING if own is None else _interval(own.ratio))
            if plan in STRATEGIES:
                row.append(f"{paper[plan].makespan_s / paper[PER_STAGE].makespan_s:.2f}")
        rows.append(row)
    heads = [("", ""), ("Per-Stage", "ours"), ("Per-Stage", _PAPER)]
    for plan in (BIG_JOB, ASA):
        heads += [(f"{plan}, of it", "ours"), (f"{plan}, of it", _PAPER)]
    heads += [("", plan) for plan in others]
    return Section(
        f"Table 1, {queue}: makespans",
        heads,
        rows,
        "Others than Per-Stage as a part of its makespan, geometric means; rule reserved.",
    )


def core_hours(queue: str, done: Sequence[Done]) -> Section:
    """Table 1's core-hours."""
    plans = (BIG_JOB, PER_STAGE, ASA)
    rows = []
    for cell, by_plan in _by_cell(done).items():
        row = [_cell(cell)]
        for plan in (*plans, NAIVE, HEADWAY):
            own = by_plan.get((plan, "reserved"))
            row.append(NOTHING if own is None else f"{own.core_hours:.0f}")
            if plan in plans:
                row.append(f"{TABLE_1[cell][plan].core_hours:g}")
        rows.append(row)
    heads = [("", ""), *((plan, whose) for plan in plans for whose in ("ours", _PAPER))]
    heads += [("", plan) for plan in (NAIVE, HEADWAY)]
    return Section(f"Table 1, {queue}: core-hours", heads, rows, "Ours are of whole nodes.")


def perceived(queue: str, done: Sequence[Done]) -> Section:
    """Table 1's waits."""
    rows = []
    for cell, by_plan in _by_cell(done).items():
        row = [_cell(cell)]
        for plan in STRATEGIES:
            own = by_plan.get((plan, "reserved"))
            row += [NOTHING if own is None else waited(own.perceived_wait_s), waited(TABLE_1[cell][plan].wait_s)]
        asa = by_plan.get((ASA, "reserved"))
        row.append(NOTHING if asa is None else waited(asa.total_wait_s))
        rows.append(row)
    heads = [("", ""), *((plan, whose) for plan in STRATEGIES for whose in ("ours", _PAPER)), (ASA, "total")]
    return Section(
        f"Table 1, {queue}: waits",
        heads,
        rows,
        "Perceived: while no task runs. Total: of all jobs, also while others ran.",
    )


# --- §4.8 ---


def table_2(queue: str, done: Sequence[Done]) -> Section:
    """Sixty submissions a minute apart."""
    rows = []
    for workflow in WORKFLOWS:
        for machine in MACHINES.values():
            rows += [_accuracy(machine, done, (workflow, cores)) for cores in machine.cores]
    groups = ("real wait", "ASA says", "perceived", "hit", "overhead")
    heads = [("", ""), *((group, whose) for group in groups for whose in ("ours", _PAPER)), ("", "nearest")]
    note = (
        "Hours, and core-hours of overhead; rule reserved; means over logs and moments. Hit: not predicted more than a "
        "minute too long. Overhead: for which nodes would be held if nobody gave them back. Nearest: no alternative "
        "would have been nearer."
    )
    return Section(f"Table 2, {queue}: 60 submissions, a minute apart", heads, [row for row in rows if row], note)


def _accuracy(machine: Machine, done: Sequence[Done], cell: Cell) -> list[str]:
    own = [
        it
        for each in done
        if (each.unit.machine, each.unit.dependency) == (machine.name, RULES[0])
        for it in each.accuracy
        if (it.workflow, it.cores) == cell
    ]
    if not own:
        return []
    paper = TABLE_2[cell]

    def mean(name: str, found: Sequence[Accuracy] = own) -> float:
        return fmean(float(getattr(it, name)) for it in found)

    return [
        _cell(cell),
        f"{mean('real_h'):.1f} ±{mean('real_spread_h'):.1f}",
        f"{paper.real_h:g}",
        f"{mean('said_h'):.1f} ±{mean('said_spread_h'):.1f}",
        f"{paper.said_h:g}",
        f"{mean('perceived_h'):.1f}",
        f"{paper.perceived_h:g}",
        f"{100 * mean('hit'):.0f}%",
        f"{100 * paper.hit:.0f}%",
        f"{mean('overhead_core_hours'):.0f}",
        f"{paper.overhead_core_hours:g}",
        f"{100 * mean('nearest'):.0f}%",
    ]


def _interval(found: Interval) -> str:
    words = f"{found.mean:.2f}"
    return words if found.low is None or found.high is None else f"{words} ±{(found.high - found.low) / 2:.2f}"
