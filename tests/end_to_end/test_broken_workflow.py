"""A workflow broken in ten ways: each message names the place and the task, and says what to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.breakages import BREAKAGES, Breakage, apply, lay_out

PAGE = (Path(__file__).parents[2] / "docs" / "snakemake.md").read_text()
# The exit code, and what has to be said.
SAID: dict[str, tuple[int, list[str]]] = {
    "bad key": (2, ["headway: workflow.yaml:8: unknown key 'output' of task 'forcing'; did you mean 'outputs'?"]),
    "missing input": (
        2,
        ["workflow.yaml:5: input 'emissions.csv' of task 'forcing' does not exist", "add the file or"],
    ),
    "cycle": (
        2,
        ["workflow.yaml:5: ", "circle: forcing -> member[1] -> anomaly[1] -> mean -> report -> forcing; remove"],
    ),
    "indentation": (2, ["workflow.yaml:28: this is not YAML", "'outputs: [mean.csv]'; check the indentation"]),
    "missing command": (
        1,
        [
            "✗ forcing: its command exited with code 127: a command that it names was not found\n"
            "    $ pyhton3 forcing.py < emissions.csv > forcing.csv\n    bash: line 2: pyhton3: command not found\n"
            "  → headway logs forcing"
        ],
    ),
    "crash inside a pipe": (
        1,
        ["    $ cut -d, -f0 members/", "cut: fields are numbered from 1", "→ headway logs 'warmest["],
    ),
    "too much memory asked": (
        1,
        ["✗ member[1]: it asks for 200 TB memory, and one task can have ", "here; ask for less"],
    ),
    "output not made": (
        1,
        ["✗ spread: ", "did not make spread.txt; it made spraed.txt, which 'outputs' does not name"],
    ),
    "one sample fails": (
        1,
        [
            "✗ member[4]: its command exited with code 1\n    $ python3 model.py 4 <",
            "    AssertionError: sensitivity out of range",
            "1 failed, 5 cut off by that",
            "mend it, then `headway run` keeps what succeeded",
        ],
    ),
    "script edited": (
        0,
        ["`model.py` is named in the command of task 'member[1]' and is not an input", "inputs: auto"],
    ),
}


def run(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headway", "run"]
    environment = os.environ | {"HEADWAY_HISTORY": "none", "COLUMNS": "200"}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)
def test_what_is_said(breakage: Breakage, tmp_path: Path) -> None:
    lay_out(tmp_path)
    if breakage.after_run:
        assert run(tmp_path).returncode == 0
    apply((*breakage.ours, *breakage.both), tmp_path)
    done = run(tmp_path)
    exit_code, sentences = SAID[breakage.name]
    assert done.returncode == exit_code
    for sentence in sentences:
        assert sentence in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "spraed.txt").exists()


def test_the_docs_have_the_table() -> None:
    rows = dict(re.findall(r"^\| \*\*(.+?)\*\* \| (.+?) \| ", PAGE, re.MULTILINE))
    assert list(rows) == [breakage.name for breakage in BREAKAGES]
    for name, (exit_code, sentences) in SAID.items():
        assert f"exit code {exit_code}," in rows[name]
        assert sentences[0].splitlines()[0].strip() in rows[name]
