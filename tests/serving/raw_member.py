"""A program that talks to a pool in its own words, as a member who means no good might.

`python -m tests.serving.raw_member POOL WAY DIRECTORY [RUN]` prints what the pool answers last.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers import protocol
from headway.workers.pool_place import PoolPlace

_RUN = "0123456789ab"
_ANSWER_WITHIN_S = 60.0


def _join(directory: Path, run: str) -> protocol.Join:
    return protocol.Join(run, "raw", str(directory), "1", str(directory / ".headway/runs/1/jobs/home.json"), "root")


def _start(directory: Path, number: int, cores: float = 1.0) -> protocol.Start:
    task, room = f"t{number}", Resources(cores=cores, memory_bytes=1_000_000)
    return protocol.Start(Task(task, "c", "true"), 1, str(directory / f".headway/runs/1/tasks/{task}/1"), room)


def _messages(way: str, directory: Path, run: str) -> Iterator[protocol.Message]:
    match way:
        case "withdraw":
            yield protocol.Withdraw(run)
            return
        case "home":
            yield protocol.Join(run, "raw", str(directory), "1", "/etc/passwd")
            return
        case "number":
            yield protocol.Join(
                run, "raw", str(directory), "../1", str(directory / ".headway/runs/../1/jobs/home.json")
            )
            return
    yield _join(directory, run)
    match way:
        case "many":
            yield from (_start(directory, number) for number in range(100_000))
        case "folder":
            yield protocol.Start(Task("t", "c", "true"), 1, "/tmp/elsewhere", Resources(cores=1))
        case "negative":
            yield _start(directory, 0, cores=-5.0)


def main() -> None:
    pool, way, directory = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    run = sys.argv[4] if len(sys.argv) > 4 else _RUN
    for name in ("jobs", "tasks"):
        (directory / ".headway/runs/1" / name).mkdir(parents=True, exist_ok=True)
    for path in (directory / ".headway", *(directory / ".headway").rglob("*")):
        path.chmod(0o2770) if path.is_dir() and path.owner() == directory.owner() else None
    with PoolPlace.of(pool).connect() as connection:
        connection.settimeout(_ANSWER_WITHIN_S)
        try:
            for message in _messages(way, directory, run):
                connection.sendall(protocol.encode(message))
        except (TimeoutError, BrokenPipeError, ConnectionResetError):
            pass  # it has said why
        for line in connection.makefile("rb"):
            answer = protocol.decode_from_supervisor(line)
            if isinstance(answer, protocol.Refused):
                print(answer.what)
                return


if __name__ == "__main__":
    main()
