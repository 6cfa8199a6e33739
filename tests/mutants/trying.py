"""Tries a mutant: a copy of the sources with one change, and the tests that must notice it."""

from __future__ import annotations

import compileall
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
WITHIN_S = 300.0  # for the tests of one mutant
ALL_WITHIN_S = 1800.0  # for all tests without a change
_END_WITHIN_S = 30.0  # for pytest to end the processes of its tests
# A copy that fails like this does not even work: it shows nothing about its test. Nor does a fixture that fails, unless
# it asserts something.
_DOES_NOT_WORK = ("SyntaxError", "ImportError", "ModuleNotFoundError", "NameError", "AttributeError", "TypeError")
_ASSERTS = ("AssertionError", "assert ", "Failed")


class Mutant(NamedTuple):
    """A small change of one file of `src/headway` that breaks a promise, and the tests of which one must fail then."""

    name: str
    promise: str  # that it breaks, in a few words
    file: str
    old: str  # occurs once in the file
    new: str
    tests: tuple[str, ...]  # node ids of pytest

    @property
    def is_up_to_date(self) -> bool:
        """Whether the text that it changes is there, once."""
        return (SOURCE / "headway" / self.file).read_text().count(self.old) == 1


class Verdict(NamedTuple):
    """What became of a mutant: the test that found it, or why none did."""

    name: str
    promise: str
    found_by: str
    trouble: str
    seconds: float


def clean_copy(place: Path) -> Path:
    """Copy the sources to a place and compile them, so that each process that uses a copy need not."""
    copy = place / "src"
    shutil.copytree(SOURCE, copy)
    compileall.compile_dir(copy, quiet=1)
    return copy


def changed_copy(clean: Path, place: Path, mutant: Mutant) -> Path:
    """Copy the clean copy to a place, with the mutant's change."""
    copy = place / "src"
    shutil.copytree(clean, copy)  # with times, so that compiled modules stay valid
    file = copy / "headway" / mutant.file
    file.write_text(file.read_text().replace(mutant.old, mutant.new))
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
        compiled.unlink()
    return copy


def environment(copy: Path) -> dict[str, str]:
    """Return an environment in which all processes use the copy. Wide lines keep pytest's sentences whole."""
    own = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return own | {"PYTHONPATH": f"{copy}{os.pathsep}{ROOT}", "COLUMNS": "1000"}


def run_pytest(
    words: Sequence[str], place: Path, copy: Path, within_s: float = WITHIN_S
) -> tuple[int | None, list[str]]:
    """Run tests with a copy; return pytest's exit code, None if it did not end in time, and what it printed."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", f"--basetemp={place / 't'}"]
    process = subprocess.Popen(
        [*command, *words],
        cwd=ROOT,
        env=environment(copy),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # the tests end the processes that they have started
        try:
            said, _ = process.communicate(timeout=_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
        return None, said.splitlines()
    return process.returncode, said.splitlines()


def passing(tests: Sequence[str], place: Path, clean: Path, jobs: int) -> set[str]:
    """Return those of the tests that pass with the clean copy."""
    several = ["-n", str(jobs), "--dist", "loadgroup"] if jobs > 1 else []
    _, said = run_pytest(["-rfEsp", *several, *tests], place, clean, ALL_WITHIN_S)
    passed = [line.removeprefix("PASSED ") for line in said if line.startswith("PASSED ")]
    failed = [line.split(" ", 1)[1] for line in said if line.startswith(("FAILED ", "ERROR "))]
    return {
        test
        for test in tests
        if any(line.startswith(test) for line in passed) and not any(line.startswith(test) for line in failed)
    }


def import_trouble(mutant: Mutant, copy: Path) -> str:
    """Say why the changed module cannot be imported from the copy; empty if it can, or if it is no module."""
    if not mutant.file.endswith(".py"):
        return ""
    module = f"headway.{mutant.file.removesuffix('.py').replace('/', '.')}"
    words = f"import importlib; print(importlib.import_module({module!r}).__file__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", words],
        env=environment(copy),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return f"it cannot be imported: {done.stderr.strip().splitlines()[-1]}"
    return "" if done.stdout.startswith(str(copy)) else f"another copy is imported: {done.stdout.strip()}"


def tried(mutant: Mutant, clean: Path, place: Path) -> Verdict:
    """Run the tests of a mutant, whose change must make one of them fail."""

    def verdict(found_by: str, trouble: str, seconds: float = 0.0) -> Verdict:
        return Verdict(mutant.name, mutant.promise, found_by, trouble, seconds)

    if not mutant.is_up_to_date:
        return verdict("", f"out of date: its old text must occur once in {mutant.file}")
    copy = changed_copy(clean, place, mutant)
    if trouble := import_trouble(mutant, copy):
        return verdict("", trouble)
    began = time.monotonic()
    code, said = run_pytest(["-x", "-rfE", *mutant.tests], place, copy)
    seconds = time.monotonic() - began
    if code is None:
        return verdict("", f"its tests did not end within {WITHIN_S:g} s", seconds)
    failures = [line for line in said if line.startswith(("FAILED ", "ERROR "))]
    if code != 1 or not failures:
        return verdict("", "SURVIVED" if code == 0 else f"pytest ended with code {code}", seconds)
    test, _, reason = failures[0].split(" ", 1)[1].partition(" - ")
    is_error = failures[0].startswith("ERROR ") and not reason.startswith(_ASSERTS)
    if is_error or reason.startswith(_DOES_NOT_WORK):
        return verdict("", f"the copy does not even work: {reason}", seconds)
    return verdict(test, "", seconds)


def tried_mock(name: str, promise: str, test: str, clean: Path, place: Path) -> Verdict:
    """Run a test that breaks Headway itself, by a mock, and passes if the stories or histories find that."""
    began = time.monotonic()
    place.mkdir()
    code, _ = run_pytest(["-x", test], place, clean)
    seconds = time.monotonic() - began
    return Verdict(name, promise, test if code == 0 else "", "" if code == 0 else "SURVIVED", seconds)
