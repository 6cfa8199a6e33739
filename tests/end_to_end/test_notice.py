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


CORRUPT = """
import os, pathlib, signal, sys, time
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
state = pathlib.Path(os.environ["HEADWAY_KEEP"]) / "state"
with open(os.environ["SEEN"], "a") as seen:
    seen.write(f"{state.read_text() if state.exists() else 'nothing'}\\n")
if not state.exists():
    while not told:
        time.sleep(0.05)
    state.write_text("corrupt")
    sys.exit(7)
step = int(state.read_text())
pathlib.Path("counted").write_text(f"{step} in attempt {os.environ['HEADWAY_TRY']}")
"""


def kept_by(tmp_path: Path, run: int) -> Path:
    return Project(tmp_path).runs()[run].attempt("count", 1).parent / "kept"


def test_a_corrupt_checkpoint_is_named_and_stays_and_a_mended_one_is_used_by_the_next_run(tmp_path: Path) -> None:
    flow, seen = Flow(tmp_path, WORKFLOW), str(tmp_path / "seen")
    (tmp_path / "count.py").write_text(CORRUPT)
    said = flow.headway("run", code=1, SEEN=seen)
    kept = kept_by(tmp_path, 0)
    assert (kept / "state").read_text() == "corrupt", "it is not lost"
    text = " ".join((said.stdout + said.stderr).split())
    assert f"it went on from its checkpoint in {kept}, which stays there: if that is corrupt, mend or delete" in text
    (kept / "state").write_text("5")
    flow.headway("run", SEEN=seen)
    assert (tmp_path / "counted").read_text() == "5 in attempt 1"
    assert (tmp_path / "seen").read_text().split() == ["nothing", "corrupt", "5"]
    assert not kept.exists()
    assert not kept_by(tmp_path, 1).exists(), "the task has succeeded"


def test_a_checkpoint_is_not_used_for_another_command_or_if_all_is_to_run_again(tmp_path: Path) -> None:
    flow, seen = Flow(tmp_path, WORKFLOW), str(tmp_path / "seen")
    (tmp_path / "count.py").write_text(CORRUPT)
    flow.headway("run", code=1, SEEN=seen)
    (kept_by(tmp_path, 0) / "state").write_text("5")
    flow.headway("run", "--again", code=1, SEEN=seen)
    (tmp_path / "count.py").write_text(CORRUPT + "# other inputs\n")
    flow.headway("run", code=1, SEEN=seen)
    assert (tmp_path / "seen").read_text().split() == ["nothing", "corrupt"] * 3
