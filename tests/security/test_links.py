"""Links and crafted files that would have Headway read or write somewhere else."""

from __future__ import annotations

import json
import os
import sqlite3
import tarfile
from pathlib import Path

import pytest

import headway
from headway.model.errors import SiteError
from headway.workers.whole_file import write_whole
from tests.end_to_end.project import Flow

WORKFLOW = "name: l\ntasks:\n  a:\n    run: echo made > out\n    outputs: [out]\n"
SECRET = "a private key of the user"


def test_a_bundle_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "flow").mkdir()
    flow = Flow(tmp_path / "flow", WORKFLOW)
    flow.headway("run")
    private = tmp_path / "private"
    private.mkdir()
    for name in ("key", "log", "script.sh"):
        (private / name).write_text(SECRET)
    run = flow.directory / ".headway/runs/1"
    (flow.directory / "headway.toml").symlink_to(private / "key")
    (run / "manager.log").symlink_to(private / "key")
    (run / "pool").symlink_to(private)
    (run / "jobs" / "headway-crafted-1").symlink_to(private)
    flow.headway("bundle", "-o", "bundle.tar.gz", code=None)
    with tarfile.open(flow.directory / "bundle.tar.gz") as tar:
        for member in tar.getmembers():
            file = tar.extractfile(member)
            assert file is not None and SECRET.encode() not in file.read(), member.name


def test_results_of_other_runs_are_not_moved_by_a_crafted_journal(tmp_path: Path) -> None:
    """A task of a crafted journal stands for an attempt elsewhere, whose output would go to the user's home."""
    (tmp_path / "flow").mkdir()
    (tmp_path / "home").mkdir()
    flow = Flow(tmp_path / "flow", WORKFLOW)
    flow.headway("run")
    crafted = flow.directory / "crafted"
    (crafted / "work").mkdir(parents=True)
    (crafted / "work" / "out").write_text("crafted")
    with sqlite3.connect(flow.directory / ".headway/runs/1/journal.db") as journal:
        ((ended,),) = journal.execute("SELECT body FROM records WHERE kind = 'task-ended'").fetchall()
        ((number, added),) = journal.execute("SELECT sequence, body FROM records WHERE kind = 'tasks-added'").fetchall()
        (crafted / "result.json").write_text(json.dumps(json.loads(ended)["outcome"]))
        record = json.loads(added)
        (task,) = record["tasks"]
        work = {"run": "x", "directory": str(tmp_path / "home"), "folder": str(crafted), "home": "", "attempt": 1}
        record["tasks"] = [task | {"work": work | {"task": task, "held": {"cores": 1}, "limits": {"cores": 1}}}]
        journal.execute("UPDATE records SET body = ? WHERE sequence = ?", (json.dumps(record).encode(), number))
        journal.execute("DELETE FROM records WHERE kind IN ('finish', 'release', 'task-ended')")
    flow.headway("cancel")
    assert list((tmp_path / "home").iterdir()) == []


def test_drafts_do_not_follow_links(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f".result.json.{os.getpid()}").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(tmp_path / "result.json", b"{}")
    assert victim.read_text() == "precious"


def test_no_call_is_made_in_a_folder_that_others_can_write_to(tmp_path: Path) -> None:
    (tmp_path / ".headway").mkdir()
    (tmp_path / ".headway").chmod(0o777)
    with pytest.raises(SiteError, match="others can write"), headway.Executor(tmp_path) as executor:
        executor.submit(len, "abc").result()
    assert list((tmp_path / ".headway").iterdir()) == []
