"""A forked command does what a command with an interpreter of its own does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import Forked, run_headway, start_headway
from tests.left_processes import VARIABLE, end_processes

FAILING = "name: w\ntasks: {a: {run: 'exit 3'}}\n"
CURIOUS = 'name: w\ntasks:\n  look:\n    run: pwd; umask; echo "$SEEN"; ls /proc/self/fd | wc -l\n'
ENDLESS = "name: w\ntasks:\n  wait:\n    run: sleep 600\n"


def executed(words: tuple[str, ...], directory: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "headway", *words]
    return subprocess.run(argv, cwd=directory, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [("run", "--cores", "x"), ("run", "-n"), ("why", "b"), ("runs",), ("nonsense",)])
def test_code_and_output_are_the_same(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text(FAILING)
    environment = os.environ | {"COLUMNS": "77"}
    assert run_headway(("run",), tmp_path, environment, timeout_s=100).returncode == 1
    forked, own = run_headway(words, tmp_path, environment, timeout_s=100), executed(words, tmp_path, environment)
    assert (forked.returncode, forked.stdout, forked.stderr) == (own.returncode, own.stdout, own.stderr)


def test_a_task_sees_the_same(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text(CURIOUS)
    environment = os.environ | {"SEEN": "yes"}
    before = os.umask(0o027)
    try:
        assert run_headway(("run",), tmp_path, environment, timeout_s=100).returncode == 0
        forked = executed(("logs", "look"), tmp_path, environment).stdout
        assert executed(("run", "--again"), tmp_path, environment).returncode == 0
    finally:
        os.umask(before)
    assert "0027\nyes\n" in forked
    assert forked == executed(("logs", "look"), tmp_path, environment).stdout


def test_other_settings_of_python_get_an_interpreter_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('started')\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    assert run_headway(("--version",), tmp_path, environment, timeout_s=100).stdout.startswith("started\n")


def test_signals_and_marks(tmp_path: Path) -> None:
    output = os.open(tmp_path / "output", os.O_CREAT | os.O_WRONLY)
    ends = {"killed": lambda command: command.kill(), "found": lambda command: end_processes(os.environ[VARIABLE])}
    for name, end in ends.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "workflow.yaml").write_text(ENDLESS)
        command = start_headway(("run",), tmp_path / name, os.environ, output, output)
        assert isinstance(command, Forked)
        with pytest.raises(subprocess.TimeoutExpired):
            command.wait(0.2)
        assert command.poll() is None
        end(command)
        assert command.wait(60) == -signal.SIGKILL
        assert command.poll() == -signal.SIGKILL
    os.close(output)
    end_processes(os.environ[VARIABLE])
