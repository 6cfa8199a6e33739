"""The choice of nodes, also at word boundaries."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from headway.kernels.batch import node_sets
from headway.kernels.batch.state import CONTIGUOUS, LOWEST, Words

MASK = (1 << 64) - 1


def _choose(available: Words, wanted: int, selection: int, chosen: Words) -> bool:
    return node_sets.choose(available, wanted, selection, chosen)


def _size(nodes: Words) -> int:
    return node_sets.size_of(nodes)


def _same(left: Words, right: Words) -> bool:
    return node_sets.is_same(left, right)


def words(nodes: set[int], many: int) -> Words:
    bits = sum(1 << node for node in nodes)
    return np.array([bits >> 64 * word & MASK for word in range(many)], np.uint64)


def members(bits: Words) -> set[int]:
    return {64 * word + bit for word, value in enumerate(bits.tolist()) for bit in range(64) if value >> bit & 1}


def chosen(available: set[int], wanted: int, selection: int, machine: int) -> set[int] | None:
    many = (machine + 63) // 64
    result = np.full(many, 0xDEAD_BEEF, np.uint64)  # what was there before must not show
    return members(result) if _choose(words(available, many), wanted, selection, result) else None


def span(first: int, last: int) -> set[int]:
    return set(range(first, last + 1))


@pytest.mark.parametrize(
    ("machine", "available", "wanted", "lowest", "run"),
    [
        (1, {0}, 1, {0}, {0}),
        (64, span(0, 63), 64, span(0, 63), span(0, 63)),
        (64, {0, 62, 63}, 2, {0, 62}, {62, 63}),
        (65, {0, 63, 64}, 2, {0, 63}, {63, 64}),
        (65, span(0, 64), 65, span(0, 64), span(0, 64)),
        (65, {64}, 1, {64}, {64}),
        (65, {0, 64}, 2, {0, 64}, None),
        (128, span(60, 127), 66, span(60, 125), span(60, 125)),
        (128, span(0, 127) - {63}, 64, span(0, 64) - {63}, span(64, 127)),
        (128, span(0, 127) - {64}, 64, span(0, 63), span(0, 63)),
        (128, span(0, 127), 128, span(0, 127), span(0, 127)),
        (192, span(1, 191), 130, span(1, 130), span(1, 130)),
        (192, span(0, 191) - {0, 130}, 129, span(1, 129), span(1, 129)),
        (192, span(2, 64) | span(66, 191), 70, span(2, 64) | span(66, 72), span(66, 135)),
        (200, {5, 70, 140, 199}, 4, {5, 70, 140, 199}, None),
        (70, {1, 2}, 3, None, None),
    ],
)
def test_lowest_and_first_neighbours(
    machine: int, available: set[int], wanted: int, lowest: set[int] | None, run: set[int] | None
) -> None:
    assert chosen(available, wanted, LOWEST, machine) == lowest
    assert chosen(available, wanted, CONTIGUOUS, machine) == run


gaps = st.lists(st.tuples(st.integers(0, 199), st.integers(1, 90)), max_size=6)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from((1, 64, 65, 128, 130, 200)), gaps, st.integers(1, 200))
def test_any_set(machine: int, holes: list[tuple[int, int]], wanted: int) -> None:
    available = set(range(machine))
    for first, many in holes:
        available -= set(range(first, first + many))
    in_order = sorted(available)
    assert chosen(available, wanted, LOWEST, machine) == (set(in_order[:wanted]) if wanted <= len(in_order) else None)
    runs = (span(first, first + wanted - 1) for first in in_order)
    assert chosen(available, wanted, CONTIGUOUS, machine) == next((run for run in runs if run <= available), None)
    many = (machine + 63) // 64
    assert _size(words(available, many)) == len(available)
    assert _same(words(available, many), words(set(in_order), many))
    assert not _same(words(available, many), words(available ^ {machine - 1}, many))
