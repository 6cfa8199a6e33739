"""`isolation="shared"`: processes that make one call after the other, measured and limited call by call."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import headway
from headway.integrations.calls import CallSettings, CallSpec
from headway.integrations.shared_groups import Group, SharedCall, Worker
from headway.integrations.shared_worker import Request
from tests.integrations import functions as do


@pytest.fixture(scope="module")
def executor() -> Iterator[headway.Executor]:
    with headway.Executor(cores=2, memory="1 GB", isolation="shared", fresh=True) as executor:
        yield executor


def test_a_process_makes_many_calls(executor: headway.Executor) -> None:
    assert list(executor.map(do.square, range(200))) == [number * number for number in range(200)]
    processes = set(executor.map(do.process, range(50)))
    assert 1 <= len(processes) <= 2 and os.getpid() not in processes
    own = executor.using(isolation="process")
    assert len(set(own.map(do.process, range(3)))) == 3
    assert len(set(executor.using(isolation="shared").map(do.process, range(9)))) <= 2


def test_isolation_is_checked() -> None:
    with pytest.raises(headway.HeadwayError, match=r"'none' is not a kind of isolation.*'shared'"):
        headway.Executor(isolation="none")


def test_values_errors_and_output_come_back(executor: headway.Executor, capfd: pytest.CaptureFixture[str]) -> None:
    error = executor.submit(do.fail, "own").exception()
    assert isinstance(error, do.OwnError) and error.code == 7
    assert "in fail" in str(error.__cause__)
    assert isinstance(executor.submit(do.fail, "unpicklable").exception(), TypeError)
    assert isinstance(executor.submit(do.fail, "system-exit").exception(), SystemExit)
    assert len(executor.submit(bytes, 5_000_000).result()) == 5_000_000
    assert executor.submit(len, bytes(5_000_000)).result() == 5_000_000
    assert executor.submit(lambda number: number + 1, 1).result() == 2
    capfd.readouterr()
    for word in ("one", "two"):
        executor.submit(do.say, word).result()
        assert capfd.readouterr() == (f"{word}\n", f"and {word}\n")


def test_each_call_is_measured(executor: headway.Executor) -> None:
    calls = executor.using(memory="400 MB", category="held")
    large, small = calls.submit(do.hold, 150_000_000), calls.submit(do.square, 3)
    large.result()
    again = calls.submit(do.square, 3)
    for future in (small, again):
        assert future.result() == 9
    assert large.usage is not None and again.usage is not None
    assert 150e6 < (large.usage.memory_bytes or 0) < 200e6
    assert (again.usage.memory_bytes or 0) < 60e6  # what the call before it used is forgotten
    assert (large.usage.wall_s or 0) >= 0.3
    assert large.usage.method == "shared" and large.usage.quality["wall_s"] == "exact"


def test_a_call_that_exceeds_its_memory_is_made_again_with_more(executor: headway.Executor) -> None:
    calls = executor.using(memory="50 MB", cores=0.1, category="growing")  # its share of the machine is 50 MB
    before = calls.submit(do.process).result()
    future = calls.submit(do.hold, 150_000_000)
    assert (future.result(), future.attempts) == (150_000_000, 3)  # 50, 100, 200 MB
    assert calls.submit(do.process).result() != before


def test_a_call_larger_than_the_machine_says_what_it_needs(executor: headway.Executor) -> None:
    error = executor.using(memory="900 MB", category="hog").submit(do.hold, 1_200_000_000).exception()
    assert isinstance(error, headway.TaskError) and "1 GB" in str(error)


def test_a_call_may_take_longer_than_expected(executor: headway.Executor) -> None:
    future = executor.using(time="0.2 s", category="slow").submit(do.sleep, 0.6)
    assert (future.result(), future.attempts) == (0.6, 1)


@pytest.mark.parametrize("isolation", ["shared", "process"])
def test_a_call_that_exceeds_its_limit_fails(executor: headway.Executor, isolation: str) -> None:
    calls = executor.using(isolation=isolation, category=f"endless.{isolation}")
    endless, quick = calls.using(limit={"time": "0.5 s"}).submit(do.sleep, 60), calls.submit(do.square, 3)
    error = endless.exception()
    assert isinstance(error, headway.TaskError) and "it used up the 0.5 s time" in str(error)
    assert (quick.result(), endless.attempts) == (9, 1)


def test_limits_are_checked(executor: headway.Executor) -> None:
    with pytest.raises(headway.HeadwayError, match="gpus cannot be limited"):
        executor.using(limit={"gpus": 1})


@pytest.mark.parametrize(
    ("kind", "words"),
    [("exit", "exited with code 3"), ("exit-as-if-well", "ended without a value"), ("killed", "signal 9")],
)
def test_a_call_whose_process_dies_fails_alone(executor: headway.Executor, kind: str, words: str) -> None:
    calls = executor.using(category="mixed")
    others = [calls.submit(do.square, number) for number in range(20)]
    error = calls.submit(do.fail, kind).exception()
    others += [calls.submit(do.square, number) for number in range(20)]
    assert isinstance(error, headway.TaskError) and words in str(error)
    assert [future.result() for future in others] == [number * number for number in range(20)] * 2


def test_retries(executor: headway.Executor, tmp_path: Path) -> None:
    future = executor.using(retries=2).submit(do.tries, str(tmp_path))
    assert (future.result(), future.attempts) == (3, 3)
    (tmp_path / "tries").unlink()
    future = executor.using(retries=2).submit(do.tries_then_dies, str(tmp_path))
    assert (future.result(), future.attempts) == (3, 3)


def test_a_process_whose_memory_does_not_come_back_is_replaced(executor: headway.Executor) -> None:
    calls = executor.using(category="keeper", memory="500 MB", cores=2)
    first = calls.submit(do.process).result()
    assert calls.submit(do.keep, 10_000_000).result() == first  # that is little
    assert calls.submit(do.keep, 200_000_000).result() == first
    assert calls.submit(do.process).result() != first


def test_a_process_that_a_call_left_behind_ends(executor: headway.Executor) -> None:
    pid = executor.submit(do.fork_and_leave).result()
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{pid}")


def test_calls_of_both_kinds_need_each_other(executor: headway.Executor) -> None:
    own = executor.using(isolation="process")
    first = executor.submit(do.square, 3)
    second = own.submit(do.add, first, 1)
    third = executor.submit(do.add, first, second)
    late = executor.submit(do.add, [first.result(), third][0], third)
    assert (second.result(), third.result(), late.result()) == (10, 19, 28)
    assert executor.submit(do.add, first, first).result() == 18  # its value was sent long ago
    failed = own.submit(do.square, executor.submit(do.fail, "own"))
    assert isinstance(failed.exception(), headway.NeedError)


def test_files_go_with_their_futures(executor: headway.Executor) -> None:
    first = executor.submit(bytes, 1_000_000)
    second = executor.submit(len, first)
    sent = executor.submit(do.square, 3)
    third = executor.submit(do.add, sent, second)
    folder = first.place.folder
    assert third.result() == 1_000_009
    keys = [future.place.key for future in (first, second, sent, third)]
    del first, second, sent, third
    deadline = time.monotonic() + 20
    while any(path.name.split(".")[0] in keys for path in folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not [path.name for path in folder.iterdir() if path.name.split(".")[0] in keys]


def test_functions_submit_calls(executor: headway.Executor) -> None:
    assert executor.submit(do.chain).result(timeout=60) == 90
    assert [future.result(timeout=60) for future in [executor.submit(do.sum_of_squares, 8) for _ in range(4)]] == [
        140
    ] * 4
    assert executor.submit(do.nested_failure).result(timeout=60) == ("OwnError('broken', 7)", "NeedError")


def test_nested_calls_may_be_deeper_than_there_are_cores() -> None:
    with headway.Executor(cores=1, isolation="shared", fresh=True) as executor:
        assert executor.submit(do.depth, 3).result(timeout=120) == 3


def test_many_categories_on_one_core_take_turns() -> None:
    with headway.Executor(cores=1, isolation="shared", fresh=True) as executor:
        endless = [executor.submit(do.sleep, 0.05) for _ in range(60)]
        other = executor.submit(do.square, 4)
        own = executor.using(isolation="process").submit(do.square, 5)
        assert (other.result(timeout=60), own.result(timeout=60)) == (16, 25)
        assert not all(future.done() for future in endless)
        for future in endless:
            future.cancel()


def test_cancelling_and_closing(tmp_path: Path) -> None:
    with headway.Executor(cores=1, isolation="shared", fresh=True) as executor:
        first = executor.submit(do.sleep, 0.7)
        second = executor.submit(do.leave_mark, str(tmp_path), "second")
        third = executor.submit(do.leave_mark, str(tmp_path), "third")
        while not first.running():
            time.sleep(0.01)
        assert (first.cancel(), second.cancel()) == (False, True)
    assert third.done() and os.listdir(tmp_path) == ["third"]
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(do.square, 1)


def test_nothing_is_lost_or_made_twice_while_processes_die(tmp_path: Path) -> None:
    """Idle and busy workers are killed at random; every call is made once, or fails alone."""
    draw = random.Random(1)
    with headway.Executor(cores=2, isolation="shared", fresh=True) as executor:
        calls = executor.using(category="any")
        futures = {number: calls.submit(do.leave_mark, str(tmp_path), str(number)) for number in range(150)}
        for _ in range(4):
            victim = calls.submit(do.process).result()
            time.sleep(draw.random() / 10)
            with pytest.raises(ProcessLookupError):  # until it is gone
                while True:
                    os.kill(victim, signal.SIGKILL)
                    time.sleep(0.01)
        failed = [number for number, future in futures.items() if future.exception() is not None]
        assert len(failed) <= 4
        assert all(isinstance(futures[number].exception(), headway.TaskError) for number in failed)
    assert {str(number) for number in range(150) if number not in failed} <= set(os.listdir(tmp_path))


@pytest.mark.parametrize(
    ("calls", "seed"), [(60, 1), *(pytest.param(1000, seed, marks=pytest.mark.chaos) for seed in range(2, 8))]
)
def test_any_mixture_of_calls_ends_as_it_should(calls: int, seed: int) -> None:
    draw = random.Random(seed)
    told: list[object] = []
    expected: list[tuple[headway.TaskFuture[object], int | None]] = []
    with headway.Executor(cores=2, isolation="shared", fresh=True) as executor:
        for number in range(calls):
            kind = draw.random()
            value: int | None = number * number
            last, last_value = expected[-1] if expected else (None, None)
            if kind < 0.06:
                future, value = executor.submit(do.die_somehow, number), None
            elif kind < 0.1:
                future = executor.submit(do.square_nested, number)
            elif kind < 0.3 and last_value is not None:
                future, value = executor.submit(do.add, last, number), last_value + number
            elif kind < 0.32:
                future = executor.using(isolation="process").submit(do.square, number)
            else:
                future = executor.submit(do.square, number)
            future.add_done_callback(told.append)
            expected.append((future, value))
            if kind > 0.95 and future.cancel():
                expected[-1] = (future, None)
    assert len(told) == calls
    for future, value in expected:
        assert future.cancelled() or (future.result() == value if value is not None else future.exception())


SCRIPT = """
    import pathlib, sys, time
    import headway

    def work(folder, number):
        pathlib.Path(folder, f"began-{number}").touch()
        time.sleep(60)

    if __name__ == "__main__":
        with headway.Executor(cores=1, isolation="shared") as executor:
            futures = [executor.submit(work, sys.argv[1], number) for number in range(3)]
            futures[0].result()
"""


def test_ctrl_c_stops_everything_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "marks").mkdir()
    process = subprocess.Popen(
        [sys.executable, "script.py", "marks"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    deadline = time.monotonic() + 30
    while not (tmp_path / "marks" / "began-0").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=30)[1]
    assert os.listdir(tmp_path / "marks") == ["began-0"]
    assert list(tmp_path.glob("headway-*")) == []


def test_a_kept_run_shows_the_workers(tmp_path: Path) -> None:
    with headway.Executor(tmp_path, cores=1, isolation="shared", fresh=True) as executor:
        assert list(executor.map(do.square, range(5))) == [0, 1, 4, 9, 16]
        assert executor.submit(do.square, 2).result() == 4
    status = headway.status(directory=tmp_path)
    assert (status.state, status.tasks.succeeded) == ("succeeded", 1)
    assert [row.name for row in headway.usage(directory=tmp_path).rows] == ["square.worker"]
    assert not (tmp_path / ".headway" / "runs" / "1" / "calls").exists()


def test_a_call_that_waits_for_the_next_attempt_of_its_worker_wants_room() -> None:
    spec = CallSpec("1", CallSettings("grow"))
    group = Group(spec, most=1)
    worker = Worker("grow.worker[1]", group)
    group.workers.append(worker)
    assert not group.is_starving()
    worker.call = SharedCall(spec, Request("1", None, is_sent=False))  # its first attempt ran out of memory
    assert group.is_starving()
    worker.connection = socket.socket()
    assert not group.is_starving()
    worker.connection.close()
