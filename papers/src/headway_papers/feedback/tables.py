"""The experiment on a screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from headway.model.units import format_duration
from headway_papers.asa.tables import Line, in_words, laid_out
from headway_papers.feedback.bar import lead, verdicts_on
from headway_papers.feedback.differences import differences
from headway_papers.feedback.entrants import FIRST_GUESS
from headway_papers.feedback.experiment import FULL, Results
from headway_papers.feedback.figures import places_of
from headway_papers.feedback.sections import sections
from headway_papers.feedback.statements import statements

TITLE = "004 run again: feedback between order and prediction, and ours"


def lines_of(results: Results, width: int) -> Iterator[Line]:
    """All of it."""
    places = places_of(results.done)
    yield Text(TITLE, style="bold"), False
    yield Text(about(results), style="dim"), False
    for section in sections(places):
        yield "", False
        yield Text(section.title, style="bold"), False
        for line in laid_out(section, width):
            yield line, True
        if section.note:
            yield Text(section.note, style="dim"), False
    yield "", False
    yield Text("What 004 says, and what is found here", style="bold"), False
    for statement in statements(places):
        word, colour = ("same   ", "green") if statement.agrees else ("DIFFERS", "yellow")
        yield Text.assemble((word, colour), f"  {statement.paper}: ", (statement.ours, "dim")), False
    yield "", False
    yield Text("Why it differs", style="bold"), False
    for sentence in differences(places):
        yield f"- {sentence}", False
    yield "", False
    yield Text("Verdicts", style="bold"), False
    for verdict in verdicts_on(places):
        word, colour = ("pass", "green") if verdict.passed else ("FAIL", "red")
        yield Text.assemble((word, colour), f"  {in_words(verdict)}"), False
    for sentence in lead(places):
        yield sentence, False
    yield "", False
    yield Text(ending(results), style="dim"), False


def about(results: Results) -> str:
    """What was done."""
    return (
        f"{results.workflows} workflows of 1,000 tasks of each of five families, {results.scenarios:,} scenarios in a "
        f"pool of 128 cores and 1,952 GB; predictors start with the estimate {FIRST_GUESS}. Seed {results.seed}; "
        "intervals are 95%, resampled by workflow."
    )


def ending(results: Results) -> str:
    """How long it took, and would take."""
    words = f"This took {format_duration(results.took_s)}."
    if results.workflows < FULL:
        words += f" --full, with {FULL} workflows a family, would take about {format_duration(results.full_s)} here;"
        words += " with --out it can be interrupted and gone on with."
    return words
