"""What a terminal shows while a queue is simulated: that the scheduler is being compiled, and which plan it is."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

from headway.api.queues import scheduler_is_compiled
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


def test_it_says_that_it_compiles_and_ctrl_c_ends_it(bench: Bench, tmp_path: Path) -> None:
    terminal = Terminal(bench, "simulate", "lublin", NUMBA_CACHE_DIR=str(tmp_path / "empty"))
    terminal.read_until("compiling the scheduler, once")
    terminal.process.send_signal(signal.SIGINT)
    text = terminal.end()
    assert terminal.process.wait(60) == 130
    assert "Traceback" not in text
    assert terminal.seen.rindex(b"\x1b[?25h") > terminal.seen.rindex(b"\x1b[?25l"), "the cursor is back"


def test_it_does_not_say_so_when_it_is_compiled_already(bench: Bench) -> None:
    bench.succeeds("simulate", "lublin", "--jobs", "10")
    assert scheduler_is_compiled()
    terminal = Terminal(bench, "simulate", "lublin", "--jobs", "10")
    text = terminal.end()
    assert terminal.process.wait(60) == 0
    assert "lublin-combined" in text
    assert "compiling" not in text


def test_it_says_which_plan_it_is(bench: Bench) -> None:
    bench.succeeds("generate", "montage", "--tasks", "50", "-o", "m.json")
    bench.succeeds("simulate", "lublin", "--jobs", "10")
    terminal = Terminal(bench, "simulate", "lublin", "--workflow", "m.json", "--plan", "one-job-per-task")
    text = terminal.end()
    assert terminal.process.wait(60) == 0
    assert "the queue before the workflow" in text
    assert re.search(r"one-job-per-task, .* into it", text)
