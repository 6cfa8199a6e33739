"""The list of mutants fits the code, and the command tells what is found from what is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.mutants import MUTANTS
from tests.mutants.trying import ROOT, Mutant, clean_copy, passing, tried

FAST = "changed-input-reused"
TEST = next(mutant.tests for mutant in MUTANTS if mutant.name == FAST)
SAME = Mutant("same", "none", "model/task.py", "def is_pattern(", "def is_pattern(", TEST)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clean_copy(tmp_path_factory.mktemp("clean"))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_changes_is_there_once(mutant: Mutant) -> None:
    assert mutant.is_up_to_date, f"look at {mutant.file}: which text keeps the promise now?"
    assert mutant.old != mutant.new


def test_there_are_many_and_each_has_a_name_of_its_own() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 40


def test_the_tests_that_find_them_exist() -> None:
    tests = sorted({test for mutant in MUTANTS for test in mutant.tests})
    words = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if "ERROR" in line)


def test_the_command_tries_what_is_named() -> None:
    words = [sys.executable, "-m", "tests.mutants", FAST, "lock-shared"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"| {FAST} |" in done.stdout and f"`{TEST[0]}" in done.stdout
    assert "2 tried, 2 found, 0 not" in done.stdout.splitlines()[-1]


def test_what_does_not_fail_by_its_change_is_not_found(tmp_path: Path, clean: Path) -> None:
    """A copy that behaves as before, one that cannot be imported, and one whose text is not there any more."""
    assert tried(SAME, clean, tmp_path / "1").trouble == "SURVIVED"
    no_python = SAME._replace(new="def is_pattern[")
    assert "cannot be imported: SyntaxError" in tried(no_python, clean, tmp_path / "2").trouble
    gone = SAME._replace(old="a text that is nowhere")
    assert "out of date" in tried(gone, clean, tmp_path / "3").trouble
    no_name = SAME._replace(old="for part in parts]", new="for part in unknown_name]")
    assert "does not even work" in tried(no_name, clean, tmp_path / "4").trouble


def test_a_test_that_fails_without_a_change_shows_nothing(tmp_path: Path, clean: Path) -> None:
    fails = tmp_path / "test_it.py"
    fails.write_text("def test_it() -> None:\n    assert False\n")
    assert passing([str(fails), *TEST], tmp_path, clean, 1) == set(TEST)
