"""The study's tables and pictures: a row an allocator, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import fsum
from statistics import fmean

from msgspec import Struct

from headway.report.page_style import legend
from headway.report.words import NOTHING
from headway_papers.bucketing.allocators import ENTRANTS, OURS
from headway_papers.bucketing.cells import NEAREST, PLAIN, RESOURCES, Cell, Setting, Share
from headway_papers.bucketing.own_runs import OwnRun
from headway_papers.bucketing.study import Results
from headway_papers.bucketing.times import RECORDS, TIMED
from headway_papers.bucketing.verdicts import failed_of
from headway_papers.bucketing.workflows import GENERATED, LOG, STAND_IN
from headway_papers.frame.bar_chart import Bar, Group, bar_chart
from headway_papers.frame.page import picture
from headway_papers.frame.report import Cell as TableCell
from headway_papers.frame.report import Marked, Section

PAPER = "P&T"  # Phung and Thain: as narrow as a figure
_SHORT = {"Exponential": "Expon.", "ColmenaXTB": "Colmena"}
_DEAREST = 90  # the first pair of columns; the last leave a narrow screen first
# A colour an allocator, in the order of `ENTRANTS`: those without records grey, bucketing blue, ours orange.
_COLOURS = (
    "#b8bcc2",
    "#8c959f",
    "#57a773",
    "#2f7d4f",
    "#9b7fd1",
    "#6cb0e8",
    "#2f6fb5",
    "#59636e",
    "#f3b183",
    "#e8762d",
)
_FAILED, _UNUSED = "#d1434b", "#8c959f40"
_LEGEND = legend(zip(ENTRANTS, _COLOURS, strict=True))
_STAND_IN_TITLE = f"AWE on coffea 2021, in place of TopEFT whose log is not available; not counted; {PLAIN}"

Of = Callable[[str], float | None]  # a figure of an allocator


class Pair(Struct, frozen=True):
    """A column of ours, and the paper's beside it where it has one."""

    title: str
    ours: Of
    paper: Of = lambda name: None
    best: Callable[[Sequence[float]], float] | None = max  # which of ours to mark
    form: str = "{:.2f}"
    group: str = ""  # heading over several columns, where the paper has none


def sections(results: Results) -> Iterator[Section]:
    """In the paper's order."""
    kind = results.counted
    what = "the paper's logs" if kind == LOG else "generated workflows"
    yield from _awe(results, kind, NEAREST, f"Figure 5: AWE on {what}; {NEAREST}")
    yield from _waste(results, kind)
    yield from _awe(results, kind, PLAIN, f"AWE on {what}; {PLAIN}")
    yield from _failures(results, kind, what)
    yield from _lags(results, kind, what)
    if kind == LOG:
        yield from _awe(results, GENERATED, PLAIN, f"AWE on generated workflows; {PLAIN}")
    for workflow in results.workflows(STAND_IN):
        cells = results.by_name(STAND_IN, PLAIN)
        pairs = [_awe_pair(cells, workflow, name, name, with_paper=True) for name in RESOURCES]
        pictures = [picture(_chart(results, STAND_IN, PLAIN, name, split=False), name, _LEGEND) for name in RESOURCES]
        yield pair_section(_STAND_IN_TITLE, "", pairs, pictures)
    yield _times(results)
    yield _all_cells(results.cells)


def pair_section(title: str, heading: str, pairs: Sequence[Pair], pictures: Sequence[str] = ()) -> Section:
    """A row an allocator. Without any figure of the paper, its columns are left out."""
    has_paper = any(pair.paper(name) is not None for pair in pairs for name in ENTRANTS)
    heads, columns, keep = [("", heading)], [], []
    for place, pair in enumerate(pairs):
        known = [value for value in map(pair.ours, ENTRANTS) if value is not None]
        best = pair.best(known) if pair.best and known else None
        columns.append([_ours(pair, name, best) for name in ENTRANTS])
        heads.append((pair.title, "ours") if has_paper else (pair.group, pair.title))
        if has_paper:
            columns.append([Marked(_written(pair, pair.paper(name)), "quiet") for name in ENTRANTS])
            heads.append((pair.title, PAPER))
        keep += [_DEAREST - place] * (2 if has_paper else 1)
    rows = [[name, *(column[at] for column in columns)] for at, name in enumerate(ENTRANTS)]
    return Section(title, heads, rows, pictures=pictures, keep=keep)


def _ours(pair: Pair, name: str, best: float | None) -> TableCell:
    value = pair.ours(name)
    text = _written(pair, value)
    return Marked(text, "best") if value == best is not None else Marked(text, "ours") if name == OURS else text


def _written(pair: Pair, value: float | None) -> str:
    return NOTHING if value is None else pair.form.format(value)


def _mean_pair(pairs: Sequence[Pair]) -> Pair:
    """The mean of all columns; the paper's only where it has them all."""

    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None

    ours, paper = (
        (lambda name: mean([it.ours(name) for it in pairs])),
        (lambda name: mean([it.paper(name) for it in pairs])),
    )
    return Pair("mean", ours, paper, pairs[0].best)


# --- Figure 5 ---


def _awe(results: Results, kind: str, setting: Setting, title: str) -> Iterator[Section]:
    cells = results.by_name(kind, setting)
    for resource in RESOURCES:
        # The published figures are of the paper's own runs: beside another setting they would say nothing.
        pairs = [
            _awe_pair(cells, workflow, resource, _SHORT.get(workflow, workflow), with_paper=setting == NEAREST)
            for workflow in results.workflows(kind)
        ]
        pictures = [picture(_chart(results, kind, setting, resource, split=False), legend=_LEGEND)]
        yield pair_section(f"{title}: {resource}", resource, [_mean_pair(pairs), *pairs], pictures)


def _awe_pair(
    cells: Mapping[tuple[str, str], Cell], workflow: str, resource: str, title: str, *, with_paper: bool
) -> Pair:
    def published(name: str) -> float | None:
        return cells[workflow, name].resources[resource].published if with_paper else None

    return Pair(title, lambda name: cells[workflow, name].resources[resource].awe, published)


# --- Figure 6 ---


def _waste(results: Results, kind: str) -> Iterator[Section]:
    """Waste of the workflows for which the paper has logs of several runs, and attempts per task of all."""
    cells = results.by_name(kind, NEAREST)
    runs = {(run.workflow, run.allocator): run for run in results.own_runs}
    both = [it for it in results.workflows(kind) if not runs or sum(workflow == it for workflow, _ in runs) > 2]

    def ours(part: str, resource: str, name: str) -> float:
        return fsum(getattr(cells[workflow, name].resources[resource], part) for workflow in both)

    def theirs(part: str, resource: str, name: str) -> float | None:
        found = [runs[workflow, name] for workflow in both if (workflow, name) in runs]
        return fsum(getattr(run, part)[resource] for run in found) if len(found) == len(both) else None

    for resource, (_, unit, _) in RESOURCES.items():
        pairs = [
            Pair(words, partial(ours, part, resource), partial(theirs, part, resource), None, "{:,.0f}")
            for words, part in (("not used", "fragmentation"), ("by failures", "failed"))
        ]
        title = f"Figure 6: waste of {', '.join(both)} together; {NEAREST}: {resource}"
        about = "Colour: used. Red: lost in failed attempts. Grey: given to attempts that succeeded, not used."
        pictures = [picture(_chart(results, kind, NEAREST, resource, split=True), about, _LEGEND)]
        yield pair_section(title, f"{resource}, {unit}", pairs, pictures)

    def attempts(of: Mapping[tuple[str, str], Cell | OwnRun], workflow: str, name: str) -> float | None:
        return of[workflow, name].attempts_per_task if (workflow, name) in of else None

    pairs = [
        Pair(_SHORT.get(it, it), partial(attempts, cells, it), partial(attempts, runs, it), None)
        for it in results.workflows(kind)
    ]
    yield pair_section(f"Figure 6: attempts per task; {NEAREST}", "attempts per task", [_mean_pair(pairs), *pairs])


# --- failures ---


def _failures(results: Results, kind: str, what: str) -> Iterator[Section]:
    """Failed attempts beside efficiency, since one is bought with the other."""
    bound = "any" if results.failures >= 1 else f"{100 * results.failures:g}%"
    for setting in (PLAIN, NEAREST):
        pairs = []
        for resource in RESOURCES:
            failed = failed_of(results.cells, setting, resource, kind)
            pairs.append(Pair("AWE", partial(_mean_awe, results, kind, setting, resource), group=resource))
            pairs.append(Pair("failed", failed.get, best=None, form="{:,.0f}", group=resource))
        yield pair_section(f"Mean AWE and failed attempts on {what}; --failures {bound}; {setting}", "", pairs)


# --- lags, Table I, all cells ---


def _lags(results: Results, kind: str, what: str) -> Iterator[Section]:
    for ttf, words in (("end", "at full cost"), ("observed", "as observed")):
        settings = [setting for setting in results.settings(kind) if setting.ttf == ttf]
        if len(settings) > 1:
            pairs = [
                Pair(f"{setting.lag}", partial(_mean_awe, results, kind, setting, resource), group=resource)
                for resource in RESOURCES
                for setting in settings
            ]
            yield pair_section(f"Mean AWE on {what} by lag, failures {words}", "lag", pairs)


def _mean_awe(results: Results, kind: str, setting: Setting, resource: str, name: str) -> float:
    cells = results.by_name(kind, setting)
    return fmean(cell.resources[resource].awe for (_, allocator), cell in cells.items() if allocator == name)


def _times(results: Results) -> Section:
    found = {(timing.allocator, timing.records): timing for timing in results.times}
    rows = []
    for name in TIMED:
        timings = [found[name, records] for records in RECORDS]
        rows.append([name, *(_us(timing.us) for timing in timings)])
        if any(timing.paper_us is not None for timing in timings):
            rows.append([f"  {PAPER}", *(_us(timing.paper_us) for timing in timings)])
    title = "Table I: µs to learn an outcome and answer a question, on this machine"
    return Section(title, [("", "records"), *(("", f"{records:,}") for records in RECORDS)], rows)


def _us(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _all_cells(cells: Sequence[Cell]) -> Section:
    heads = [("", title) for title in ("workflow", "kind", "allocator", "lag", "failures", "attempts")]
    for resource, (_, unit, _) in RESOURCES.items():
        heads += [(resource, title) for title in ("AWE", PAPER, f"not used {unit}", f"failed {unit}")]
    rows = []
    for it in cells:
        row = [it.workflow, it.kind, it.allocator, str(it.setting.lag), it.setting.ttf, f"{it.attempts_per_task:.2f}"]
        for share in it.resources.values():
            published = "" if share.published is None else f"{share.published:.3f}"
            row += [f"{share.awe:.3f}", published, f"{share.fragmentation:,.1f}", f"{share.failed:,.1f}"]
        rows.append(row)
    return Section("All cells", heads, rows, only_on_page=True)


# --- pictures ---


def _chart(results: Results, kind: str, setting: Setting, resource: str, *, split: bool) -> str:
    cells = [cell for cell in results.cells if (cell.kind, cell.setting) == (kind, setting)]
    marked = not split and (setting == NEAREST or kind == STAND_IN)
    groups = [
        Group(workflow, [_bar(cell, resource, split, marked) for cell in cells if cell.workflow == workflow])
        for workflow in results.workflows(kind)
    ]
    return bar_chart(f"{resource}; {setting}; a line across a bar: as published", groups)


def _bar(cell: Cell, resource: str, split: bool, marked: bool) -> Bar:
    share = cell.resources[resource]
    words = f"{cell.workflow}, {cell.allocator}: AWE {share.awe:.3f}"
    if marked and share.published is not None:
        words += f", published {share.published:.3f}"
    parts = [(_COLOURS[list(ENTRANTS).index(cell.allocator)], share.awe)]
    if split:
        failed, unused = _waste_shares(share)
        parts += [(_FAILED, failed), (_UNUSED, unused)]
        words += f"; failed {failed:.0%}, not used {unused:.0%}; {cell.attempts_per_task:.2f} attempts per task"
    return Bar(parts, share.published if marked else None, words)


def _waste_shares(share: Share) -> tuple[float, float]:
    """The shares of everything given that failed attempts had, and that successes did not use."""
    waste = share.failed + share.fragmentation
    failed = (1 - share.awe) * share.failed / waste if waste else 0.0
    return failed, 1 - share.awe - failed
