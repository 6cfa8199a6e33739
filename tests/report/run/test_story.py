"""The story of a cancelled task, as `headway why` shows it."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.outcome import Ending
from headway.model.records import Decision, Event
from headway.report.run.story import Story, story_of, tasks_of
from headway.report.run.story_text import tell
from tests.report.records import MACHINE, ended, launch, started, task

CANCELLED = "it was cancelled before it had a result"


def story_and_words(tmp_path: Path, *story: Event | Decision) -> tuple[Story, str]:
    """The story of `b`, which depends on `a`, and its text."""
    begun = started(task("a"), task("b", parents=("a",)))
    journal = SqliteJournal.create(tmp_path / "journal.db", [*begun, *story])
    tasks = tasks_of(journal)
    told = story_of(journal, tasks["b"], tasks)
    out = io.StringIO()
    tell(Console(file=out, width=200), told)
    return told, out.getvalue()


def test_a_task_with_unfinished_parents(tmp_path: Path) -> None:
    story, words = story_and_words(tmp_path)
    assert (story.state, story.waits_for) == ("waiting", ["a"])
    assert "it waits for a" in words and CANCELLED not in words


def test_cancelled_before_it_ran(tmp_path: Path) -> None:
    story, words = story_and_words(tmp_path, records.TaskWithdrawn(102.0, "b"))
    assert (story.state, story.waits_for, story.cut_off_by) == ("cut-off", [], {})
    assert "b, run 7 of made-up: cut off" in words
    assert CANCELLED in words and "waits" not in words


def test_cancelled_and_stopped_while_it_ran(tmp_path: Path) -> None:
    stopped = ended("b", 1, 5, Ending.CANCELLED, message="it was cancelled")
    story, words = story_and_words(tmp_path, launch("b", 1, MACHINE), records.TaskWithdrawn(102.0, "b"), stopped)
    assert (story.state, len(story.attempts)) == ("cut-off", 1)
    assert CANCELLED in words and "waits" not in words


def test_cancelled_while_it_runs_or_after_its_end(tmp_path: Path) -> None:
    begun = [launch("b", 1, MACHINE), records.TaskWithdrawn(102.0, "b")]
    (tmp_path / "running").mkdir()
    story, words = story_and_words(tmp_path / "running", *begun)
    assert story.state == "running" and CANCELLED not in words
    story, words = story_and_words(tmp_path, *begun, ended("b", 1, 5))
    assert story.state == "succeeded" and CANCELLED not in words
