"""The end table at several widths."""

from __future__ import annotations

import pytest

from headway.model import records
from headway.model.outcome import Ending
from headway.model.records import Why
from headway.model.resources import Resources
from headway.report.bars import bar, bars, fitted
from headway.report.run.figures import Figures
from headway.report.run.summary import RunSummary
from headway.report.run.usage_table import end_table
from tests.report.records import GB, ended, launch, started, task


def mixed() -> RunSummary:
    """Two categories: one with a retry, one with a failure and a reused result."""
    summary = RunSummary()
    given = Resources(cores=1, memory_bytes=2 * GB, disk_bytes=10 * GB)
    story = [
        *started(
            task("project[1]", "project"),
            task("project[2]", "project"),
            task("a-rather-long-category-name", "a-rather-long-category-name"),
            task("kept", "a-rather-long-category-name"),
        ),
        launch("project[1]", 1, given),
        ended("project[1]", 1, 30, memory_bytes=1 * GB, cores=1, disk_bytes=5 * GB),
        launch("project[2]", 1, given),
        ended("project[2]", 1, 10, Ending.MEMORY, memory_bytes=2 * GB, cores=1, disk_bytes=1 * GB),
        launch("project[2]", 2, given.replace(memory_bytes=4 * GB)),
        ended("project[2]", 2, 30, memory_bytes=3 * GB, cores=1, disk_bytes=5 * GB),
        records.Reuse(101, "kept", "3"),
        records.GiveUp(102, "a-rather-long-category-name", Why("engine", "exit-code", {}, "exit code 1")),
    ]
    for record in story:
        summary.apply(record)
    return summary


def shown(summary: RunSummary, width: int) -> list[str]:
    return [line.plain for line in end_table(summary, width)]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_the_table_fits_and_keeps_essential_columns(width: int) -> None:
    lines = shown(mixed(), width)
    text = "\n".join(lines)
    assert max(len(line) for line in lines) <= width
    assert "category" in text
    assert "tasks" in text
    assert "1 of 2" in text
    assert "all" in text


def test_eighty_columns_hold_memory_cores_waste_and_awe() -> None:
    lines = shown(mixed(), 80)
    assert lines[1].split() == [
        "category",
        "tasks",
        "reused",
        "attempts",
        "run",
        "time",
        "asked",
        "used",
        "waste",
        "AWE",
    ]
    row = next(line for line in lines if line.startswith("project"))
    assert "2.67 GB" in row, "the mean of what three attempts were given"
    assert " 2 GB" in row, "the mean of what two successes used"
    assert "60%" in row, "(1*30 + 3*30) / (2*30 + 2*10 + 4*30) GB s"


def test_a_wide_screen_shows_every_resource() -> None:
    heading = shown(mixed(), 200)[0]
    assert heading.replace("─", "").split() == ["memory", "cores", "disk"]


def test_a_category_without_attempts_has_no_figures() -> None:
    row = next(line for line in shown(mixed(), 120) if line.startswith("a-rather-lo"))
    assert row.split()[1:6] == ["1", "of", "2", "1", "0"]
    assert "%" not in row


@pytest.mark.parametrize("length", [5, 23, 60])
def test_a_bar_has_its_length_and_shows_every_state(length: int) -> None:
    figures = Figures("c")
    figures.total, figures.succeeded, figures.failed, figures.running = 100_000, 50_000, 1, 1
    text = bar(figures, length).plain
    assert len(text) == length
    assert "x" in text
    assert "╍" in text
    figures.failed = figures.running = 0
    figures.succeeded = 100_000
    assert bar(figures, length).plain == "━" * length


def test_too_many_categories_are_summarised() -> None:
    many = [Figures(f"c{number}") for number in range(50)]
    for figures in many:
        figures.total = 1
    for figures in many[:20]:
        figures.succeeded = 1
    many[45].running = 1
    lines = [line.plain for line in bars(many, 80, 10)]
    assert len(lines) == 10
    assert any(line.startswith("c45 ") for line in lines), "what is going on must be seen"
    assert lines[-1] == "… and 20 finished categories, 21 unfinished"


def test_names_are_fitted_by_cells_not_characters() -> None:
    assert fitted("日本語の名前", 6) == "日本 …"
    assert fitted("ab", 4) == "ab  "
