"""Calls that take too much, fork, die, or return what cannot be returned."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import headway
from tests.integrations import functions as do


@pytest.fixture(scope="module")
def executor() -> Iterator[headway.Executor]:
    with headway.Executor(cores=2, memory="1 GB") as executor:
        yield executor


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_too_much_memory_is_tried_again_with_more(executor: headway.Executor) -> None:
    future = executor.using(memory="50 MB", cores=0.1).submit(do.hold, 150_000_000)
    assert future.result() == 150_000_000
    assert future.attempts == 3  # 50, 100, 200 MB
    assert future.usage is not None and future.usage.memory_bytes is not None
    assert future.usage.memory_bytes > 150e6


def test_a_call_larger_than_the_machine_says_what_it_needs(executor: headway.Executor) -> None:
    error = executor.using(memory="900 MB", category="hog").submit(do.hold, 1_200_000_000).exception()
    assert isinstance(error, headway.TaskError)
    assert "memory" in str(error) and "1 GB" in str(error)
    assert error.outcome is not None and error.outcome.usage.memory_bytes is not None
    assert executor.submit(do.square, 3).result() == 9  # and the others go on


def test_a_call_may_take_longer_than_expected(executor: headway.Executor) -> None:
    future = executor.using(time="0.6 s", category="slow").submit(do.sleep, 1.3)
    assert (future.result(), future.attempts) == (1.3, 1)


def test_exceptions_are_tried_again_as_often_as_wanted(executor: headway.Executor, tmp_path: Path) -> None:
    assert isinstance(executor.submit(do.tries, str(tmp_path)).exception(), OSError)
    (tmp_path / "tries").unlink()
    future = executor.using(retries=2).submit(do.tries, str(tmp_path))
    assert (future.result(), future.attempts) == (3, 3)


def test_memory_of_forks_counts(executor: headway.Executor) -> None:
    future = executor.submit(do.fork_and_wait)
    assert future.result() == 0
    assert future.usage is not None and future.usage.memory_bytes is not None
    assert future.usage.memory_bytes > 60e6


def test_no_process_of_a_call_outlives_it(executor: headway.Executor) -> None:
    pid = executor.submit(do.fork_and_leave).result()
    deadline = time.monotonic() + 20
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(pid)


@pytest.mark.parametrize(
    ("kind", "words"),
    [("exit", "exited with code 3"), ("exit-as-if-well", "exited with code 1"), ("killed", "signal 9")],
)
def test_a_call_whose_process_dies_fails_alone(executor: headway.Executor, kind: str, words: str) -> None:
    beside = executor.submit(do.sleep, 0.3)
    error = executor.submit(do.fail, kind).exception()
    assert isinstance(error, headway.TaskError)
    assert words in str(error)
    assert beside.result() == 0.3


def test_an_exception_of_an_earlier_attempt_is_not_reported_for_a_later_one(
    executor: headway.Executor, tmp_path: Path
) -> None:
    def raise_then_die() -> None:
        if not (tmp_path / "raised").exists():
            (tmp_path / "raised").touch()
            raise ValueError("first")
        os._exit(4)

    error = executor.using(retries=1).submit(raise_then_die).exception()
    assert isinstance(error, headway.TaskError)
    assert "code 4" in str(error)


def test_a_value_that_cannot_be_pickled(executor: headway.Executor) -> None:
    error = executor.submit(do.fail, "unpicklable").exception()
    assert isinstance(error, TypeError)
    assert "frame" in str(error)


def test_a_large_value(executor: headway.Executor) -> None:
    value = executor.submit(bytes, 50_000_000).result()
    assert value == bytes(50_000_000)


SCRIPT = """
    import pathlib, sys, time
    import headway

    def work(folder, number):
        pathlib.Path(folder, f"began-{number}").touch()
        time.sleep(60)

    if __name__ == "__main__":
        with headway.Executor(cores=1) as executor:
            print(executor.submit(pow, 2, 3).result(), flush=True)
            futures = [executor.submit(work, sys.argv[1], number) for number in range(3)]
            futures[0].result()
"""


@pytest.fixture
def script(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "marks").mkdir()
    process = subprocess.Popen(
        [sys.executable, "script.py", "marks"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    deadline = time.monotonic() + 30
    while not (tmp_path / "marks" / "began-0").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    yield process
    process.kill()
    process.wait()


def test_ctrl_c_stops_everything_and_leaves_nothing(script: subprocess.Popen[str], tmp_path: Path) -> None:
    script.send_signal(signal.SIGINT)
    _, errors = script.communicate(timeout=300)
    assert script.returncode == -signal.SIGINT or "KeyboardInterrupt" in errors
    assert [path.name for path in (tmp_path / "marks").iterdir()] == ["began-0"]
    assert list(tmp_path.glob("headway-*")) == []


def test_a_killed_program_leaves_no_process_behind(script: subprocess.Popen[str], tmp_path: Path) -> None:
    (lock,) = tmp_path.glob("headway-*/.headway/runs/*/jobs/*/lock")
    supervisor = int(lock.read_text())
    assert is_alive(supervisor)
    script.kill()
    script.wait()
    os.kill(supervisor, signal.SIGTERM)  # it would let the running call end first
    deadline = time.monotonic() + 30
    while is_alive(supervisor) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(supervisor)


# --- what must not happen ---


def test_calls_on_a_failed_call_fail_and_others_go_on(executor: headway.Executor) -> None:
    unrelated = executor.submit(do.sleep, 0.5)
    for _ in range(20):
        failed = executor.submit(do.fail, "own")
        assert failed.exception() is not None
        below = executor.submit(do.square, failed)
        further = executor.submit(do.square, below)
        executor.submit(do.square, failed).cancel()
        assert isinstance(further.exception(timeout=30), headway.NeedError)
    assert unrelated.result(timeout=30) == 0.5


def test_a_run_that_cannot_begin_raises_at_once(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d" * 100] * 6)
    deep.mkdir(parents=True)
    with pytest.raises(headway.HeadwayError, match="journal"):
        headway.Executor(deep, cores=1)
    with pytest.raises(headway.HeadwayError, match="no such directory"):
        headway.Executor(tmp_path / "nowhere")


class SlowToPickle:
    def __reduce__(self) -> tuple[type, tuple[int]]:
        time.sleep(1.0)
        return int, (5,)


def test_a_call_that_is_being_submitted_while_the_executor_closes_is_made() -> None:
    executor = headway.Executor(cores=1)
    futures: list[headway.TaskFuture[int]] = []
    thread = threading.Thread(target=lambda: futures.append(executor.submit(abs, SlowToPickle())))
    thread.start()
    time.sleep(0.3)
    executor.shutdown()
    thread.join()
    assert futures[0].result(timeout=30) == 5


def test_callbacks_may_misbehave(executor: headway.Executor, caplog: pytest.LogCaptureFixture) -> None:
    def leave(_: object) -> None:
        raise SystemExit(3)

    future = executor.submit(do.square, 2)
    future.add_done_callback(leave)
    assert executor.submit(do.square, 3).result(timeout=30) == 9
    inner = headway.Executor(cores=1)
    inner.submit(do.square, 2).add_done_callback(lambda _: inner.shutdown())
    inner.shutdown()


def test_without_a_standard_output(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import headway\n"
        "if __name__ == '__main__':\n"
        "    with headway.Executor(cores=1) as executor:\n"
        "        value = executor.submit(print, 'unheard').result(timeout=30)\n"
        "    open('done', 'w').close()\n"
    )
    subprocess.run(f"{sys.executable} script.py >&-", shell=True, cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "done").exists()


def test_a_function_that_does_not_read_messages_delays_no_other_call(
    executor: headway.Executor, tmp_path: Path
) -> None:
    deaf = executor.using(cores=0.1).submit(do.stop_listening, 200, str(tmp_path))
    while not (tmp_path / "stopped").exists():
        time.sleep(0.05)
    try:
        assert executor.submit(do.square, 4).result(timeout=300) == 16
    finally:  # or the executor would wait for it for ever
        os.kill(int((tmp_path / "stopped").read_text()), signal.SIGCONT)
    assert deaf.result(timeout=300) == 200


def test_headway_cancel_stops_the_calls_and_not_the_program(tmp_path: Path) -> None:
    with headway.Executor(tmp_path, cores=1) as executor:
        future = executor.submit(do.sleep, 60)
        while not future.running():
            time.sleep(0.02)
        done = subprocess.run(
            [sys.executable, "-m", "headway", "cancel", "-C", str(tmp_path)],
            capture_output=True,
            timeout=60,
            check=True,
        )
        assert b"stop" in done.stdout
        assert isinstance(future.exception(timeout=60), headway.TaskError)
