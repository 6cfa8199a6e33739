"""A report as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from headway.report.columns import Field, table_lines
from headway_papers.frame.report import Cell, Marked, Report, Section

Line = tuple[Text | str, bool]  # and whether it is laid out already: then it must not be wrapped
_STYLES = {"best": "bold green", "ours": "bold", "quiet": "dim", "good": "", "bad": "red"}


def lines_of(report: Report, width: int) -> Iterator[Line]:
    """The whole report; the verdicts come last, where a terminal ends."""
    yield Text(report.title, style="bold"), False
    yield Text(report.about, style="dim"), False
    for section in report.sections:
        if not section.only_on_page:
            yield from _titled(section.title)
            yield from ((line, True) for line in table_of(section, width))
            if section.note:
                yield Text(section.note, style="dim"), False
    for title, lines in (
        ("What the paper says, and what is found here", list(statement_lines(report))),
        ("What this says", [f"- {sentence}" for sentence in report.findings]),
        ("Verdicts", list(verdict_lines(report))),
    ):
        if lines:
            yield from _titled(title)
            yield from ((line, False) for line in lines)
    if report.ending:
        yield "", False
        yield Text(report.ending, style="dim"), False


def _titled(title: str) -> Iterator[Line]:
    yield "", False
    yield Text(title, style="bold"), False


def table_of(section: Section, width: int) -> list[Text]:
    """The section's table, at most `width` characters wide."""
    if not section.heads:
        return []
    keep = section.keep or [100 - at for at in range(1, len(section.heads))]
    fields = [_field(head, at, keep[at - 1]) for at, head in enumerate(section.heads) if at]
    names = [_text(row[0]) for row in section.rows]
    return table_lines(section.heads[0][1], names, section.rows, fields, width, total=section.total)


def _field(head: tuple[str, str], at: int, keep: int) -> Field:
    def style(row: Sequence[Cell]) -> str:
        cell = row[at]
        return _STYLES[cell.kind] if isinstance(cell, Marked) else ""

    return Field(*head, lambda row: _text(row[at]), keep, style)


def _text(cell: Cell) -> str:
    return cell.text if isinstance(cell, Marked) else cell


def verdict_lines(report: Report) -> Iterator[Text]:
    """A line a verdict, then what was not judged."""
    for verdict in report.verdicts:
        word, style = ("pass", "bold green") if verdict.passed else ("FAIL", "bold red")
        yield Text.assemble((word, style), f"  {verdict}")
    for sentence in report.skipped:
        yield Text(f"skip  {sentence}")


def statement_lines(report: Report) -> Iterator[Text]:
    """A line a statement of the paper."""
    for it in report.statements:
        word, colour = ("same   ", "green") if it.agrees else ("DIFFERS", "yellow")
        yield Text.assemble((word, colour), f"  {it.paper}: ", (it.ours, "dim"))
