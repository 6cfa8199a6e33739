"""`dask.compute(..., scheduler=headway.Executor())`: tasks of a real Dask as calls."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("dask")

import dask
import dask.bag

import headway


@dask.delayed
def load(number: int) -> list[int]:
    return list(range(number))


@dask.delayed
def mean(numbers: list[int]) -> float:
    return sum(numbers) / len(numbers)


@dask.delayed
def fail(text: str) -> None:
    raise ValueError(text)


def where(number: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("isolation", ["process", "shared"])
def test_tasks_are_calls_with_the_functions_as_categories(isolation: str, tmp_path: Path) -> None:
    with headway.Executor(tmp_path, cores=2, isolation=isolation, fresh=True) as executor:
        assert dask.compute(mean(load(3)), mean(load(5)), scheduler=executor) == (1, 2)
        with pytest.raises(ValueError, match="no such luck"):
            fail("no such luck").compute(scheduler=executor)
        if isolation == "shared":
            total = dask.delayed(sum)([mean(load(number)) for number in range(1, 101)])
            assert total.compute(scheduler=executor) == 2475
    ended = ".worker" if isolation == "shared" else ""
    categories = {row.category.removesuffix(ended) for row in headway.usage(directory=tmp_path).rows}
    assert categories >= {"load", "mean", "fail"}


def test_a_collection_is_computed_in_other_processes() -> None:
    bag = dask.bag.from_sequence(range(4), npartitions=2).map(where)
    with dask.config.set(scheduler=headway.Executor(cores=2, fresh=True)):
        assert os.getpid() not in bag.compute()
