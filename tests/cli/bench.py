"""A test bench for the command line: a directory with a workflow, and methods to run `headway` there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from headway.cli.main import cli
from tests.forked import run_headway

Done = subprocess.CompletedProcess[str]

# The first command that needs the batch queue compiles its kernels, which takes a minute on a busy machine.
PATIENCE_S = 300
# Options for a machine of a fixed size, so that expected results do not depend on the real machine.
SMALL = ("--cores", "2", "--memory", "1GB", "--disk", "1GB")


class Bench:
    """Runs `headway` as users do, without the Headway settings of this process.

    Commands that run tasks get a separate process. Other commands are called in this process: this is ten times faster.
    """

    def __init__(self, directory: Path, home: Path) -> None:
        self.directory = directory
        self.config = home / "config"
        directory.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWAY", "_HEADWAY"))}
        self.history = home / "history.db"
        ours = {"XDG_CONFIG_HOME": str(self.config), "HEADWAY_HISTORY": str(self.history)}
        ours |= {"XDG_STATE_HOME": str(home / "state")}
        self.environment = kept | ours | {"COLUMNS": "100", "PYTHONUNBUFFERED": "1"}

    def write(self, text: str, name: str = "workflow.yaml") -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def __call__(self, *args: str, **environment: str) -> Done:
        runs_tasks = args[0] in ("run", "resume", "cancel") and not {"-n", "--dry-run"} & set(args)
        return self.process(*args, **environment) if runs_tasks else self._here(*args, **environment)

    def _here(self, *args: str, **environment: str) -> Done:
        foreign: dict[str, str | None] = {name: None for name in os.environ if name.startswith("HEADWAY")}
        with chdir(self.directory):
            result = CliRunner().invoke(cli, args, env=foreign | self.environment | environment)
        return subprocess.CompletedProcess(args, result.exit_code, result.stdout, result.stderr)

    def process(self, *args: str, **environment: str) -> Done:
        return run_headway(args, self.directory, self.environment | environment, PATIENCE_S)

    def succeeds(self, *args: str, **environment: str) -> str:
        done = self(*args, **environment)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def fails(self, code: int, *args: str, **environment: str) -> str:
        """Assert that the command fails with `code` and prints one line on standard error; return that line."""
        done = self(*args, **environment)
        assert done.returncode == code, done.stderr + done.stdout
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith("headway: ")
        assert "Traceback" not in done.stderr
        return done.stderr

    def json(self, *args: str, **environment: str) -> Any:
        return json.loads(self.succeeds(*args, "--json", **environment))

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "headway", *args],
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"timed out waiting for {what}"
            time.sleep(0.02)

    def wait_for_file(self, name: str) -> None:
        self.wait_for((self.directory / name).exists, name)


def interrupt(process: subprocess.Popen[str]) -> None:
    """Send SIGINT, as Ctrl-C does."""
    process.send_signal(signal.SIGINT)
