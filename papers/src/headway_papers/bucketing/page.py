"""The experiment as one HTML page with nothing to load from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from statistics import fmean

from headway.report.page_style import legend, page_of, quiet_paragraph, table
from headway_papers.bucketing.allocators import ENTRANTS, EXACT
from headway_papers.bucketing.cells import NEAREST, PLAIN, RESOURCES, Cell, Setting, Share
from headway_papers.bucketing.charts import Bar, Group, bar_chart
from headway_papers.bucketing.experiment import Results
from headway_papers.bucketing.tables import told_of
from headway_papers.bucketing.times import RECORDS, TIMED
from headway_papers.bucketing.verdicts import Verdict
from headway_papers.bucketing.workflows import GENERATED, LOG, STAND_IN

# One an allocator, in the order of `ENTRANTS`: those that read no records grey, drawn buckets blue, ours orange.
_COLOURS = ("#b8bcc2", "#8c959f", "#57a773", "#2f7d4f", "#9b7fd1", "#6cb0e8", "#2f6fb5", "#59636e", "#e8762d")

_FAILED, _UNUSED = "#d1434b", "#8c959f40"

_STYLE = """
  .verdicts th { text-align: left }
  .words { text-align: left; white-space: normal }
  .pass { color: #1a7f37; font-weight: 600 } .fail { color: #cf222e; font-weight: 600 }
  .legend { margin: 1em 0 } .legend p { display: inline }
"""


def page(results: Results) -> str:
    """The whole page."""
    return page_of("001 run again: seven allocators, and ours", _STYLE, _body(results))


def _body(results: Results) -> Iterator[str]:
    kind = results.counted
    what = "the paper's logs" if kind == LOG else "generated workflows"
    yield "<h1>Phung and Thain, IPDPS 2024 (001): seven allocators, and ours</h1>"
    yield quiet_paragraph(
        "AWE, Absolute Workflow Efficiency: what successes used over all that was given, both times run time. "
        f"{EXACT!r} is not in the paper: it gives the greatest peak so far, as the paper's own bucketing runs did. "
        f"Seeds: {', '.join(map(str, results.seeds))}."
    )
    for sentence in results.missing:
        yield quiet_paragraph(sentence)
    if results.own_runs:
        yield quiet_paragraph(told_of(results.own_runs))
    if results.verdicts:
        rows = (_verdict(verdict) for verdict in results.verdicts)
        yield f'<h2>Verdicts</h2><div class="verdicts">{table(("", "is", "was to be", "what"), rows)}</div>'
    yield _legend()
    yield from _charts(results, kind, NEAREST, f"Figure 5: AWE on {what}; {NEAREST}", split=False)
    yield from _charts(results, kind, NEAREST, f"Figure 6: where everything went that was given; {NEAREST}", split=True)
    yield from _charts(results, kind, PLAIN, f"AWE on {what}; {PLAIN}", split=False)
    if kind == LOG:
        yield from _charts(results, GENERATED, PLAIN, f"AWE on generated workflows; {PLAIN}", split=False)
    if results.workflows(STAND_IN):
        title = f"AWE on coffea 2021, in place of TopEFT whose log is not to be had; not counted; {PLAIN}"
        yield from _charts(results, STAND_IN, PLAIN, title, split=False)
    yield f"<h2>Mean AWE on {escape(what)} by setting</h2>"
    yield _by_setting(results, kind)
    yield "<h2>Table I: µs to learn an outcome and answer a question, on the machine that made this page</h2>"
    yield _times(results)
    yield "<h2>All cells</h2><details><summary>AWE, waste and attempts of each</summary>"
    yield _all_cells(results.cells)
    yield "</details>"


def _legend() -> str:
    note = '<span class="quiet">— a black line across a bar: what the paper published</span>'
    return f'<div class="legend">{legend(zip(ENTRANTS, _COLOURS, strict=True))} {note}</div>'


# --- pictures ---


def _charts(results: Results, kind: str, setting: Setting, title: str, *, split: bool) -> Iterator[str]:
    yield f"<h2>{escape(title)}</h2>"
    if split:
        yield quiet_paragraph(
            "Colour: used. Red: lost in failed attempts. Grey: given to attempts that succeeded, not used."
        )
    cells = [cell for cell in results.cells if (cell.kind, cell.setting) == (kind, setting)]
    # The published figures are of the paper's setting; the stand-in has only one to be compared in.
    marked = not split and (setting == NEAREST or kind == STAND_IN)
    for resource in RESOURCES:
        groups = [
            Group(workflow, [_bar(cell, resource, split, marked) for cell in cells if cell.workflow == workflow])
            for workflow in results.workflows(kind)
        ]
        yield f'<h3>{resource}</h3><div class="wide">{bar_chart(f"{title}: {resource}", groups)}</div>'


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
    """Of all that was given: what failed attempts had, and what was not used."""
    waste = share.failed + share.fragmentation
    failed = (1 - share.awe) * share.failed / waste if waste else 0.0
    return failed, 1 - share.awe - failed


# --- tables ---


def _verdict(verdict: Verdict) -> tuple[str, ...]:
    mark = '<span class="pass">pass</span>' if verdict.passed else '<span class="fail">FAIL</span>'
    sign = "≤" if verdict.at_most else "≥"
    words = escape(verdict.about) + (
        f'<br><span class="quiet">{escape(verdict.detail)}</span>' if verdict.detail else ""
    )
    return mark, f"{verdict.value:.3f}", f"{sign} {verdict.needed:.2f}", f'<div class="words">{words}</div>'


def _by_setting(results: Results, kind: str) -> str:
    settings = results.settings(kind)
    heads = ["", *(f"{name}, {it.lag} {it.ttf}" for name in RESOURCES for it in settings)]

    def mean(name: str, resource: str, setting: Setting) -> float:
        found = (it for it in results.cells if (it.kind, it.setting, it.allocator) == (kind, setting, name))
        return fmean(cell.resources[resource].awe for cell in found)

    rows = (
        [escape(name), *(f"{mean(name, resource, setting):.3f}" for resource in RESOURCES for setting in settings)]
        for name in ENTRANTS
    )
    return table(heads, rows)


def _times(results: Results) -> str:
    found = {(timing.allocator, timing.records): timing for timing in results.times}
    rows = []
    for name in TIMED:
        timings = [found[name, records] for records in RECORDS]
        rows.append([escape(name), *(f"{timing.us:,.1f}" for timing in timings)])
        if any(timing.paper_us is not None for timing in timings):
            rows.append(["the paper", *("" if it.paper_us is None else f"{it.paper_us:,.1f}" for it in timings)])
    return table(["records", *(f"{records:,}" for records in RECORDS)], rows)


def _all_cells(cells: Sequence[Cell]) -> str:
    heads = ["workflow", "", "allocator", "lag", "failures", "attempts"]
    for resource, (_, unit, _) in RESOURCES.items():
        heads += [f"{resource} AWE", "001", f"not used {unit}", f"failed {unit}"]
    rows = []
    for cell in cells:
        row = [
            escape(cell.workflow),
            cell.kind,
            escape(cell.allocator),
            str(cell.setting.lag),
            cell.setting.ttf,
            f"{cell.attempts_per_task:.2f}",
        ]
        for share in cell.resources.values():
            published = "" if share.published is None else f"{share.published:.3f}"
            row += [f"{share.awe:.3f}", published, f"{share.fragmentation:,.1f}", f"{share.failed:,.1f}"]
        rows.append(row)
    return table(heads, rows)
