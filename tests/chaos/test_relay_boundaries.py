"""A small run through files, whose relay is killed before each thing that it does outside of its memory."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests import kills
from tests.chaos.flow import Torment, wait_for_end
from tests.chaos.one_host import supervisors
from tests.chaos.test_every_boundary import TASKS, small_run

SLICES = 6


def run(parent: Path, number: int) -> Torment:
    """Run the workflow and kill its relay before a boundary; messages that were on their way are lost."""
    torment = small_run(parent)
    words = {"module": "tests.chaos.one_host", "PYTHONPATH": str(Path(__file__).parents[2])}
    code = torment.launch(crash=f"relay#{number}", **words).wait(300)
    for pid in supervisors(torment.directory):
        os.kill(pid, signal.SIGTERM)
        wait_for_end([pid])
    where = torment.flag.read_text() if torment.flag.exists() else "never reached"
    assert code == 0, where + torment.output()
    assert torment.successes() == dict.fromkeys(TASKS, 1), where + torment.output()
    assert torment.executed() == dict.fromkeys(TASKS, 1), where
    kills.add(bool(number) and torment.flag.exists())
    return torment


@pytest.fixture(scope="session")
def boundaries(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """List what a relay does that nothing disturbs."""
    return run(tmp_path_factory.mktemp("relay"), 0).flag.read_text().splitlines()


def test_a_relay_killed_with_messages_in_its_hands(tmp_path: Path, boundaries: list[str]) -> None:
    """The manager repeats them when it notices that another relay has taken over."""
    read = [number for number, line in enumerate(boundaries, 1) if line.endswith("messages-read")]
    run(tmp_path, read[1])


@pytest.mark.chaos
@pytest.mark.parametrize("slice_", range(SLICES))
def test_a_relay_killed_before_every_boundary(tmp_path: Path, boundaries: list[str], slice_: int) -> None:
    for number in range(1 + slice_, len(boundaries) + 1, SLICES):
        run(tmp_path / str(number), number)
