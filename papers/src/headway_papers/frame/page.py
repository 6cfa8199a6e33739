"""A report as one HTML page that loads nothing from elsewhere, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from headway.report.page_style import grouped_table, page_of, quiet_paragraph, words_table
from headway_papers.frame.report import Cell, Marked, Report, Section

_STYLE = """
  .best { color: var(--good); font-weight: 600 } .ours { font-weight: 600 }
"""
_CLASSES = {"good": "pass", "bad": "fail"}


def page(report: Report) -> str:
    """The whole page."""
    return page_of(report.title, _STYLE, _body(report))


def _body(report: Report) -> Iterator[str]:
    yield f"<h1>{escape(report.title)}</h1>"
    yield quiet_paragraph(f"{report.about} {report.ending}".strip())
    if report.verdicts or report.skipped:
        yield f"<h2>Verdicts</h2>{_verdicts(report)}"
        yield "".join(quiet_paragraph(f"Not judged: {sentence}.") for sentence in report.skipped)
    if report.findings:
        yield f"<h2>What this says</h2><ul>{''.join(f'<li>{escape(it)}</li>' for it in report.findings)}</ul>"
    if report.statements:
        rows = [("same" if it.agrees else "DIFFERS", escape(it.paper), escape(it.ours)) for it in report.statements]
        yield f"<h2>What the paper says, and what is found here</h2>{words_table(('', 'paper', 'here'), rows)}"
    if report.terms:
        yield "<h2>Terms</h2>" + words_table(("", ""), [(escape(name), escape(words)) for name, words in report.terms])
    for section in report.sections:
        yield from _section(section)


def _verdicts(report: Report) -> str:
    rows = []
    for it in report.verdicts:
        mark = '<span class="pass">pass</span>' if it.passed else '<span class="fail">FAIL</span>'
        needed = f"{'≤' if it.at_most else '≥'} {it.needed:g}"
        rows.append((mark, escape(it.about), f"{it.value:.4g}", needed, escape(it.detail)))
    return words_table(("", "question", "found", "needed", ""), rows)


def _section(section: Section) -> Iterator[str]:
    yield f"<h2>{escape(section.title)}</h2>"
    yield from section.pictures
    if section.heads:
        shown = grouped_table(section.heads, [[_cell(cell) for cell in row] for row in section.rows])
        yield f"<details><summary>figures</summary>{shown}</details>" if section.only_on_page else shown
    if section.note:
        yield quiet_paragraph(section.note)


def _cell(cell: Cell) -> str:
    if not isinstance(cell, Marked):
        return escape(cell)
    hint = f' title="{escape(cell.hint)}"' if cell.hint else ""
    return f'<span class="{_CLASSES.get(cell.kind, cell.kind)}"{hint}>{escape(cell.text)}</span>'


def picture(drawing: str, title: str = "", legend: str = "") -> str:
    """An SVG drawing for `Section.pictures`, with a title and a legend above it."""
    heading = f"<h3>{escape(title)}</h3>" if title else ""
    return f'{heading}{legend}<div class="wide">{drawing}</div>'
