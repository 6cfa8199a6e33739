"""A real pool on this machine, and workflows in several directories that use it."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.records import Decision, Event
from tests.cli.bench import PATIENCE_S, Bench

SIZE = ("--cores", "2", "--memory", "1GB", "--disk", "1GB")
WAITING = """
name: {name}
tasks:
  made:
    each: {{n: [1, 2, 3]}}
    run: |
      echo {{n}} >> {home}/ran-{name}
      while [ ! -e {home}/go-{name} ]; do sleep 0.05; done
      echo {name} {{n}} > made-{{n}}
    outputs: ["made-{{n}}"]
    resources: {{cores: 1, memory: 100 MB, disk: 10 MB}}
  total:
    run: echo total >> {home}/ran-{name}; cat made-1 made-2 made-3 > total
    inputs: ["made-1", "made-2", "made-3"]
    outputs: [total]
"""


class Pool:
    """A pool that this test starts, kills and starts again, with workflows in directories of their own."""

    process: subprocess.Popen[str]

    def __init__(self, home: Path, *, started: bool = True) -> None:
        self.home = home
        self.bench = Bench(home / "elsewhere", home)
        self.directory = home / "state" / "headway" / "pools" / "default"
        if started:
            self.start()

    def start(self, *options: str) -> subprocess.Popen[str]:
        self._begin(options)
        assert self.process.poll() is None, self.process.communicate()
        return self.process

    def _begin(self, options: Sequence[str] = ()) -> None:
        """Start a manager and wait until it listens, or is killed before that."""
        link = self.directory / ".headway" / "pool"
        before = link.lstat().st_mtime_ns if link.is_symlink() else None
        self.process = self.bench.start("pool", "start", "-q", "--grace", "1s", *SIZE, *options)

        def is_there() -> bool:
            new = link.is_symlink() and link.lstat().st_mtime_ns != before
            return new or self.process.poll() is not None

        self.bench.wait_for(is_there, "the pool's socket")

    def start_to_crash(self, point: str, count: int) -> subprocess.Popen[str]:
        """Start a manager that is killed when it reaches a named point that often; the file of that name tells."""
        self.bench.environment["HEADWAY_CRASH"] = f"{point}:{count}:{self.home / point}"
        self._begin()
        del self.bench.environment["HEADWAY_CRASH"]
        return self.process

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def flow(self, name: str, text: str = WAITING) -> Bench:
        """A directory with a workflow whose tasks note that they ran, and wait until `go` lets them end."""
        bench = Bench(self.home / name, self.home)
        bench.write(text.format(name=name, home=self.home))
        return bench

    def go(self, name: str) -> None:
        (self.home / f"go-{name}").touch()

    def ran(self, name: str) -> Counter[str]:
        path = self.home / f"ran-{name}"
        return Counter(path.read_text().split()) if path.exists() else Counter()

    def status(self) -> dict[str, Any]:
        done = self.bench("pool", "status", "--json")
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def members(self) -> dict[str, dict[str, Any]]:
        return {member["name"]: member for member in self.status()["members"]}

    def wait_for_running(self, name: str, number: int) -> None:
        self.bench.wait_for(lambda: self.members().get(name, {}).get("running") == number, f"{number} tasks of {name}")

    def wait_for_ran(self, name: str, number: int) -> None:
        self.bench.wait_for(lambda: self.ran(name).total() >= number, f"{number} commands of {name}")

    def stop(self) -> None:
        self.bench.succeeds("pool", "stop")
        assert self.process.wait(PATIENCE_S) == 0, self.process.communicate()
        assert not (self.directory / ".headway" / "pool").is_symlink()


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    """Wait for the end of a command, assert its exit code and return what it said."""
    output, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code, output + errors
    assert "Traceback" not in errors, errors
    return output + errors


def records_of(directory: Path) -> list[Event | Decision]:
    """All records of the newest run in a directory."""
    journal = SqliteJournal(Project(directory).runs()[-1].journal, read_only=True)
    try:
        return list(journal.replay())
    finally:
        journal.close()
