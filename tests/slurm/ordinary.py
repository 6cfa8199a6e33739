"""Ordinary users of a test's Slurm, who are not root and have directories of their own.

The tests' Python may lie where only root can read; then the users get a copy of it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.slurm.lab import SlurmLab

_UNUSED = ("test", "tests", "site-packages", "idlelib", "tkinter", "ensurepip", "config-*")


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    output: str


class Command(NamedTuple):
    """A command that runs, and the file that it writes to."""

    process: subprocess.Popen[bytes]
    log: Path

    def end(self, within_s: float = 300.0) -> Ended:
        return Ended(self.process.wait(within_s), self.output())

    def output(self) -> str:
        return " ".join(self.log.read_text(errors="replace").split())  # lines are broken at any word


def python_for_all(folder: Path) -> tuple[str, dict[str, str]]:
    """Return a Python that all users can run, copied to `folder` if need be, and the variables that it needs."""
    imported = [path for path in sys.path if "site-packages" in path or os.path.isdir(f"{path}/headway")]
    variables = {"PYTHONPATH": os.pathsep.join(imported), "PYTHONDONTWRITEBYTECODE": "1"}
    words = ["sh", "-c", '"$0" -c "import headway"', sys.executable]
    tried = _as(pwd.getpwnam("nobody"), words, cwd="/", env=variables).wait()
    if tried == 0:
        return sys.executable, variables
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (folder / "bin").mkdir(parents=True)
    shutil.copy(os.path.realpath(sys.executable), folder / "bin" / name)
    shutil.copytree(sysconfig.get_path("stdlib"), folder / "lib" / name, ignore=shutil.ignore_patterns(*_UNUSED))
    library = Path(sysconfig.get_config_var("LIBDIR")) / str(sysconfig.get_config_var("INSTSONAME"))
    if library.exists():
        shutil.copy(library, folder / "lib")
    return str(folder / "bin" / name), variables | {"LD_LIBRARY_PATH": str(folder / "lib")}


class OrdinaryUser:
    """A user of a test's Slurm, who runs Headway in directories below `folder`."""

    def __init__(self, name: str, lab: SlurmLab, folder: Path, python: tuple[str, Mapping[str, str]]) -> None:
        self.name = name
        self._who = pwd.getpwnam(name)
        self._folder = folder / name
        self._executable, variables = python
        self._environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "SBATCH", "HEADWAY"))},
            **lab.environment(),
            **variables,
            "HOME": str(self._folder),
            "HEADWAY_HISTORY": "none",
            "COLUMNS": "200",
        }
        self._folder.mkdir()
        os.chown(self._folder, self._who.pw_uid, self._who.pw_gid)

    def directory(self, name: str, files: Mapping[str, str]) -> Path:
        """Make a directory of this user with these files."""
        folder = self._folder / name
        folder.mkdir()
        for file, text in files.items():
            (folder / file).write_text(text)
        for path in (folder, *folder.iterdir()):
            os.chown(path, self._who.pw_uid, self._who.pw_gid)
        return folder

    def headway(self, folder: Path, *words: str, **environment: str) -> Command:
        """Start a Headway command in a directory."""
        return self.start(folder, [self._executable, "-m", "headway", *words], environment)

    def run(self, *words: str) -> str:
        """Run one of Slurm's commands, and return what it printed."""
        command = self.start(self._folder, list(words), {})
        code, output = command.end()
        assert code == 0, output
        return output

    def submit(self, *options: str) -> str:
        """Submit a job that does nothing for a minute, and return its id."""
        return self.run("sbatch", "--parsable", "--output=/dev/null", *options, "--wrap=sleep 60").split(";")[0]

    def start(self, folder: Path, words: list[str], environment: Mapping[str, str]) -> Command:
        log = folder.with_name(f"{folder.name}.{len(list(self._folder.glob('*.log')))}.log")
        with log.open("wb") as file:
            return Command(_as(self._who, words, str(folder), {**self._environment, **environment}, file), log)


def _as(
    who: pwd.struct_passwd, words: list[str], cwd: str, env: Mapping[str, str], log: object = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        cwd=cwd,
        env=dict(env),
        user=who.pw_uid,
        group=who.pw_gid,
        extra_groups=[],
        stdin=subprocess.DEVNULL,
        stdout=log,  # type: ignore[call-overload]
        stderr=subprocess.STDOUT,
    )
