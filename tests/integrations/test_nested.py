"""Functions that submit calls themselves: dynamic workflows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import headway
from tests.integrations import functions as do


@pytest.fixture(scope="module")
def executor() -> Iterator[headway.Executor]:
    with headway.Executor(cores=2) as executor:
        yield executor


@pytest.mark.parametrize(
    ("function", "value"),
    [(do.sum_of_squares, 140), (do.squares_waited_for, 140), (do.squares_as_completed, [n * n for n in range(8)])],
)
def test_a_function_may_wait_for_calls_of_its_own(executor: headway.Executor, function: object, value: object) -> None:
    """Four of them on two cores: they lend their places while they wait, or nothing would ever end."""
    futures = [executor.submit(function, 8) for _ in range(4)]
    assert [future.result(timeout=120) for future in futures] == [value] * 4


@pytest.mark.parametrize("sizer", ["max-seen", "whole-machine"])
def test_nested_calls_may_be_deeper_than_there_are_cores(sizer: str) -> None:
    with headway.Executor(cores=1, sizer=sizer) as executor:
        assert executor.submit(do.depth, 5).result(timeout=120) == 5


def test_calls_within_a_call_may_need_each_other(executor: headway.Executor) -> None:
    assert executor.submit(do.chain).result(timeout=60) == 90


def test_failures_of_nested_calls(executor: headway.Executor) -> None:
    assert executor.submit(do.nested_failure).result(timeout=60) == ("OwnError('broken', 7)", "NeedError")


def test_calls_within_can_be_cancelled(executor: headway.Executor) -> None:
    assert executor.submit(do.cancel_nested).result(timeout=60) == (True, True)


def test_there_is_no_current_executor_outside_of_a_call() -> None:
    with pytest.raises(RuntimeError, match="for functions that"):
        headway.current_executor()


@pytest.mark.parametrize("calls", [100, pytest.param(5000, marks=pytest.mark.chaos)])
def test_a_fan_out_of_submissions_by_running_calls(calls: int, tmp_path: Path) -> None:
    """The executor waits for calls that running calls submitted, also when no program waits for their results."""
    with headway.Executor(cores=2) as executor:
        callers = [executor.submit(do.scatter, calls // 10, str(tmp_path)) for _ in range(10)]
    assert all(caller.exception() is None for caller in callers)
    marks = os.listdir(tmp_path)
    assert len(marks) == calls
    assert {mark.rpartition("-")[0] for mark in marks} == {caller.task for caller in callers}
