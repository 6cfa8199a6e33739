"""`headway.Executor` behaves as the documentation of `concurrent.futures` says an executor does."""

from __future__ import annotations

import asyncio
import os
import queue
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import (
    ALL_COMPLETED,
    FIRST_COMPLETED,
    FIRST_EXCEPTION,
    CancelledError,
    as_completed,
    wait,
)
from concurrent.futures import Executor as StandardExecutor
from pathlib import Path

import pytest

import headway
from tests.integrations import functions as do


@pytest.fixture(scope="module")
def executor() -> Iterator[headway.Executor]:
    with headway.Executor(cores=2) as executor:
        yield executor


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """The file that `do.wait_for` waits for: a test makes it when the call shall end, however slow the machine is."""
    return tmp_path / "gate"


@pytest.fixture
def narrow() -> Iterator[headway.Executor]:
    """One call at a time, so that the second one waits."""
    with headway.Executor(cores=1) as executor:
        yield executor


def test_it_is_an_executor_of_the_standard_library(executor: headway.Executor) -> None:
    assert isinstance(executor, StandardExecutor)


def test_submit_passes_arguments_and_returns_the_value(executor: headway.Executor) -> None:
    future = executor.submit(divmod, 17, 5)
    assert future.result(timeout=30) == (3, 2)
    assert (future.done(), future.running(), future.cancelled(), future.exception()) == (True, False, False, None)
    assert executor.submit(int, "ff", base=16).result() == 255
    assert executor.submit(lambda self, fn: (self, fn), self=1, fn=2).result() == (1, 2)


def test_calls_run_in_other_processes(executor: headway.Executor) -> None:
    assert len({os.getpid(), *executor.map(do.process, range(3))}) == 4


def test_map_keeps_the_order_of_the_arguments(executor: headway.Executor) -> None:
    assert list(executor.map(do.sleep, [0.3, 0.1, 0.0])) == [0.3, 0.1, 0.0]
    assert list(executor.map(pow, [2, 3, 4], [5, 2])) == [32, 9]  # as long as the shortest


@pytest.mark.parametrize("chunksize", [2, 5, 100])
def test_map_in_chunks(executor: headway.Executor, chunksize: int) -> None:
    assert list(executor.map(do.square, range(7), chunksize=chunksize)) == [n * n for n in range(7)]
    processes = list(executor.map(do.process, range(4), chunksize=2))
    assert processes[0] == processes[1] != processes[2] == processes[3]


def test_map_raises_when_the_value_is_reached(executor: headway.Executor) -> None:
    values = executor.map(divmod, [5, 5, 5], [2, 0, 1])
    assert next(values) == (2, 1)
    with pytest.raises(ZeroDivisionError):
        next(values)
    with pytest.raises(StopIteration):  # as the standard ones: an iterator that raised is at its end
        next(values)
    with pytest.raises(ValueError, match="chunksize"):
        executor.map(do.square, [1], chunksize=0)


def test_map_times_out(executor: headway.Executor) -> None:
    with pytest.raises(TimeoutError):
        list(executor.map(do.sleep, [0, 5], timeout=0.5))


def test_result_and_exception_time_out(executor: headway.Executor) -> None:
    future = executor.submit(do.sleep, 1)
    with pytest.raises(TimeoutError):
        future.result(timeout=0.01)
    with pytest.raises(TimeoutError):
        future.exception(timeout=0)
    assert future.result() == 1


def test_a_running_call_cannot_be_cancelled_a_waiting_one_can(
    narrow: headway.Executor, gate: Path, tmp_path: Path
) -> None:
    first = narrow.submit(do.wait_for, str(gate))
    second = narrow.submit(do.leave_mark, str(tmp_path), "second")
    third = narrow.submit(do.leave_mark, str(tmp_path), "third")
    while not first.running():
        time.sleep(0.01)
    assert not first.cancel()
    assert second.cancel()
    assert second.cancelled()
    assert second.done()
    for ask in (second.result, second.exception):
        with pytest.raises(CancelledError):
            ask()
    assert second.cancel()  # still
    gate.touch()
    assert wait([first, second, third]).not_done == set()
    assert first.result() == str(gate)
    assert sorted(os.listdir(tmp_path)) == ["gate", "third"]
    assert not first.cancel()


def test_as_completed(narrow: headway.Executor, gate: Path) -> None:
    slow = narrow.submit(do.wait_for, str(gate))
    cancelled, quick = narrow.submit(do.sleep, 9), narrow.submit(do.square, 2)
    assert cancelled.cancel()
    gate.touch()
    assert list(as_completed([slow, quick, slow, cancelled])) == [cancelled, slow, quick]
    with pytest.raises(TimeoutError):
        list(as_completed([narrow.submit(do.sleep, 2)], timeout=0.1))


def test_wait(executor: headway.Executor, gate: Path) -> None:
    quick, slow = executor.submit(do.square, 3), executor.submit(do.wait_for, str(gate))
    done, waiting = wait([quick, slow], return_when=FIRST_COMPLETED)
    assert (done, waiting) == ({quick}, {slow})
    assert wait([quick, slow], timeout=0.01).not_done == {slow}
    bad = executor.submit(do.fail, "own")
    assert wait([bad, slow], return_when=FIRST_EXCEPTION) == ({bad}, {slow})
    gate.touch()
    assert wait([quick, slow, bad], return_when=ALL_COMPLETED).not_done == set()


def test_callbacks(executor: headway.Executor) -> None:
    seen: list[object] = []
    submitted: queue.Queue[headway.TaskFuture[int]] = queue.Queue()
    future = executor.submit(do.sleep, 0.3)
    future.add_done_callback(seen.append)
    future.add_done_callback(lambda done: 1 / 0)  # an error in one is logged, and the others are called
    future.add_done_callback(lambda done: submitted.put(executor.submit(do.square, 4)))
    assert submitted.get(timeout=30).result() == 16
    assert seen == [future]
    future.add_done_callback(seen.append)  # at once: it is done
    assert seen == [future, future]


def test_exceptions_come_back_whole(executor: headway.Executor) -> None:
    error = executor.submit(do.fail, "own").exception()
    assert isinstance(error, do.OwnError)
    assert (error.args, error.code) == (("broken", 7), 7)
    assert 'raise OwnError("broken", 7)' in str(error.__cause__)
    assert "call.py" not in str(error.__cause__)
    with pytest.raises(do.OwnError) as caught:
        executor.submit(do.fail, "own").result()
    assert caught.value.code == 7


def test_the_traceback_has_the_causes(executor: headway.Executor) -> None:
    error = executor.submit(do.fail, "chained").exception()
    assert isinstance(error, ValueError)
    assert "KeyError: 'inner'" in str(error.__cause__)
    assert "direct cause" in str(error.__cause__)


def test_an_exception_that_cannot_be_pickled_says_the_same(executor: headway.Executor) -> None:
    error = executor.submit(do.fail, "stubborn").exception()
    assert isinstance(error, RuntimeError)
    assert "StubbornError: broken" in str(error)
    assert "functions.py" in str(error.__cause__)


def test_system_exit_comes_back_too(executor: headway.Executor) -> None:
    error = executor.submit(do.fail, "system-exit").exception()
    assert isinstance(error, SystemExit)
    assert error.code == 5


def test_arguments_that_cannot_be_pickled(executor: headway.Executor) -> None:
    future = executor.submit(do.square, threading.Lock())
    assert isinstance(future.exception(), TypeError)
    below = executor.submit(do.square, future)
    assert isinstance(below.exception(), headway.NeedError)


def test_pickling_runs_no_code_of_arguments(executor: headway.Executor) -> None:
    class Shy:
        @property
        def place(self) -> str:
            raise RuntimeError("not yet")

    assert executor.submit(lambda thing: type(thing).__name__, Shy()).result() == "Shy"


def test_shutdown(gate: Path) -> None:
    executor = headway.Executor(cores=1)
    futures = [executor.submit(do.wait_for, str(gate)) for _ in range(3)]
    executor.shutdown(wait=False)
    assert not all(future.done() for future in futures)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(do.square, 1)
    gate.touch()
    executor.shutdown()
    assert all(future.done() for future in futures)
    assert [future.result() for future in futures] == [str(gate)] * 3
    executor.shutdown()  # again, and nothing happens


def test_shutdown_may_cancel_calls_that_have_not_begun(gate: Path) -> None:
    executor = headway.Executor(cores=1)
    futures = [executor.submit(do.wait_for, str(gate)) for _ in range(4)]
    while not futures[0].running():
        time.sleep(0.01)
    executor.shutdown(wait=False, cancel_futures=True)
    gate.touch()
    executor.shutdown()
    assert [future.cancelled() for future in futures] == [False, True, True, True]
    assert futures[0].result() == str(gate)


def test_a_context_waits_for_its_calls_and_leaves_nothing_behind() -> None:
    with headway.Executor(cores=2) as executor:
        future = executor.submit(do.sleep, 0.3)
        place = future.place.folder
        assert place.stat().st_mode & 0o077 == 0
    assert future.done()
    assert not place.parents[3].exists()  # the executor's directory


def test_a_program_that_ends_waits_for_its_calls(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import headway, time, pathlib

            class Point:
                def __init__(self, x): self.x = x

            def work(point, folder):
                time.sleep(0.5)
                pathlib.Path(folder, "done").touch()
                return Point(point.x + 1)

            if __name__ == "__main__":
                executor = headway.Executor(cores=1)
                futures = [executor.submit(work, Point(1), "."), executor.submit(lambda: Point(5))]
                futures[0].add_done_callback(lambda done: print(type(done.result()) is Point, done.result().x))
        """)
    )
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.returncode) == ("True 2\n", 0), done.stderr
    assert (tmp_path / "done").exists()


def test_with_asyncio(executor: headway.Executor) -> None:
    async def squares() -> list[int]:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(executor, do.square, number) for number in range(3)))

    assert asyncio.run(squares()) == [0, 1, 4]


def test_functions_see_the_caller_s_directory_and_modules(executor: headway.Executor, tmp_path: Path) -> None:
    (tmp_path / "only_here.py").write_text("def answer():\n    return 42\n")
    sys.path.insert(0, str(tmp_path))
    try:
        import only_here

        assert executor.submit(only_here.answer).result() == 42
        assert executor.submit(do.where_and_path).result() == (os.getcwd(), sys.path)
    finally:
        sys.path.remove(str(tmp_path))


# --- beyond the standard ---


def test_usage_and_categories(tmp_path: Path) -> None:
    with headway.Executor(tmp_path, cores=2) as executor:
        small = executor.submit(do.square, 3)
        large = executor.using(category="large", cores=2, memory="400 MB", time="1m").submit(do.hold, 150_000_000)
        assert (small.result(), large.result()) == (9, 150_000_000)
    assert (small.task, large.task) == ("square[1]", "large[2]")
    assert large.usage is not None and large.usage.memory_bytes is not None
    assert 150e6 < large.usage.memory_bytes < 200e6
    assert large.attempts == 1
    assert [entry.name for entry in (tmp_path / ".headway" / "runs" / "1").iterdir() if entry.name == "calls"] == []


def test_malleable_calls(tmp_path: Path) -> None:
    with headway.Executor(tmp_path, cores=2) as executor:
        stated = executor.submit(os.getenv, "HEADWAY_CORES")
        chosen = executor.using(malleable=True, category="chosen").submit(os.getenv, "HEADWAY_CORES")
        assert (stated.result(), chosen.result()) == ("1", "2")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"memory": "lots"}, "not an amount"),
        ({"memory": "0 GB"}, "memory is '0 GB', which is nothing"),
        ({"priority": float("nan")}, "priority is nan, not a finite number"),
        ({"priority": "high"}, "priority is 'high'"),
        ({"retries": -1}, "retries is -1, not a whole number"),
        ({"retries": 0.5}, "retries is 0.5"),
        ({"retries": False}, "retries is False"),
    ],
)
def test_impossible_settings_are_refused(
    executor: headway.Executor, settings: dict[str, float | str], words: str
) -> None:
    with pytest.raises(headway.HeadwayError) as caught:
        executor.using(**settings)
    assert words in str(caught.value)


def test_futures_as_arguments(executor: headway.Executor) -> None:
    base = executor.submit(do.sleep, 0.2)
    total = executor.submit(do.add, *[executor.submit(do.square, base) for _ in range(3)], 1)
    assert total.result() == pytest.approx(1.12)
    late = executor.submit(do.add, total, 1)  # of a value that is there
    assert late.result() == pytest.approx(2.12)
    deep = executor.submit(lambda table: table["x"][0], {"x": [base]})  # wherever it stands
    assert deep.result() == 0.2


def test_a_value_stays_on_disk_as_long_as_a_future_needs_it(narrow: headway.Executor, gate: Path) -> None:
    first = narrow.submit(do.square, 3)
    place = first.place
    value = place.folder / f"{place.key}.value"
    assert first.result() == 9
    blocking = narrow.submit(do.wait_for, str(gate))
    second = narrow.submit(do.square, first)
    del first
    assert value.exists()
    gate.touch()
    assert second.result() == 81
    assert blocking.done()
    deadline = time.monotonic() + 20
    while value.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not value.exists()


def test_a_call_whose_argument_failed_names_the_failed_call(executor: headway.Executor) -> None:
    bad = executor.submit(do.fail, "own")
    below = executor.submit(do.square, bad)
    further = executor.submit(do.square, below)
    assert isinstance(further.exception(), headway.NeedError)
    assert bad.task in str(below.exception())
    assert isinstance(executor.submit(do.square, bad).exception(), headway.NeedError)  # also when it is known before


def test_a_call_whose_argument_was_cancelled_fails(narrow: headway.Executor, gate: Path) -> None:
    blocking = narrow.submit(do.wait_for, str(gate))
    first = narrow.submit(do.square, 1)
    second = narrow.submit(do.square, first)
    assert first.cancel()
    assert isinstance(second.exception(), headway.NeedError)
    gate.touch()
    assert blocking.result() == str(gate)


def test_a_future_of_another_executor_is_no_argument(executor: headway.Executor, narrow: headway.Executor) -> None:
    with pytest.raises(Exception, match="another executor"):
        executor.submit(do.square, narrow.submit(do.square, 1)).result()


def test_what_functions_print_appears_here(capsys: pytest.CaptureFixture[str]) -> None:
    with headway.Executor(cores=1) as executor:
        executor.submit(do.say, "hello").result()
    with headway.Executor(cores=1, echo=False) as executor:
        executor.submit(do.say, "silence").result()
    assert capsys.readouterr() == ("hello\n", "and hello\n")


def test_more_than_the_machine_has_is_refused() -> None:
    with pytest.raises(headway.HeadwayError, match="1e\\+06 cores"):
        headway.Executor(cores=1e6)
    with pytest.raises(headway.HeadwayError, match="no sizer"):
        headway.Executor(sizer="crystal-ball")


def test_one_executor_per_directory(tmp_path: Path) -> None:
    with headway.Executor(tmp_path, cores=1), pytest.raises(headway.HeadwayError, match="at work here"):
        headway.Executor(tmp_path, cores=1)
    with headway.Executor(tmp_path, cores=1) as executor:  # afterwards it may
        assert executor.submit(do.square, 2).result() == 4
