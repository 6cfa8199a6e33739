"""Several real users of this machine who share a pool: its owner, members, and strangers."""

from __future__ import annotations

import functools
import grp
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import pytest

import headway
from tests.cli.bench import PATIENCE_S
from tests.serving.pools import SIZE

# Accounts that every Debian has, of which nothing runs here.
OWNER, MEMBERS, OUTSIDER, STRANGER = "backup", ("games", "news"), "proxy", "nobody"
GROUP = "users"
_ROOT = Path(__file__).parents[2]


def path_of_python() -> str:
    """Where a Python of another user finds Headway, what it needs, and the tests."""
    packages = [path for path in sys.path if path.endswith("-packages")]
    return os.pathsep.join([str(Path(headway.__file__).parents[1]), str(_ROOT), *packages])


@functools.cache
def python_for_others() -> str:
    """A Python that other users may run: perhaps not that of the tests, which may lie in a home."""
    if os.geteuid() != 0:
        pytest.skip("only root can act as another user")
    for python in (sys.executable, shutil.which("python3", path="/usr/bin") or ""):
        try:
            tried = subprocess.run(
                [python, "-c", "import headway, msgspec, click, rich, cryptography"],
                user=STRANGER,
                env={"PYTHONPATH": path_of_python()},
                cwd="/",
                capture_output=True,
                check=False,
            )
        except OSError:
            continue
        if tried.returncode == 0:
            return python
    pytest.skip("no Python here that other users may run has what Headway needs")


class People:
    """A pool that one user owns, and what the others do; each has a home, and members have a folder that all share."""

    def __init__(self, *options: str, owner: str = OWNER) -> None:
        self.owner = owner
        self.python = python_for_others()
        # Not among temporary files: a member would not trust what lies where everybody can write.
        self.root = Path(tempfile.mkdtemp(prefix="headway-people-", dir="/srv" if os.path.isdir("/srv") else "/"))
        self.root.chmod(0o755)
        self.pool = self.root / "srv" / "pool"
        self.shared = self.root / "work"
        self._own(self.pool.parent, owner, 0o755)
        self._own(self.shared, owner, 0o2770, GROUP)
        for name in (owner, *MEMBERS, OUTSIDER, STRANGER):
            self._own(self.root / "homes" / name, name, 0o700)
        self.options = ("--group", GROUP, *options)
        self.process: subprocess.Popen[str] | None = None

    def _own(self, path: Path, user: str, mode: int, group: str | None = None) -> Path:
        path.mkdir(parents=True)
        entry = pwd.getpwnam(user)
        os.chown(path, entry.pw_uid, grp.getgrnam(group).gr_gid if group else entry.pw_gid)
        path.chmod(mode)
        return path

    def start(self) -> None:
        """Start the pool, and wait until it serves."""
        words = ("pool", "start", str(self.pool), "-q", "--grace", "1s", *SIZE, *self.options)
        self.process = self.begin(self.owner, *words)
        self.wait_for(lambda: self.says(self.owner, "pool", "status", str(self.pool))[0] == 0, "the pool", self.process)

    def stop(self) -> None:
        assert self.says(self.owner, "pool", "stop", str(self.pool))[0] == 0
        assert self.process is not None
        assert self.process.wait(PATIENCE_S) == 0, self.process.communicate()

    def kill(self) -> None:
        """Kill the pool's manager; what it has started goes on."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.root)

    def flow(self, user: str, name: str, text: str, below: Path | None = None) -> Path:
        """A directory of a user with a workflow, which the group may write to."""
        directory = self._own((below or self.shared) / name, user, 0o2770, GROUP)
        file = directory / "workflow.yaml"
        file.write_text(text.replace("HOME", str(self.shared)).replace("POOL", str(self.pool)))
        file.chmod(0o644)
        return directory

    def begin(
        self, user: str, *words: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a command of Headway as a user; the stranger is in no group of the others."""
        return self.run_as(user, self.python, "-m", "headway", *words, cwd=cwd, environment=environment)

    def run_as(
        self,
        user: str,
        *words: str,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        stdin: IO[str] | int = subprocess.DEVNULL,
    ) -> subprocess.Popen[str]:
        home = self.root / "homes" / user
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("HEADWAY", "PYTHON", "XDG"))}
        own = {"HOME": str(home), "USER": user, "LOGNAME": user, "PYTHONPATH": path_of_python(), "COLUMNS": "120"}
        return subprocess.Popen(
            words,
            user=user,
            group=pwd.getpwnam(user).pw_gid,
            extra_groups=[] if user == STRANGER else [GROUP],
            umask=0o022,
            cwd=cwd or home,
            env=kept | own | {"PYTHONDONTWRITEBYTECODE": "1"} | dict(environment or {}),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def says(self, user: str, *words: str, cwd: Path | None = None, **environment: str) -> tuple[int, str]:
        """Run a command of Headway as a user; return its exit code and what it said."""
        return ended(self.begin(user, *words, cwd=cwd, environment=environment))

    def invite(self, member: str, *options: str) -> None:
        code, said = self.says(self.owner, "pool", "invite", member, str(self.pool), "--i-trust-them", *options)
        assert code == 0, said

    def revoke(self, member: str) -> None:
        code, said = self.says(self.owner, "pool", "revoke", member, str(self.pool))
        assert code == 0, said

    def members(self) -> dict[str, dict[str, Any]]:
        """The workflows that use the pool, by name."""
        code, said = self.says(self.owner, "pool", "status", str(self.pool), "--json")
        assert code == 0, said
        return {member["name"]: member for member in json.loads(said)["members"]}

    def wait_for_ran(self, name: str, number: int, alive: subprocess.Popen[str]) -> None:
        """Wait until so many commands of a workflow have begun."""
        noted = self.shared / f"ran-{name}"
        self.wait_for(lambda: noted.exists() and len(noted.read_text().split()) >= number, f"{number} commands", alive)

    def wait_for(self, condition: Callable[[], bool], what: str, alive: subprocess.Popen[str] | None = None) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert alive is None or alive.poll() is None, alive.communicate()
            assert time.monotonic() < deadline, f"timed out waiting for {what}"
            time.sleep(0.05)


def ended(process: subprocess.Popen[str], within_s: float = PATIENCE_S) -> tuple[int, str]:
    """Wait for a command; return its exit code and what it said."""
    output, errors = process.communicate(timeout=within_s)
    assert "Traceback" not in errors, errors
    return process.returncode, output + errors
