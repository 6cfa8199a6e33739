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
    Measured,
)
from headway_papers.asa.study import Results
from headway_papers.asa.units import AT_ONCE, HEADWAY, NAIVE, RULES, Done
from headway_papers.frame.page import picture
from headway_papers.frame.report import Section, columns, plus_minus

_PAPER = "paper"
# A plan, our figure of it, and the paper's.
_Column = tuple[str, Callable[[Standing], str], Callable[[dict[str, Measured]], str] | None]
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
            yield from table_1(queue, done)
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
        f"{runs} runs each. Closes: of the gap between Per-Stage and Big Job, where that is significant. Early: "
        "allocations that started too early and were released."
    )
    dots = [Dot(it.name, it.ratio, plus_minus(it.ratio)) for it in found]
    pictures = [picture(ratio_chart(title, dots, _AXIS))] if dots else []
    return Section(f"{title}: all strategies", heads, rows, note, pictures)


def table_1(queue: str, done: Sequence[Done]) -> Iterator[Section]:
    """Makespans, core-hours and waits, under rule `reserved`."""
    by_cell = {cell: _standings(done, cell) for cell in TABLE_1}

    def section(what: str, note: str, heads: list[tuple[str, str]], shown: Sequence[_Column]) -> Section:
        rows = []
        for cell, by_plan in by_cell.items():
            row = [_cell(cell)]
            for plan, ours, paper in shown:
                row.append(ours(by_plan[plan]) if plan in by_plan else NOTHING)
                row += [paper(TABLE_1[cell])] if paper else []
            rows.append(row)
        return Section(f"Table 1, {queue}: {what}", heads, rows, note)

    def ratio(it: Standing) -> str:
        return plus_minus(it.ratio)

    def part(plan: str) -> Callable[[dict[str, Measured]], str]:
        return lambda row: f"{row[plan].makespan_s / row[PER_STAGE].makespan_s:.2f}"

    first: _Column = (PER_STAGE, lambda it: waited(it.makespan_s), lambda row: waited(row[PER_STAGE].makespan_s))
    shown = [
        first,
        *((it, ratio, part(it)) for it in (BIG_JOB, ASA)),
        *((it, ratio, None) for it in (AT_ONCE, HEADWAY)),
    ]
    groups = ("Per-Stage", f"{BIG_JOB}, of it", f"{ASA}, of it")
    heads = columns("", *((group, "ours", _PAPER) for group in groups), ("", AT_ONCE, HEADWAY))
    yield section("makespans", "All but Per-Stage as a part of its makespan, geometric means.", heads, shown)

    def hours(it: Standing) -> str:
        return f"{it.core_hours:.0f}"

    def figure(plan: str, of: Callable[[Measured], str]) -> Callable[[dict[str, Measured]], str]:
        return lambda row: of(row[plan])

    shown = [(it, hours, figure(it, lambda measured: f"{measured.core_hours:g}")) for it in STRATEGIES]
    heads = columns("", *((plan, "ours", _PAPER) for plan in STRATEGIES), ("", NAIVE, HEADWAY))
    more = [(it, hours, None) for it in (NAIVE, HEADWAY)]
    yield section("core-hours", "Ours are of whole nodes.", heads, [*shown, *more])

    def no_task(it: Standing) -> str:
        return waited(it.perceived_wait_s)

    shown = [(it, no_task, figure(it, lambda measured: waited(measured.wait_s))) for it in STRATEGIES]
    heads = columns("", *((plan, "ours", _PAPER) for plan in STRATEGIES), (ASA, "total"))
    note = "Ours: time in which no task runs. Total: the sum over all jobs, each from when it could start."
    yield section("waits", note, heads, [*shown, (ASA, lambda it: waited(it.total_wait_s), None)])


def _standings(done: Sequence[Done], cell: Cell) -> dict[str, Standing]:
    found = pairs_of(done, lambda done, row: (row.workflow, row.cores) == cell)
    return {it.plan: standing(it) for it in found if it.dependency == "reserved"}


def _cell(cell: Cell) -> str:
    return f"{cell[0]} {cell[1]}"


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
