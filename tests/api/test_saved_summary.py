"""A saved summary with the records after it is the summary of all records, and a doubtful one is not used."""

from __future__ import annotations

import gzip
from contextlib import closing
from pathlib import Path

import pytest

import headway
from headway.api import saved_summary
from headway.api.saved_summary import Saving, save, summary_of
from headway.journal.folder import RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.codec import decode, encode
from headway.model.job import Wish
from headway.model.records import Decision, Event
from headway.model.resources import Resources
from headway.report.run.summary import RunSummary
from tests.report.records import GB, ended, launch, started, task

JOURNALS = sorted((Path(__file__).parents[1] / "engine" / "journals").glob("*.jsonl.gz"))
GIVEN = Resources(cores=1, memory_bytes=GB)


def applied(lines: list[Event | Decision]) -> RunSummary:
    summary = RunSummary()
    for record in lines:
        summary.apply(record)
    return summary


def same(one: RunSummary, other: RunSummary) -> bool:
    """Whether all figures agree; how many records were counted, and which launches were read in brief, may differ."""
    for summary in (one, other):
        summary.applied = 0
        summary.running = {name: decode(encode(each)) for name, each in summary.running.items()}  # type: ignore[misc]
        for each in summary.running.values():
            each.why.clear()
    return one == other


def folder_with(lines: list[Event | Decision], parent: Path) -> RunFolder:
    folder = RunFolder(parent)
    SqliteJournal.create(folder.journal, lines).close()
    return folder


def summary_in(folder: RunFolder) -> RunSummary:
    return summary_of(folder, SqliteJournal(folder.journal, read_only=True))


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.name)
def test_saved_at_any_record(path: Path, tmp_path: Path) -> None:
    lines = [decode(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    folder = folder_with(lines, tmp_path)
    for number in range(1, len(lines) + 1, max(1, len(lines) // 40)):
        save(applied(lines[:number]), lines[number - 1], folder)
        assert same(summary_in(folder), applied(lines)), number


def test_odd_keys_are_kept(tmp_path: Path) -> None:
    unread = [records.QueueUnread(5.0, "busy"), records.QueueUnread(6.0, "busy", wish=Wish(partition="gpu"))]
    lines = [*started(task("a"), task("b", parents=("a",))), *unread]
    folder = folder_with(lines, tmp_path)
    save(applied(lines), lines[-1], folder)
    assert list(summary_in(folder).unread) == [None, Wish(partition="gpu")]


@pytest.mark.parametrize("doubt", ["none", "version", "damaged", "cut", "empty", "another journal", "ahead"])
def test_only_a_fitting_one_is_used(doubt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = [launch("a", 1, GIVEN), ended("a", 1, 5, memory_bytes=GB), launch("b", 1, GIVEN)]
    lines = [*started(task("a"), task("b")), *attempts]
    folder = folder_with(lines[:-1] if doubt == "ahead" else lines, tmp_path)
    summary = applied(lines)
    summary.learned_from = 1234  # to be told from the right one
    save(summary, lines[-1], folder)
    body = bytearray(folder.summary.read_bytes())
    if doubt == "version":
        monkeypatch.setattr(saved_summary, "__version__", "99")
    elif doubt == "damaged":
        body[len(body) // 2] ^= 1
    elif doubt == "cut":
        del body[-1]
    elif doubt == "empty":
        body.clear()
    elif doubt == "another journal":
        (tmp_path / "other").mkdir()
        folder = folder_with([*lines[:-1], launch("b", 2, GIVEN)], tmp_path / "other")
    folder.summary.write_bytes(body)
    assert (summary_in(folder).learned_from == 1234) is (doubt == "none")


def test_a_large_run_saves_its_own_and_status_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_summary, "LEAST", 20)
    text = "name: many\ntasks: {many: {each: {n: [1, 2, 3, 4, 5, 6]}, run: 'true #{n}'}}"
    (tmp_path / "workflow.yaml").write_text(text)
    result = headway.start(tmp_path / "workflow.yaml", settings=headway.RunSettings(cores=2, quiet=True))
    folder = result.folder
    with closing(SqliteJournal(folder.journal, read_only=True)) as journal:
        saved = saved_summary._saved(folder.summary)
        assert saved is not None
        assert saved.last == journal.body(saved.summary.applied), "they are counted as the journal does"
        assert saved.summary.finished == "succeeded"
        assert same(summary_of(folder, journal), RunSummary.of(journal))
    assert folder.summary.stat().st_mode & 0o777 == 0o600
    assert headway.status(directory=tmp_path).summary.whole().succeeded == 6


def test_it_is_saved_again_when_a_fifth_was_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_summary, "LEAST", 10)
    summary, saved_at = RunSummary(), []
    monkeypatch.setattr(saved_summary, "save", lambda summary, *_: saved_at.append(summary.applied))
    saving = Saving(summary, tmp_path)
    for record in [*started(task("a")), *(records.ReadInputs(float(number), "a") for number in range(40))]:
        summary.apply(record)
        saving([record])
    assert saved_at[:4] == [10, 12, 15, 18]
