"""Blocks of runs on all cores: each process reports a run as soon as it has ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait

from headway.studies.runs import Row, Run, rows_of

Block = Sequence[Run]  # of one queue, in the order of their starts


def cores() -> int:
    """How many processes to use: one for each core that this process may use."""
    return len(os.sched_getaffinity(0))


def carry_out(blocks: Sequence[Block], processes: int) -> Generator[Row, None, None]:
    """Yield the rows of all blocks as they come. Closing the generator ends the processes."""
    if processes == 1 or len(blocks) == 1:
        for block in blocks:
            yield from rows_of(block)
        return
    # Spawned, not forked: a forked copy of a process with threads might hang.
    context = get_context("spawn")
    left = iter(blocks)
    workers = {}
    try:
        for _ in range(min(processes, len(blocks))):
            ours, theirs = context.Pipe()
            worker = context.Process(target=_work, args=(theirs,), daemon=True)
            worker.start()
            theirs.close()
            workers[ours] = worker
            ours.send(next(left))
        while workers:
            heard = wait(list(workers))
            for connection in [each for each in workers if each in heard]:
                said = _heard(connection)
                if said is not None:
                    yield said
                    continue
                more: Block | None = next(left, None)
                connection.send(more)
                if more is None:
                    workers.pop(connection).join()
    finally:
        for worker in workers.values():
            worker.terminate()
        for worker in workers.values():
            worker.join()


def _heard(connection: Connection) -> Row | None:
    """The next row from a process; None if its block has ended. A text says that the block failed."""
    try:
        said: Row | str | None = connection.recv()
    except EOFError:
        raise RuntimeError("a process of the study died; what was finished is kept") from None
    if isinstance(said, str):
        raise RuntimeError(said)  # noqa: TRY004 - the process found the error
    return said


def _work(connection: Connection) -> None:
    """Main function of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # workers ignore Ctrl-C; the parent handles it and terminates them
    receive: Callable[[], Block | None] = connection.recv
    with suppress(EOFError, ConnectionError):  # the parent has gone
        while (block := receive()) is not None:
            connection.send(_carried_out(block, connection))


def _carried_out(block: Block, connection: Connection) -> str | None:
    """Run a block and send its rows; return what went wrong."""
    try:
        for row in rows_of(block):
            connection.send(row)
    except ConnectionError:
        raise
    except Exception as error:  # the parent reports it
        return f"{type(error).__name__}: {error} (in {block[0].workflow}, {block[0].queue.name})"
    return None
