"""A program that talks to a pool in its own words, as a member who means no good might.

`python -m tests.serving.raw_member POOL WAY DIRECTORY [MORE]` prints what the pool answers last. MORE is the uid of a
run, or the directory of another member whose first run is to be taken over.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers import protocol
from headway.workers.home import Home
from headway.workers.pool_place import PoolPlace

_RUN = secrets.token_hex(6)
_ANSWER_WITHIN_S = 120.0
_TASKS = ".headway/runs/1/tasks"


class _Wait:
    """Read an answer before going on."""


def _join(directory: Path, run: str = _RUN) -> protocol.Join:
    return protocol.Join(run, "raw", str(directory), "1", str(directory / ".headway/runs/1/jobs/home.json"), "root")


def _start(directory: Path, number: int, cores: float = 1.0) -> protocol.Start:
    task, room = f"t{number}", Resources(cores=cores, memory_bytes=1_000_000)
    return protocol.Start(Task(task, "c", "true"), 1, str(directory / _TASKS / task / "1"), room)


def _start_theirs(directory: Path) -> protocol.Start:
    """Start another member's task `t` with a command of one's own."""
    room = Resources(cores=0.1, memory_bytes=1_000_000, disk_bytes=1_000_000)
    return protocol.Start(Task("t", "t", "echo bens > t", outputs=("t",)), 1, str(directory / _TASKS / "t" / "1"), room)


def _messages(way: str, directory: Path, more: str) -> Iterator[protocol.Message | _Wait]:
    run = more or _RUN
    match way:
        case "withdraw":
            yield protocol.Withdraw(run)
        case "home":
            yield protocol.Join(run, "raw", str(directory), "1", "/etc/passwd")
        case "number":
            home = directory / ".headway/runs/../1/jobs/home.json"
            yield protocol.Join(run, "raw", str(directory), "../1", str(home))
        case "join":
            yield _join(directory, run)
        case "many":
            yield _join(directory)
            yield from (_start(directory, number) for number in range(100_000))
        case "folder":
            yield _join(directory)
            yield protocol.Start(Task("t", "c", "true"), 1, "/tmp/elsewhere", Resources(cores=1))
        case "negative":
            yield _join(directory)
            yield _start(directory, 0, cores=-5.0)
        case "stay":
            yield protocol.Ask()
            yield _Wait()
            print("connected", flush=True)
        case _:
            yield from _takes_over(way, directory, Path(more))


def _takes_over(way: str, own: Path, theirs: Path) -> Iterator[protocol.Message | _Wait]:
    """Hand over a task of another member's run that waits: by its own path, or by links in a directory of one's own."""
    Home.write(own / ".headway/runs/1/jobs/home.json", [], for_others=True)
    match way:
        case "theirs":
            own = theirs
        case "linked-run":
            (own / ".headway/runs/1").rename(own / ".headway/runs/aside")
            (own / ".headway/runs/1").symlink_to(theirs / ".headway/runs/1")
        case "linked-task":
            (own / _TASKS / "t").symlink_to(theirs / _TASKS / "t")
        case "linked-attempt":
            (own / _TASKS / "t").mkdir()
            (own / _TASKS / "t" / "1").symlink_to(theirs / _TASKS / "t" / "1")
    yield _join(own)
    yield _Wait()
    if way == "linked-later":
        own.rename(own.with_name(f"{own.name}-aside"))
        own.symlink_to(theirs)
    yield _start_theirs(own)


def _make_run(directory: Path) -> None:
    for name in ("jobs", "tasks"):
        (directory / ".headway/runs/1" / name).mkdir(parents=True, exist_ok=True)
    for path in (directory / ".headway", *(directory / ".headway").rglob("*")):
        path.chmod(0o2770) if path.is_dir() and path.owner() == directory.owner() else None


def main() -> None:
    pool, way, directory, more = *sys.argv[1:4], "".join(sys.argv[4:])
    _make_run(Path(directory))
    with PoolPlace.of(pool).connect() as connection:
        connection.settimeout(_ANSWER_WITHIN_S)
        answers = connection.makefile("rb")
        try:
            for message in _messages(way, Path(directory), more):
                if not isinstance(message, _Wait):
                    connection.sendall(protocol.encode(message))
                elif _is_last(next(answers, b"")):
                    return
        except (TimeoutError, BrokenPipeError, ConnectionResetError):
            pass  # it has said why
        if any(map(_is_last, answers)):
            return
    print("the pool hung up")


def _is_last(line: bytes) -> bool:
    """Print why the pool refuses, or how the task of another member ended; False if the answer says neither."""
    answer = protocol.decode_from_supervisor(line) if line else None
    if isinstance(answer, protocol.Refused):
        print(answer.what)
        return True
    if isinstance(answer, protocol.Ended) and answer.outcome.task == "t":
        print("it ran:", answer.outcome)
        return True
    return False


if __name__ == "__main__":
    main()
