"""The law of right results: for histories that seeds choose, and for copies of Headway that are broken on purpose."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.laws import oracle, shell
from tests.laws.broken import BROKEN, FOUND_IN
from tests.laws.flows import Switches
from tests.laws.real import live_really
from tests.laws.story import live, settled, shortest
from tests.world.clock import UNHANDLED

SEEDS, AT_A_TIME = 300, 25
FOUND_WITHIN = 3 * SEEDS  # histories, for a broken copy
REAL = 10  # histories with real processes
SCRIPTS = 20  # workflows whose commands are also run by bash


@pytest.mark.parametrize("first", range(0, SEEDS, AT_A_TIME))
def test_a_used_directory_gets_what_an_empty_one_would(first: int) -> None:
    for seed in range(first, first + AT_A_TIME):
        verdict = live(seed)
        assert not verdict.wrong, str(shortest(verdict))


@pytest.mark.parametrize("seed", range(REAL))
def test_a_used_directory_gets_it_with_real_processes(seed: int, tmp_path: Path) -> None:
    live_really(seed, tmp_path)


def test_a_seed_has_the_same_history_again() -> None:
    first, again = (live(SEEDS) for _ in range(2))
    assert first.told == again.told


def test_most_runs_are_compared() -> None:
    """A history in which nothing ever succeeds would prove nothing."""
    verdicts = [live(seed) for seed in range(SEEDS, SEEDS + 10)]
    assert sum(verdict.checked for verdict in verdicts) > sum(verdict.runs for verdict in verdicts) / 3


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_copy_is_found(what: str) -> None:
    with BROKEN[what]():
        seeds = (FOUND_IN.get(what, 0), *range(FOUND_WITHIN))
        found = next((seed, wrong) for seed in seeds if (wrong := live(seed).wrong))
    assert not found[1].startswith(UNHANDLED), f"the copy does not even work: {found[1]}"
    assert not live(found[0]).wrong, "it is not the copy that is wrong"


@pytest.mark.parametrize("seed", range(SCRIPTS))
def test_the_small_shell_does_what_bash_does(seed: int, tmp_path: Path) -> None:
    user = settled(seed, Switches(), tmp_path, None)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for room in (ours, theirs):
        room.mkdir()
        oracle.lay_out(user.flow, user.files, room)
    clean = oracle.clean_run(user.flow, ours, {})
    for task in clean.tasks.values():
        for path in (*task.outputs, *task.temp):
            (theirs / path).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["bash", "-euo", "pipefail", "-c", task.command], cwd=theirs, check=True, env={"LC_ALL": "C"})
    assert oracle.contents(theirs, ".") == oracle.contents(ours, ".")


def test_a_command_of_the_small_shell_fails_where_one_of_bash_does(tmp_path: Path) -> None:
    for line in ("cat missing", "cat *.missing > out", "test ! -e here", "echo text > no/folder"):
        (tmp_path / "here").touch()
        bash = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, check=False)
        assert bool(bash.returncode) == bool(shell.run(line, tmp_path)) is True
