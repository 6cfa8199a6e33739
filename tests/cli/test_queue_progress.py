"""What a terminal shows while a queue is simulated: that the scheduler is being compiled, and which plan it is."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.bench import Bench


class Terminal:
    """`headway` whose errors and progress go to a terminal."""

    def __init__(self, bench: Bench, *args: str, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headway", *args],
            cwd=bench.directory,
            env=bench.environment | {"TERM": "xterm"} | environment,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        )
        os.close(theirs)
        self.seen = b""

    def read(self) -> bool:
        """Read on; whether there may be more."""
        try:
            more = os.read(self._ours, 4096)
        except OSError:  # the other end is closed
            more = b""
        self.seen += more
        return bool(more)

    def read_until(self, words: str) -> None:
        while words.encode() not in self.seen:
            assert self.read(), self.seen

    def end(self) -> str:
        """All that was shown, without what moves the cursor."""
        while self.read():
            pass
        os.close(self._ours)
        return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", self.seen).decode()


HARD = (
    "simulate",
    "lublin",
    "--jobs",
    "20000",
    "--backfill",
    "conservative",
    "--load",
    "0.99",
)  # minutes in plain Python


def test_it_says_that_it_compiles_and_ctrl_c_ends_it(bench: Bench, tmp_path: Path) -> None:
    terminal = Terminal(bench, *HARD, NUMBA_CACHE_DIR=str(tmp_path / "empty"))
    terminal.read_until("compiling, once on this machine")
    terminal.process.send_signal(signal.SIGINT)
    text = terminal.end()
    assert terminal.process.wait(60) == 130
    assert "Traceback" not in text
    assert terminal.seen.rindex(b"\x1b[?25h") > terminal.seen.rindex(b"\x1b[?25l"), "the cursor is back"


def test_a_short_simulation_is_not_compiled(bench: Bench, tmp_path: Path) -> None:
    terminal = Terminal(bench, "simulate", "lublin", "--jobs", "1000", NUMBA_CACHE_DIR=str(tmp_path / "empty"))
    text = terminal.end()
    assert terminal.process.wait(60) == 0
    assert "lublin-combined" in text
    assert "compiling" not in text
    assert not (tmp_path / "empty").exists()


def test_a_long_simulation_without_numba_says_what_is_missing(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text("raise ModuleNotFoundError('numba')")
    with subprocess.Popen(
        [sys.executable, "-m", "headway", *HARD],
        cwd=bench.directory,
        env=bench.environment | {"PYTHONPATH": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        process.kill()
    assert said == "without numba this takes long; `pip install 'headway[simulate]'` installs it\n"


def test_it_says_which_plan_it_is(bench: Bench) -> None:
    bench.succeeds("generate", "montage", "--tasks", "50", "-o", "m.json")
    bench.succeeds("simulate", "lublin", "--jobs", "10")
    terminal = Terminal(bench, "simulate", "lublin", "--workflow", "m.json", "--plan", "one-job-per-task")
    text = terminal.end()
    assert terminal.process.wait(60) == 0
    assert "the queue before the workflow" in text
    assert re.search(r"one-job-per-task, .* into it", text)
