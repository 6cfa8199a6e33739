"""A task that gets a notice before its time limit saves its state, and its next attempt continues from there."""

from __future__ import annotations

import sys
from pathlib import Path

from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.records import TaskEnded
from tests.end_to_end.project import Flow

COUNT = """
import os, pathlib, signal, sys, time
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
state = pathlib.Path(os.environ["HEADWAY_KEEP"]) / "state"
step = int(state.read_text()) if state.exists() else 0
while step < 3:
    while not told:  # each step takes until the notice
        time.sleep(0.05)
    told.clear()
    step += 1
    state.write_text(str(step))
    if step < 3:
        sys.exit(7)
pathlib.Path("counted").write_text(f"{step} in attempt {os.environ['HEADWAY_TRY']}")
"""
WORKFLOW = f"""
name: count
tasks:
  count:
    run: |
      echo begun  # keeps a shell as the parent, which the signal would kill
      {sys.executable} count.py
      echo ended
    inputs: [count.py]
    outputs: [counted]
    limit: {{time: 20s}}
    notice: 19s
"""


def test_a_retry_continues_from_what_the_task_saved_at_the_notice(tmp_path: Path) -> None:
    flow = Flow(tmp_path, WORKFLOW)
    (tmp_path / "count.py").write_text(COUNT)
    flow.headway("run")
    assert (tmp_path / "counted").read_text() == "3 in attempt 3"
    [folder] = Project(tmp_path).runs()
    records = SqliteJournal(folder.journal, read_only=True).replay()
    endings = [(record.outcome.ending, record.outcome.exit_code) for record in records if isinstance(record, TaskEnded)]
    assert endings == [("saved", 7), ("saved", 7), ("success", 0)]
    assert not folder.attempt("count", 1).parent.joinpath("kept").exists()
