"""Journals and histories of every released version can be used; newer ones are refused with a sentence.

The files in `released/VERSION` were written by that version: a run of three tasks that succeeded and one that failed.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from headway.history.location import find_history, open_history
from headway.version import __version__
from tests.end_to_end.project import Flow

RELEASED = Path(__file__).parent / "released"
VERSIONS = sorted(path.name for path in RELEASED.iterdir())
WORKFLOW = "name: sky\ntasks:\n  take:\n    run: echo 1 > image1\n    outputs: [image1]\n"


@pytest.fixture(params=VERSIONS)
def released(request: pytest.FixtureRequest) -> Path:
    return RELEASED / str(request.param)


@pytest.fixture
def flow(released: Path, tmp_path: Path) -> Flow:
    """Return a directory with a run of that version."""
    folder = tmp_path / ".headway" / "runs" / "1"
    for path in (folder.parents[1], folder.parents[0], folder, folder / "jobs", folder / "tasks"):
        path.mkdir(mode=0o700)
    shutil.copy(released / "journal.db", folder)
    return Flow(tmp_path, WORKFLOW)


def test_this_version_has_its_files() -> None:
    assert __version__ in VERSIONS, f"add a journal and a history of {__version__} to {RELEASED.name}/{__version__}"


def test_a_run_of_an_earlier_version_is_read(flow: Flow) -> None:
    status = flow.json("status")
    assert (status["state"], status["tasks"]["succeeded"], status["tasks"]["failed"]) == ("failed", 3, 1)
    assert "its command exited with code 3" in flow.headway("why", "fails").stdout
    for words in (["usage"], ["runs"], ["report"], ["export", "--rocrate", "crate.zip"], ["run", "-n"]):
        flow.headway(*words)


def test_a_new_run_beside_a_run_of_an_earlier_version(flow: Flow) -> None:
    flow.headway("run")
    assert flow.json("status")["run"] == "2"


def test_a_run_of_an_earlier_version_is_resumed(flow: Flow) -> None:
    with sqlite3.connect(flow.directory / ".headway/runs/1/journal.db") as database:
        database.execute("DELETE FROM records WHERE kind = 'finish'")
    assert flow.json("status")["state"] == "interrupted"
    flow.headway("resume", "--json", code=1)
    assert flow.json("status")["state"] == "failed"


def test_a_history_of_an_earlier_version_is_read_and_added_to(released: Path, tmp_path: Path) -> None:
    place = tmp_path / "history.db"
    shutil.copy(released / "history.db", place)
    before = find_history(str(place))
    assert before is not None
    kept = list(before.all())
    before.close()
    assert {each.observation.category for each in kept} >= {"take", "stack"}
    after = open_history(str(place))
    after.add("node1", "sky", [each.observation for each in kept])
    assert len(list(after.all())) == len(kept)
    after.close()


def test_a_newer_history_is_refused_and_the_run_goes_on_without(flow: Flow, own_history: Path) -> None:
    flow.headway("run")
    with sqlite3.connect(own_history) as database:
        database.execute("PRAGMA user_version=99")
    said = flow.headway("history", code=3).stderr
    assert "newer Headway" in said and "update Headway" in said and len(said.splitlines()) == 1
    assert "newer Headway" in flow.headway("run", "--again").stderr
    with sqlite3.connect(own_history) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (99,), "it is left as it is"
        assert database.execute("SELECT count(*) FROM observations").fetchone() == (1,)
