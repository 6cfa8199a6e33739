"""Functions to be called in processes of their own: importable, and quick to import (so most imports are inside)."""

from __future__ import annotations

import os
import sys
import time

import headway


def square(number: int) -> int:
    return number * number


def add(*numbers: int) -> int:
    return sum(numbers)


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def wait_for(file: str) -> str:
    """Returns once the file exists: a call that lasts exactly as long as a test wants."""
    while not os.path.exists(file):
        time.sleep(0.01)
    return file


def process(_: object = None) -> int:
    return os.getpid()


def where_and_path() -> tuple[str, list[str]]:
    return os.getcwd(), sys.path


def say(text: str) -> None:
    print(text)
    print(f"and {text}", file=sys.stderr)


def tries(folder: str) -> int:
    """Fails at first; returns at which try it succeeded."""
    with open(f"{folder}/tries", "a+") as done:
        done.write("x")
        count = done.tell()
    if count < 3:
        raise OSError(f"try {count}")
    return count


def hold(size_bytes: int) -> int:
    """Holds memory, page by page."""
    held = bytearray(size_bytes)
    for page in range(0, size_bytes, 4096):
        held[page] = 1
    time.sleep(0.3)
    return len(held)


class OwnError(Exception):
    """With an attribute, and arguments that survive pickling."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(what, code)
        self.code = code


class StubbornError(Exception):
    """Cannot be unpickled: its constructor wants two arguments, and passes on one."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(what)
        self.code = code


def fail(kind: str) -> object:
    match kind:
        case "own":
            raise OwnError("broken", 7)
        case "stubborn":
            raise StubbornError("broken", 7)
        case "chained":
            try:
                {}["inner"]
            except KeyError as error:
                raise ValueError("outer") from error
        case "system-exit":
            sys.exit(5)
        case "exit":
            os._exit(3)
        case "exit-as-if-well":
            os._exit(0)
        case "killed":
            os.kill(os.getpid(), 9)
        case "unpicklable":
            return sys._getframe()
    return None


def fork_and_wait() -> int:
    """A child of a child that holds 60 MB for a while; returns its exit code."""
    import subprocess

    code = "import time; held = bytearray(60_000_000); held[::4096] = b'x' * len(held[::4096]); time.sleep(0.4)"
    return subprocess.run([sys.executable, "-c", code], check=True).returncode


def fork_and_leave() -> int:
    """Leaves a process behind; returns its id."""
    import subprocess

    return subprocess.Popen(["sleep", "600"], start_new_session=True).pid


# --- functions that submit calls themselves ---


def sum_of_squares(count: int) -> int:
    return sum(headway.current_executor().map(square, range(count)))


def squares_as_completed(count: int) -> list[int]:
    from concurrent.futures import as_completed

    executor = headway.current_executor()
    return sorted(future.result() for future in as_completed([executor.submit(square, n) for n in range(count)]))


def squares_waited_for(count: int) -> int:
    from concurrent.futures import FIRST_COMPLETED, wait

    executor = headway.current_executor()
    waiting = {executor.submit(square, number) for number in range(count)}
    total = 0
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        total += sum(future.result() for future in done)
    return total


def depth(levels: int) -> int:
    """A call in a call in a call …"""
    if not levels:
        return 0
    return 1 + headway.current_executor().submit(depth, levels - 1).result()


def scatter(count: int, folder: str) -> None:
    """Submits calls and does not wait for them."""
    executor = headway.current_executor()
    for number in range(count):
        executor.submit(leave_mark, folder, f"{os.environ['HEADWAY_TASK']}-{number}")


def leave_mark(folder: str, name: str) -> None:
    os.mknod(f"{folder}/{name}")


def chain() -> int:
    """Calls that need each other, submitted at once."""
    executor = headway.current_executor()
    first = executor.submit(square, 3)
    return executor.submit(add, first, executor.submit(square, first)).result()


def nested_failure() -> tuple[str, str]:
    executor = headway.current_executor()
    error = executor.submit(fail, "own").exception()
    need = executor.submit(square, executor.submit(fail, "exit"))
    return repr(error), type(need.exception()).__name__


def cancel_nested() -> tuple[bool, bool]:
    executor = headway.current_executor()
    later = executor.submit(square, executor.submit(sleep, 2))
    cancelled = later.cancel()
    from concurrent.futures import wait

    return cancelled, wait([later], timeout=10).done == {later}


def stop_listening(count: int, folder: str) -> int:
    """Submit calls, then stop until SIGCONT; return the number of calls.

    Their names are long: the messages about a hundred such calls fill the buffer of a socket.
    """
    executor = headway.current_executor().using(category="c" * 150)
    futures = [executor.submit(square, number) for number in range(count)]
    with open(f"{folder}/stopped.new", "w") as mark:
        mark.write(str(os.getpid()))
    os.rename(f"{folder}/stopped.new", f"{folder}/stopped")
    os.kill(os.getpid(), 19)
    return len([future.result() for future in futures])


# --- functions for processes that make several calls ---

_kept: list[bytearray] = []


def keep(size_bytes: int) -> int:
    """Holds memory also after the call; returns its process."""
    _kept.append(bytearray(b"x") * size_bytes)
    return os.getpid()


def tries_then_dies(folder: str) -> int:
    """Kills its process at first; returns at which try it succeeded."""
    with open(f"{folder}/tries", "a+") as done:
        done.write("x")
        count = done.tell()
    if count < 3:
        os.kill(os.getpid(), 9)
    return count


def die_somehow(number: int) -> None:
    """Exits, raises or crashes."""
    if number % 3 == 0:
        os._exit(1)
    if number % 3 == 1:
        raise ValueError(number)
    os.kill(os.getpid(), 11)


def square_nested(number: int) -> int:
    return headway.current_executor().submit(square, number).result()
