"""The experiment on a screen: ours beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import fsum
from statistics import fmean, median

from rich.text import Text

from headway.report.columns import Field, table_lines
from headway.report.words import NOTHING
from headway_papers.bucketing.allocators import ENTRANTS, EXACT, OURS
from headway_papers.bucketing.cells import NEAREST, PLAIN, RESOURCES, Cell, Setting
from headway_papers.bucketing.experiment import Results
from headway_papers.bucketing.own_runs import OwnRun
from headway_papers.bucketing.pairs import Pair, mean_pair, pair_table
from headway_papers.bucketing.times import RECORDS, TIMED
from headway_papers.bucketing.verdicts import BASELINE, Verdict
from headway_papers.bucketing.workflows import GENERATED, LOG, STAND_IN

_DRAWING = [entrant.name for entrant in ENTRANTS.values() if entrant.draws]
_SHORT = {"Exponential": "Expon.", "ColmenaXTB": "Colmena"}

Line = tuple[Text | str, bool]  # and whether it is laid out, and must not be wrapped


def lines_of(results: Results, width: int) -> Iterator[Line]:
    """Everything, section by section."""
    kind = results.counted
    what = "the paper's logs" if kind == LOG else "generated workflows"
    yield Text("Phung and Thain, IPDPS 2024 (001): seven allocators, and ours", style="bold"), False
    yield _note(
        f"AWE is what successes used over all that was given; 001 is what the paper published. {EXACT!r} is not in the "
        f"paper: it gives the greatest peak so far, as the paper's own bucketing runs did. "
        f"Seeds: {', '.join(map(str, results.seeds))}."
    )
    yield from _awe_tables(results, kind, NEAREST, f"Figure 5: AWE on {what}; {NEAREST}", width)
    yield from _waste_tables(results, kind, width)
    yield from _awe_tables(results, kind, PLAIN, f"AWE on {what}; {PLAIN}", width)
    yield from _lag_tables(results, kind, what, width)
    if kind == LOG:
        yield from _awe_tables(results, GENERATED, PLAIN, f"AWE on generated workflows; {PLAIN}", width)
    if results.workflows(STAND_IN):
        yield from _section(f"AWE on coffea 2021, in place of TopEFT whose log is not to be had; not counted; {PLAIN}")
        cells = _cells(results, STAND_IN, PLAIN)
        pairs = [_awe_pair(cells, results.workflows(STAND_IN)[0], name, name, with_paper=True) for name in RESOURCES]
        yield from _laid_out(pair_table("", pairs, width))
    yield from _section("Table I: µs to learn an outcome and answer a question, on this machine")
    yield from _laid_out(_times(results, width))
    if results.own_runs:
        yield from _section("The paper's own runs, as their logs tell")
        yield told_of(results.own_runs), False
    yield from _section("Verdicts")
    for verdict in results.verdicts:
        yield _verdict(verdict), False
    if not results.verdicts:
        yield "none: they are about the paper's logs, which are not here", False


def told_of(runs: Sequence[OwnRun]) -> str:
    """What the logs of the paper's own runs say, in short."""
    apart = [abs(run.awe[name] - value) for run in runs for name, value in run.published.items() if value is not None]
    in_flight = median([run.in_flight for run in runs if run.allocator != BASELINE] or [0])
    drawn = [run for run in runs if run.allocator in _DRAWING]
    lowered = (
        f" In its {len(drawn)} runs of greedy and exhaustive bucketing, {sum(run.lowered for run in drawn):,} of "
        f"{sum(run.first_amounts for run in drawn):,} first amounts, once they did not explore any more, are lower "
        f"than the one before."
        if drawn
        else ""
    )
    return (
        f"Of {len(runs)} of the paper's runs there is a log; from it the same formula gives the published AWE to "
        f"within {max(apart, default=0.0):.5f} in all {len(apart)} cells. When one of their attempts started, "
        f"{in_flight:.0f} were running (median of the runs that did not give whole machines): so lag {NEAREST.lag} "
        f"is nearest.{lowered}"
    )


# --- parts ---


def _note(text: str) -> Line:
    return Text(text, style="dim"), False


def _section(title: str) -> Iterator[Line]:
    yield "", False
    yield Text(title, style="bold"), False
    yield "", False


def _laid_out(lines: Sequence[Text]) -> Iterator[Line]:
    for line in lines:
        yield line, True


def _verdict(verdict: Verdict) -> Text:
    sign, style = ("≤", "") if verdict.at_most else ("≥", "+")
    line = Text("pass" if verdict.passed else "FAIL", style="bold green" if verdict.passed else "bold red")
    text = Text.assemble(
        line, (f"  {verdict.value:{style}.3f} {sign} {verdict.needed:.2f}", "bold"), f"  {verdict.about}"
    )
    return text.append(f": {verdict.detail}" if verdict.detail else "", style="dim")


def _cells(results: Results, kind: str, setting: Setting) -> dict[tuple[str, str], Cell]:
    """By workflow and allocator."""
    found = [cell for cell in results.cells if (cell.kind, cell.setting) == (kind, setting)]
    return {(cell.workflow, cell.allocator): cell for cell in found}


# --- Figure 5 ---


def _awe_tables(results: Results, kind: str, setting: Setting, title: str, width: int) -> Iterator[Line]:
    yield from _section(title)
    cells, workflows = _cells(results, kind, setting), results.workflows(kind)
    for number, resource in enumerate(RESOURCES):
        # The published figures are of the paper's setting: beside another one they would say nothing.
        pairs = [
            _awe_pair(cells, workflow, resource, _SHORT.get(workflow, workflow), with_paper=setting == NEAREST)
            for workflow in workflows
        ]
        if number:
            yield "", False
        yield from _laid_out(pair_table(resource, [mean_pair(pairs), *pairs], width))


def _awe_pair(
    cells: dict[tuple[str, str], Cell], workflow: str, resource: str, title: str, *, with_paper: bool
) -> Pair:
    def published(name: str) -> float | None:
        return cells[workflow, name].resources[resource].published if with_paper else None

    return Pair(title, lambda name: cells[workflow, name].resources[resource].awe, published)


# --- Figure 6 ---


def _waste_tables(results: Results, kind: str, width: int) -> Iterator[Line]:
    """Waste of the workflows of which the paper has the logs of several runs, and attempts per task of all."""
    cells = _cells(results, kind, NEAREST)
    runs = {(run.workflow, run.allocator): run for run in results.own_runs}
    both = [it for it in results.workflows(kind) if not runs or sum(workflow == it for workflow, _ in runs) > 2]
    yield from _section(f"Figure 6: waste of {', '.join(both)} together; {NEAREST}")

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
        yield from _laid_out(pair_table(f"{resource}, {unit}", pairs, width))
        yield "", False

    def attempts(of: Mapping[tuple[str, str], Cell | OwnRun], workflow: str, name: str) -> float | None:
        return of[workflow, name].attempts_per_task if (workflow, name) in of else None

    pairs = [
        Pair(
            _SHORT.get(workflow, workflow), partial(attempts, cells, workflow), partial(attempts, runs, workflow), None
        )
        for workflow in results.workflows(kind)
    ]
    yield from _laid_out(pair_table("attempts per task", [mean_pair(pairs), *pairs], width))


# --- lags ---


def _lag_tables(results: Results, kind: str, what: str, width: int) -> Iterator[Line]:
    for ttf, words in (("end", "at full cost"), ("observed", "as observed")):
        settings = [setting for setting in results.settings(kind) if setting.ttf == ttf]
        if len(settings) < 2:
            continue
        yield from _section(f"Mean AWE on {what} by lag, failures {words}")
        pairs = [
            Pair(f"{setting.lag}", partial(_mean_awe, results, kind, setting, resource), group=resource)
            for resource in RESOURCES
            for setting in settings
        ]
        yield from _laid_out(pair_table("lag", pairs, width))


def _mean_awe(results: Results, kind: str, setting: Setting, resource: str, name: str) -> float:
    cells = _cells(results, kind, setting)
    return fmean(cell.resources[resource].awe for (_, allocator), cell in cells.items() if allocator == name)


# --- Table I ---


def _times(results: Results, width: int) -> list[Text]:
    found = {(timing.allocator, timing.records): timing for timing in results.times}
    rows = [(name, paper) for name in TIMED for paper in (False, True) if not paper or name != OURS]

    def cell(records: int, row: tuple[str, bool]) -> str:
        timing = found[row[0], records]
        value = timing.paper_us if row[1] else timing.us
        return NOTHING if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"

    fields = [Field("", f"{records:,}", partial(cell, records), 70) for records in RECORDS]
    return table_lines(
        "records", ["  001" if paper else name for name, paper in rows], rows, fields, width, total=False
    )
