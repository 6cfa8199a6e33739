"""The rule by which `make soak` judges: what only fills up at first or swings is no leak, what keeps growing is one."""

from __future__ import annotations

import os
import subprocess
import threading

import pytest

from tests.soak.levels import Held, growth, held_by

MB = 10**6


@pytest.mark.parametrize(
    ("amounts", "grew"),
    [
        (lambda look: Held(10, 4, 60 * MB, 1), set()),
        (lambda look: Held(10 + look % 3, 4 + look % 2, (60 + 4 * (look % 3)) * MB, look % 2), set()),
        (lambda look: Held(10 + min(look, 9), 4, min(60 + 5 * look, 100) * MB, 1), set()),
        (lambda look: Held(10 + look, 4, 60 * MB, 1), {"descriptors"}),
        (lambda look: Held(10, 4, (60 + look) * MB, 1), {"memory_bytes"}),
        (lambda look: Held(10, 4 + look // 5, 60 * MB, look // 5), {"threads", "children"}),
    ],
)
def test_what_keeps_growing_is_found(amounts, grew: set[str]) -> None:
    assert set(growth([amounts(look) for look in range(40)])) == grew


def test_few_looks_say_nothing() -> None:
    with pytest.raises(ValueError, match="too few"):
        growth([Held(1, 1, 1, 1)] * 5)


def test_a_look_sees_what_a_process_holds() -> None:
    before = held_by(os.getpid())
    files = [open(os.devnull) for _ in range(20)]  # noqa: SIM115
    wait = threading.Event()
    thread = threading.Thread(target=wait.wait)
    thread.start()
    child = subprocess.Popen(["sleep", "60"])
    after = held_by(os.getpid())
    wait.set()
    thread.join()
    child.kill()
    child.wait()
    for file in files:
        file.close()
    assert after.descriptors >= before.descriptors + 20
    assert (after.threads, after.children) == (before.threads + 1, before.children + 1)
    assert after.memory_bytes > 0
