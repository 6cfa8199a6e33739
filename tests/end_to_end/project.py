"""A workflow's directory, and the command line as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.records import Decision, Event, Launch, Reuse
from tests.forked import run_headway


class Flow:
    """A directory with a workflow file in it."""

    def __init__(self, directory: Path, workflow: str) -> None:
        self.directory = directory
        self.write(workflow)

    def write(self, workflow: str) -> None:
        (self.directory / "workflow.yaml").write_text(workflow)

    def headway(self, *words: str, code: int | None = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a Headway command to its end and assert that it exits with `code` (None: any code)."""
        done = run_headway(words, self.directory, os.environ | environment, timeout_s=300)
        assert code is None or done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """Start a Headway command."""
        return subprocess.Popen(
            [sys.executable, "-m", "headway", *words],
            cwd=self.directory,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self.headway(*words, "--json", code=code).stdout)

    def records(self, run: str | None = None) -> list[Event | Decision]:
        return list(SqliteJournal(Project(self.directory).run(run).journal, read_only=True).replay())

    def launches(self, run: str | None = None) -> list[Launch]:
        return [record for record in self.records(run) if isinstance(record, Launch)]

    def reused(self, run: str | None = None) -> list[str]:
        return [record.task for record in self.records(run) if isinstance(record, Reuse)]

    def supervisor(self) -> int | None:
        """Return the process id of a live supervisor, or None."""
        for lock in self.directory.glob(".headway/runs/*/jobs/*/lock"):
            pid = int(lock.read_text() or 0)
            if pid and Path(f"/proc/{pid}").exists():
                return pid
        return None


def wait_until(condition: Callable[[], object], seconds: float = 120) -> None:
    """Poll until the condition is true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.02)
