"""The frame of all studies: runner, report as text and page, and tables in the docs."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from zipfile import ZipFile

import click
import pytest
from click.testing import CliRunner
from msgspec import Struct

pytest.importorskip("hatchling")

from hatchling.builders.wheel import WheelBuilder

from headway.model.errors import InputError
from headway.studies.study import Progress
from headway_papers.cli.reproduce import command as reproduce
from headway_papers.cli.shared import present, study_options
from headway_papers.frame.docs import Marker, markers, write_tables
from headway_papers.frame.ledger import Ledger
from headway_papers.frame.page import page
from headway_papers.frame.report import Marked, Report, Section, Statement, Verdict
from headway_papers.frame.runner import Runner
from headway_papers.frame.text import lines_of

REPOSITORY = Path(__file__).parents[2]
DOCS = sorted((REPOSITORY / "docs").glob("reproduce*.md"))


class Square(Struct, frozen=True):
    """A result."""

    unit: int
    value: int


def square(unit: int) -> Square:
    return Square(unit, unit * unit)


# --- runner ---


def test_the_runner_keeps_the_order_skips_what_is_known_and_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[Progress] = []
    path = tmp_path / "squares.jsonl"
    first: Ledger[Square] = Ledger(Square, path)
    assert [it.value for it in Runner(first, 2, 1).run([3, 1], square)] == [9, 1]
    again: Ledger[Square] = Ledger(Square, path)
    asked: list[int] = []

    def noted(unit: int) -> Square:
        asked.append(unit)
        return square(unit)

    found = Runner(again, 30, 1, told.append).run([1, 2, 3, 4], noted, weight=lambda unit: 10.0 * (unit == 2) + unit)
    assert [it.unit for it in found] == [1, 2, 3, 4] and asked == [2, 4]
    assert [(it.done, it.total) for it in told] == [(16, 30), (20, 30)]


def test_processes_change_nothing() -> None:
    ledger: Ledger[Square] = Ledger(Square)
    assert Runner(ledger, 3, 2).run([2, 1, 0], square) == [Square(2, 4), Square(1, 1), Square(0, 0)]


# --- report ---


def a_report() -> Report:
    rows = [["one", "1", Marked("2", "bad", "far")], ["<two>", "3", "4"]]
    return Report(
        "A <study>",
        "how",
        [Section("First: a table", [("", "name"), ("group", "a"), ("group", "b")], rows), Section("Only a heading")],
        [Verdict("question", 0.5, 0.25, at_most=True, detail="why"), Verdict("other", 1.0, 1.0, at_most=False)],
        seed=7,
        skipped=["third: no runs"],
        statements=[Statement("they say", "we say", False)],
        findings=["a finding"],
    )


def test_a_report_as_text_and_as_a_page() -> None:
    text = "\n".join(str(line) for line, _ in lines_of(a_report(), 80))
    for words in ("FAIL  0.5 ≤ 0.25  question: why", "pass  1 ≥ 1  other", "skip  third", "DIFFERS  they say: we say"):
        assert words in text
    html = page(a_report())
    assert '<span class="fail" title="far">2</span>' in html and "&lt;two&gt;" in html and "<two>" not in html
    assert html.count("FAIL") == 1


# --- tables in the docs ---

DOCUMENT = """\
# Title

<!-- table: headway reproduce trial --seed 3 --times 2 | First*; verdicts -->
old
<!-- end -->

<!-- table: headway reproduce trial --times 1 | findings -->
kept
<!-- end -->
"""


@click.command("trial")
@click.option("--times", type=int, default=1)
@study_options
def trial(times: int, **_shown: object) -> int:
    return present(times, lambda times: a_report(), lambda times: {"times": times}, "trial")


def test_a_command_writes_the_tables_that_it_makes_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(DOCUMENT)
    done = CliRunner().invoke(trial, ["--times", "2", "--seed", "3", "--docs", str(path)], catch_exceptions=False)
    text = path.read_text()
    assert "First: a table" in done.output and "old" not in text and "kept" in text
    assert re.search(r"`headway reproduce trial --seed 3 --times 2`, seed 7, \d{4}-\d\d-\d\d:", text)
    assert "FAIL  0.5 ≤ 0.25  question: why" in text and "a finding" not in text
    assert markers(text) == markers(DOCUMENT), "the markers stay"
    with pytest.raises(InputError, match="no table in this file"):
        CliRunner().invoke(trial, ["--times", "9", "--docs", str(path)], catch_exceptions=False)


def test_a_section_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("<!-- table: headway reproduce trial | Figure 99* -->\n<!-- end -->\n")
    with pytest.raises(InputError, match="no section 'Figure 99"):
        write_tables(path, a_report(), lambda marker: True)


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_table_in_the_docs_is_made_by_a_command_that_exists(path: Path) -> None:
    """Each marker's command is parsed by the real command, and not run."""
    for marker in markers(path.read_text()):
        name, *words = marker.arguments
        command = reproduce.get_command(click.Context(reproduce), name)
        assert command is not None, marker.command
        command.make_context(name, words)


def test_no_table_in_the_docs_is_pasted() -> None:
    """A block of text with a table's rule is between markers, or says by which command it was made and when."""
    assert any(markers(path.read_text()) for path in DOCS)
    for path in DOCS:
        left = re.sub(r"<!-- table: .*?<!-- end -->", "", path.read_text(), flags=re.DOTALL)
        assert "────" not in left, path.name


def test_a_marker_of_another_command_is_refused() -> None:
    with pytest.raises(InputError, match="not made by"):
        Marker("make bench", ("*",)).arguments  # noqa: B018


# --- distributions ---


def test_the_product_contains_no_study() -> None:
    product = {path.parent.name for path in (REPOSITORY / "src" / "headway").rglob("__init__.py")}
    assert not product & {"papers", "experiments", "asa", "bucketing", "feedback", "glume", "rl", "fixed_pool"}
    sources = (REPOSITORY / "src" / "headway").rglob("*.py")
    assert not [path for path in sources if "headway_papers" in path.read_text()]


def test_the_papers_distribution_says_what_it_adds() -> None:
    settings = tomllib.loads((REPOSITORY / "papers" / "pyproject.toml").read_text())
    added = settings["project"]["entry-points"]
    assert added["headway.verbs"] == {"reproduce": "headway_papers.cli.reproduce:command"}
    for name, where in added["headway.planners"].items():
        assert EntryPoint(name, where, "headway.planners").load().name == name


def test_the_papers_wheel_builds(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(REPOSITORY / "papers")).build(directory=str(tmp_path), versions=["standard"])
    names = ZipFile(wheel).namelist()
    assert "headway_papers/frame/report.py" in names and not [name for name in names if name.startswith("headway/")]
