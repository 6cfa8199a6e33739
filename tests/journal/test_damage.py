"""Whatever is wrong with a journal or a history, every command that reads it ends with a sentence of our own."""

from __future__ import annotations

import io
import random
import shutil
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from headway.api.complaints import BUG
from headway.cli.main import cli
from headway.drivers.earlier_runs import earlier_results, rebuild
from headway.drivers.run_settings import RunSettings
from headway.history.location import find_history
from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.errors import HeadwayError
from headway.model.records import Decision, Event, ReadInputs
from tests.end_to_end.project import Flow
from tests.journal.damage import WAYS, cut, flip, spoil_row

WORKFLOW = """
name: damaged
tasks:
  t:
    each: {n: [1, 2, 3]}
    run: echo {n} > out{n}
    outputs: ["out{n}"]
  bad:
    run: echo broken >&2; exit 3
    retries: 1
  middle:
    run: cat out1 out2 > middle
    inputs: [out1, out2]
    outputs: [middle]
    temp: [middle]
  last:
    run: cat middle > last
    inputs: [middle]
    outputs: [last]
"""
VERBS = (
    *(["status"], ["status", "--json"], ["runs"], ["why", "t[1]"], ["why", "bad"], ["usage"], ["usage", "--json"]),
    *(["logs", "bad"], ["report", "--out", "page.html", "--force"], ["export", "--rocrate", "crate.zip", "--force"]),
    *(["clean", "-n"], ["run", "-n"], ["cancel"]),
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """Yield a directory with two runs, and the history that they wrote."""
    directory = tmp_path_factory.mktemp("ran")
    history = tmp_path_factory.mktemp("kept") / "history.db"
    flow = Flow(directory, WORKFLOW)
    flow.headway("run", "-k", "--sizer", "ladder", code=1, HEADWAY_HISTORY=str(history))
    flow.write(WORKFLOW.replace("echo {n} >", "echo {n} and {n} >"))
    flow.headway("run", "-k", code=1, HEADWAY_HISTORY=str(history))
    yield directory, history


def says(words: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it said on standard error."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace")
    with redirect_stdout(output), redirect_stderr(io.StringIO()) as errors:
        code = cli._guarded(list(words))
    return code, errors.getvalue()


def check_commands(directory: Path, about: str) -> None:
    """Require that no command fails in a way of which Headway knows nothing."""
    for words in VERBS:
        code, said = says(words)
        assert code != BUG, f"{about}: {words}: {said}"
        assert "Traceback" not in said
    with suppress(HeadwayError), closing(SqliteJournal(Project(directory).run().journal, read_only=True)) as journal:
        rebuild(journal)
    with suppress(HeadwayError):
        earlier_results(Project(directory), RunSettings(), lambda text: None)


def damage_journals(ran: tuple[Path, Path], place: Path, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        directory = place / str(seed)
        shutil.copytree(ran[0], directory, symlinks=True)
        way = WAYS[seed % len(WAYS)]
        way(Project(directory).runs()[-1 if draw.random() < 0.7 else 0].journal, draw)
        monkeypatch.chdir(directory)
        check_commands(directory, f"seed {seed}, {way.__name__}")
        monkeypatch.chdir(place)
        shutil.rmtree(directory)


def damage_histories(ran: tuple[Path, Path], place: Path, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ran[0], place / "flow", symlinks=True)
    monkeypatch.chdir(place / "flow")
    for seed in seeds:
        draw = random.Random(seed)
        history = place / f"{seed}.db"
        shutil.copy(ran[1], history)
        (flip, cut, spoil_row, spoil_row, spoil_row)[seed % 5](history, draw)
        monkeypatch.setenv("HEADWAY_HISTORY", str(history))
        for words in (["history"], ["history", "--json"], ["run", "-n", "--again"], ["advise", "."]):
            code, said = says(words)
            assert code != BUG, f"seed {seed}: {words}: {said}"


def test_commands_that_read_a_damaged_journal_end_with_a_sentence(
    ran: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage_journals(ran, tmp_path, range(30), monkeypatch)


def test_times_that_no_calendar_has_are_damage(
    ran: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage_journals(ran, tmp_path, range(1706, 1707), monkeypatch)
    damage_journals(ran, tmp_path, range(10107, 10108), monkeypatch)


def test_commands_that_read_a_damaged_history_end_with_a_sentence(
    ran: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage_histories(ran, tmp_path, range(30), monkeypatch)


@pytest.mark.chaos
@pytest.mark.parametrize("first", range(1000, 6000, 1000))
def test_thousands_of_damaged_journals_and_histories(
    ran: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    (tmp_path / "journals").mkdir()
    (tmp_path / "histories").mkdir()
    damage_journals(ran, tmp_path / "journals", range(first, first + 1000), monkeypatch)
    damage_histories(ran, tmp_path / "histories", range(first, first + 1000), monkeypatch)


def read_again(path: Path) -> list[Event | Decision] | None:
    """Read a journal as a manager does that goes on with it; None if it is refused, in a sentence that names it."""
    try:
        with closing(SqliteJournal(path)) as journal:
            found = list(journal.replay())
            journal.append([ReadInputs(9.0, "after")])
            assert list(journal.replay()) == [*found, ReadInputs(9.0, "after")]
    except HeadwayError as error:
        assert path.name in str(error) and len(str(error).splitlines()) == 1
        return None
    return found


def cut_pages(journal: Path, place: Path, step: int) -> None:
    """Cut a journal within its last page: it tells everything, or is refused, since all of it was durable."""
    whole, path = journal.read_bytes(), place / "journal.db"
    with closing(SqliteJournal(journal, read_only=True)) as opened:
        everything = list(opened.replay())
    for missing in range(1, 4097, step):
        for end in (b"", bytes(missing)):  # cut, or filled with zeros
            path.write_bytes(whole[:-missing] + end)
            found = read_again(path)
            assert found in (None, everything), f"{missing} bytes are missing"
            for left in place.iterdir():
                left.unlink()


def cut_frames(place: Path, step: int) -> None:
    """Cut a write-ahead log within its last transaction: what was durable before is told, and no more."""
    path, log = place / "journal.db", place / "journal.db-wal"
    journal = SqliteJournal(path)
    journal.append([ReadInputs(1.0, "kept")])
    kept_bytes = log.stat().st_size
    journal.append([ReadInputs(2.0, "torn")])
    main, written = path.read_bytes(), log.read_bytes()
    journal.close()
    for size in [*range(kept_bytes, len(written), step), len(written)]:
        for end in (b"", bytes(len(written) - size)):
            copy = place / "copy.db"
            copy.write_bytes(main)
            (place / "copy.db-wal").write_bytes(written[:size] + end)
            tasks = ["kept", "torn"] if size == len(written) else ["kept"]
            assert [record.task for record in read_again(copy) or [] if isinstance(record, ReadInputs)] == tasks, size
            for name in ("copy.db", "copy.db-wal", "copy.db-shm"):
                (place / name).unlink(missing_ok=True)


def test_a_journal_cut_in_its_last_page_is_read_or_refused(ran: tuple[Path, Path], tmp_path: Path) -> None:
    cut_pages(Project(ran[0]).run().journal, tmp_path, step=61)


def test_a_torn_last_transaction_does_not_count(tmp_path: Path) -> None:
    cut_frames(tmp_path, step=97)


@pytest.mark.chaos
def test_a_journal_cut_at_every_byte_of_its_last_page(ran: tuple[Path, Path], tmp_path: Path) -> None:
    cut_pages(Project(ran[0]).run().journal, tmp_path, step=1)


@pytest.mark.chaos
def test_a_log_cut_at_every_byte_of_its_last_transaction(tmp_path: Path) -> None:
    cut_frames(tmp_path, step=1)


def test_rows_of_a_history_that_cannot_be_true_teach_nothing(ran: tuple[Path, Path], tmp_path: Path) -> None:
    import sqlite3

    history = tmp_path / "history.db"
    shutil.copy(ran[1], history)
    with sqlite3.connect(history) as database:
        database.execute("UPDATE observations SET input_bytes = -5 WHERE id = 1")
        database.execute("UPDATE observations SET ended_at = 1e300 WHERE id = 2")
    opened = find_history(str(history))
    assert opened is not None
    found = [kept.observation for kept in opened.all()]
    opened.close()
    assert found and all(each.is_possible for each in found)
