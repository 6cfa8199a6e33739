"""The experiment on a screen."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from rich.text import Text

from headway.model.units import format_duration
from headway.report.columns import Field, table_lines
from headway_papers.asa.experiment import Results
from headway_papers.asa.findings import findings
from headway_papers.asa.sections import Section, sections
from headway_papers.asa.verdicts import skipped, verdicts_on
from headway_papers.bucketing.verdicts import Verdict

Line = tuple[Text | str, bool]  # whether it is laid out already
TITLE = "ASA (Souza et al., 000) run again: stages asked for ahead of time, and ours"


def lines_of(results: Results, width: int) -> Iterator[Line]:
    """All of it."""
    yield Text(TITLE, style="bold"), False
    yield Text(about(results), style="dim"), False
    for section in sections(results):
        yield "", False
        yield Text(section.title, style="bold"), False
        for line in laid_out(section, width):
            yield line, True
        if section.note:
            yield Text(section.note, style="dim"), False
    yield "", False
    yield Text("Verdicts, under rule reserved", style="bold"), False
    for verdict in verdicts_on(results):
        word, colour = ("pass", "green") if verdict.passed else ("FAIL", "red")
        yield Text.assemble((word, colour), f"  {in_words(verdict)}"), False
    for sentence in skipped(results):
        yield f"skip  {sentence}", False
    yield "", False
    yield Text("What this says", style="bold"), False
    for sentence in findings(results):
        yield f"- {sentence}", False
    yield "", False
    yield Text(ending(results), style="dim"), False


def about(results: Results) -> str:
    """What was done."""
    size = results.size
    return (
        f"{size.traces} made-up logs for each machine and kind of queue, every workflow and geometry {size.repeats} "
        f"times in each, side by side; ASA keeps what it learns in a log. Seed {results.seed}; intervals are 95%."
    )


def ending(results: Results) -> str:
    """How long it took, and would take."""
    return (
        f"This took {format_duration(results.took_s)}. --full would take about {format_duration(results.full_s)} here; "
        "with --out it can be interrupted and gone on with."
    )


def in_words(verdict: Verdict) -> str:
    """A line without its colour."""
    sign = "≤" if verdict.at_most else "≥"
    detail = f": {verdict.detail}" if verdict.detail else ""
    return f"{verdict.value:.4g} {sign} {verdict.needed:g}  {verdict.about}{detail}"


def laid_out(section: Section, width: int) -> list[Text]:
    """The table; the rightmost columns go first where the screen is narrow."""
    fields = [
        Field(group, title, itemgetter(at), 100 - at) for at, (group, title) in enumerate(section.heads[1:], start=1)
    ]
    names = [row[0] for row in section.rows]
    return table_lines(section.heads[0][1], names, section.rows, fields, width, total=False)
