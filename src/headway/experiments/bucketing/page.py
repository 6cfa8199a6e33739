"""The experiment as one HTML page with nothing to load from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from statistics import fmean

from headway.experiments.bucketing.allocators import ENTRANTS, EXACT
from headway.experiments.bucketing.cells import NEAREST, PLAIN, RESOURCES, Cell, Setting, Share
from headway.experiments.bucketing.charts import Bar, Group, bar_chart
from headway.experiments.bucketing.experiment import Results
from headway.experiments.bucketing.tables import told_of
from headway.experiments.bucketing.times import RECORDS, TIMED
from headway.experiments.bucketing.verdicts import Verdict
from headway.experiments.bucketing.workflows import GENERATED, LOG, STAND_IN

# One an allocator, in the order of `ENTRANTS`: those that read no records grey, drawn buckets blue, ours orange.
_COLOURS = ("#b8bcc2", "#8c959f", "#57a773", "#2f7d4f", "#9b7fd1", "#6cb0e8", "#2f6fb5", "#59636e", "#e8762d")

_FAILED, _UNUSED = "#d1434b", "#8c959f40"

_STYLE = """
  :root { color-scheme: light dark; --paper: #ffffff; --ink: #24292f; --quiet: #6a737d; --line: #d8dee4 }
  @media (prefers-color-scheme: dark) {
    :root { --paper: #0d1117; --ink: #e6edf3; --quiet: #9198a1; --line: #30363d }
  }
  body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
         font: 15px/1.5 "Helvetica Neue", Helvetica, Arial, "DejaVu Sans", sans-serif }
  h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem }
  h3 { font-size: 1rem; margin: 1rem 0 .2rem }
  .quiet { color: var(--quiet) }
  .wide { overflow-x: auto }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem }
  th, td { padding: .15rem .55rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
  th:first-child, td:first-child, .verdicts th { text-align: left }
  .words { text-align: left; white-space: normal }
  .pass { color: #1a7f37; font-weight: 600 } .fail { color: #cf222e; font-weight: 600 }
  .name { white-space: nowrap }
  .key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 .6em; border-radius: 2px }
  svg { max-width: 100%; height: auto }
"""


def page(results: Results) -> str:
    """The whole page."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>001 run again: seven allocators, and ours</title>",
            f"<style>{_STYLE}</style></head><body>",
            *_body(results),
            "</body></html>",
            "",
        ]
    )


def _body(results: Results) -> Iterator[str]:
    kind = results.counted
    what = "the paper's logs" if kind == LOG else "generated workflows"
    yield "<h1>Phung and Thain, IPDPS 2024 (001): seven allocators, and ours</h1>"
    yield _paragraph(
        "AWE, Absolute Workflow Efficiency: what successes used over all that was given, both times run time. "
        f"{EXACT!r} is not in the paper: it gives the greatest peak so far, as the paper's own bucketing runs did. "
        f"Seeds: {', '.join(map(str, results.seeds))}."
    )
    for sentence in results.missing:
        yield _paragraph(sentence)
    if results.own_runs:
        yield _paragraph(told_of(results.own_runs))
    if results.verdicts:
        rows = (_verdict(verdict) for verdict in results.verdicts)
        yield f'<h2>Verdicts</h2><div class="verdicts">{_table(("", "is", "was to be", "what"), rows)}</div>'
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


def _paragraph(text: str) -> str:
    return f'<p class="quiet">{escape(text)}</p>'


def _legend() -> str:
    keys = (
        f'<span class="name"><span class="key" style="background:{colour}"></span>{escape(name)}</span>'
        for name, colour in zip(ENTRANTS, _COLOURS, strict=True)
    )
    return f'<p>{" ".join(keys)} <span class="quiet">— a black line across a bar: what the paper published</span></p>'


# --- pictures ---


def _charts(results: Results, kind: str, setting: Setting, title: str, *, split: bool) -> Iterator[str]:
    yield f"<h2>{escape(title)}</h2>"
    if split:
        yield _paragraph(
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


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


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
    return _table(heads, rows)


def _times(results: Results) -> str:
    found = {(timing.allocator, timing.records): timing for timing in results.times}
    rows = []
    for name in TIMED:
        timings = [found[name, records] for records in RECORDS]
        rows.append([escape(name), *(f"{timing.us:,.1f}" for timing in timings)])
        if any(timing.paper_us is not None for timing in timings):
            rows.append(["the paper", *("" if it.paper_us is None else f"{it.paper_us:,.1f}" for it in timings)])
    return _table(["records", *(f"{records:,}" for records in RECORDS)], rows)


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
    return _table(heads, rows)
