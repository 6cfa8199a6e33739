"""Figures of a category with very many observations take little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

from headway.history.base import Key, Seen, figures_of
from headway.model.outcome import Ending

MANY = 50_000
KEY = Key(1, "site", "flow", "count", "", "")


def seen() -> Iterator[Seen]:
    for number in range(MANY):
        ending = Ending.MEMORY if number % 10 == 9 else Ending.SUCCESS
        yield str(ending), 1000.0 + number, 1060.5 + number, 1e9 + number


def test_only_numbers_of_each_observation_are_held() -> None:
    tracemalloc.start()
    figures = figures_of(KEY, seen())
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert figures is not None
    assert (figures.observations, figures.failures, figures.newest_at) == (MANY, MANY // 10, 1060.5 + MANY - 1)
    assert figures.run_s is not None
    assert figures.memory_bytes is not None
    assert (figures.run_s.median, figures.memory_bytes.most) == (60.5, 1e9 + MANY - 2)
    assert peak_bytes < 70 * MANY


def test_no_observations_have_no_figures() -> None:
    assert figures_of(KEY, []) is None
