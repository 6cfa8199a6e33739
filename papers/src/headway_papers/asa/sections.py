"""The study's tables: ours beside those of Souza et al. 2020."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median

from headway.report.page_style import legend
from headway.report.queue.words import waited
from headway.report.words import NOTHING
from headway.studies.charts import Dot, ratio_chart
from headway_papers.asa import charts
from headway_papers.asa.accuracy import Accuracy
from headway_papers.asa.comparing import Standing, pairs_of, standing
from headway_papers.asa.convergence import CHANGES, DELTA, POLICIES, Recovery
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
from headway_papers.asa.study import Results
from headway_papers.asa.units import AT_ONCE, HEADWAY, NAIVE, RULES, Done, Row
from headway_papers.frame.page import picture
from headway_papers.frame.report import Section, columns, plus_minus

_PAPER = "paper"
_AXIS = "makespan, in those of Per-Stage (logarithmic): shorter to the left"


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
    """Iterations after each change."""
    rows = []
    for policy in POLICIES:
        found = [it for it in results.convergence.recoveries if it.policy == policy]
        by_change = [[it for it in found if it.at == at] for at in CHANGES]
        figures = [_iterations(each) for each in by_change]
        rows.append([policy, *figures, f"{100 * fmean(it.right for it in found):.0f}%"])
    heads = columns("policy", ("change at iteration", *map(str, CHANGES)), ("", "right"))
    note = (
        "Iterations until the right alternative has a probability above one half: median and maximum; 'never' means "
        "not before the next change. Right: predictions that were the nearest alternative."
    )
    drawn = picture(charts.figure_5(results.convergence.shown), legend=legend(charts.COLOURS.items()))
    return Section("Figure 5: how soon ASA knows a wait that has changed", heads, rows, note, [drawn])


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
    worst = ("where it is worst", "iteration", "regret", "bound")
    heads = columns("", ("at the end", "regret", "bound"), worst, ("", "broken"))
    note = (
        f"Appendix A, Theorem 1: loss beyond the best single alternative, and 4η + ln m + √(2t ln(m/δ)) with δ = "
        f"{DELTA:g}. Broken: the share of iterations after which the regret is beyond the bound."
    )
    return Section("Regret beside the appendix's bound", heads, rows, note)


# --- queues ---


def waits(results: Results) -> Section:
    """The loads, and the waits that they were chosen for."""
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
    heads = columns("", ("", "load"), ("mean wait, hours", "28 or 160", "56 or 320", "112 or 640 cores"))
    note = "One load for each generated log, so that jobs of 20 minutes with the most cores wait as long as in Table 2."
    return Section("Loads, and how long jobs wait at them", heads, rows, note)


def summary(title: str, done: Sequence[Done]) -> Section:
    """Every strategy on a machine."""
    found = [standing(pairs) for pairs in pairs_of(done)]
    rows = [
        [
            it.name,
            waited(it.makespan_s),
            plus_minus(it.ratio),
            NOTHING if it.closes is None else f"{100 * it.closes.mean:.0f}%",
            waited(it.total_wait_s),
            waited(it.perceived_wait_s),
            f"{it.core_hours:.0f}",
            plus_minus(it.core_ratio),
            f"{it.idle_core_hours:.1f}",
            f"{it.early}",
        ]
        for it in found
    ]
    makespan, wait = ("makespan", "mean", "to Per-Stage"), ("wait", "total", "perceived")
    heads = columns(
        "strategy", makespan, ("", "closes"), wait, ("core-hours", "mean", "to Per-Stage", "idle"), ("", "early")
    )
    runs = found[0].runs if found else 0
    note = (
        f"{runs} runs each. Closes: of the gap between Per-Stage and Big Job, if there is one. Early: allocations that "
        "started too early and were released."
    )
    dots = [Dot(it.name, it.ratio, plus_minus(it.ratio)) for it in found]
    pictures = [picture(ratio_chart(title, dots, _AXIS))] if dots else []
    return Section(f"{title}: all strategies", heads, rows, note, pictures)


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
            row.append(NOTHING if own is None else plus_minus(own.ratio))
            if plan in STRATEGIES:
                row.append(f"{paper[plan].makespan_s / paper[PER_STAGE].makespan_s:.2f}")
        rows.append(row)
    groups = ("Per-Stage", f"{BIG_JOB}, of it", f"{ASA}, of it")
    heads = columns("", *((group, "ours", _PAPER) for group in groups), ("", *others))
    return Section(
        f"Table 1, {queue}: makespans",
        heads,
        rows,
        "All but Per-Stage as a part of its makespan, geometric means; rule reserved.",
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
    heads = columns("", *((plan, "ours", _PAPER) for plan in plans), ("", NAIVE, HEADWAY))
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
    heads = columns("", *((plan, "ours", _PAPER) for plan in STRATEGIES), (ASA, "total"))
    return Section(
        f"Table 1, {queue}: waits",
        heads,
        rows,
        "Ours: time in which no task runs. Total: the sum over all jobs, also while others run.",
    )


# --- §4.8 ---


def table_2(queue: str, done: Sequence[Done]) -> Section:
    """Sixty submissions a minute apart."""
    rows = []
    for workflow in WORKFLOWS:
        for machine in MACHINES.values():
            rows += [_accuracy(machine, done, (workflow, cores)) for cores in machine.cores]
    groups = ("real wait", "ASA says", "perceived", "hit", "overhead")
    heads = columns("", *((group, "ours", _PAPER) for group in groups), ("", "nearest"))
    note = (
        "Hours, and core-hours of overhead; rule reserved; means over logs and moments. Hit: not predicted more than a "
        "minute too long. Overhead: core-hours that would be held before they are needed. Nearest: no alternative "
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
