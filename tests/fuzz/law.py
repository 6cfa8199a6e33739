"""What holds for every reader and every text: our own errors only, little time and memory, nothing touched outside."""

from __future__ import annotations

import math
import os
import signal
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from headway.kernels import compiled
from headway.model.errors import HeadwayError
from tests.fuzz import watching
from tests.fuzz.readers import Reader

MOST_CPU_S = 5.0  # of processor time, for a text of at most 200 kB; most take a millisecond
MOST_MORE_KB = 400_000  # by which the memory of the process may grow
LONGEST_SENTENCE = 2000


class Fault(NamedTuple):
    """A text for which the law does not hold."""

    what: str  # one line, the same for faults with the same cause
    data: bytes
    story: str = ""


class TooSlow(BaseException):
    """What is read takes longer than any text may."""


def breaches(reader: Reader, texts: Sequence[bytes]) -> list[Fault]:
    """What texts do to a reader that they must not, at most one thing a text.

    Memory is looked at once for all of them, since that takes longer than most texts; if it grew, once for each.
    """
    Path("/proc/self/clear_refs").write_text("5")  # the highest memory use so far is forgotten
    before_kb = _kb("VmRSS")
    with watching.watched(), plain_kernels(), time_limited():
        found = [fault for data in texts if (fault := _breach(reader, data)) is not None]
    grown_kb = _kb("VmHWM") - before_kb
    if found or grown_kb <= MOST_MORE_KB:
        return found
    if len(texts) == 1:
        return [Fault(f"took {grown_kb / 1000:.0f} MB", texts[0])]
    return [fault for data in texts for fault in breaches(reader, [data])]


def broken(reader: Reader, data: bytes) -> Fault | None:
    """What a text does to a reader that it must not; None if all is well."""
    return next(iter(breaches(reader, [data])), None)


def _breach(reader: Reader, data: bytes) -> Fault | None:
    what = story = ""
    watching.forget()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, MOST_CPU_S)
        reader.read(data)
    except reader.own as problem:
        what = _sentence(problem)
    except TooSlow:
        what, story = f"took more than {MOST_CPU_S:g} s of processor time", traceback.format_exc()
    except (Exception, RecursionError, MemoryError) as problem:
        what, story = _place(problem), traceback.format_exc()
    if not what and watching.seen():
        what = f"touched the world: {watching.seen()}"
    return Fault(what, data, story) if what else None


def _kb(name: str) -> int:
    """A figure of this process's memory: what it has (VmRSS), or has had at most (VmHWM)."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])


def _sentence(problem: BaseException) -> str:
    """What is wrong with the sentence of an error of ours; empty if nothing is."""
    if not isinstance(problem, HeadwayError):
        return ""
    said = str(problem)
    if "\n" in said:
        return f"the sentence of an error has several lines: {said[:60]!r}"
    return "the sentence of an error is too long" if len(said) > LONGEST_SENTENCE else ""


def _place(problem: BaseException) -> str:
    """The kind of an exception, and where in Headway it came from."""
    frames = [each for each in traceback.extract_tb(problem.__traceback__) if "/headway/" in each.filename]
    last = frames[-1] if frames else None
    where = f"{os.path.basename(last.filename)}:{last.lineno} {last.name}" if last else "outside of Headway"
    return f"{type(problem).__name__} in {where}"


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Compile no kernel: that takes longer than a text may."""
    before = compiled.PATIENCE_S, compiled.PATIENCE_IF_KEPT_S
    compiled.PATIENCE_S = compiled.PATIENCE_IF_KEPT_S = math.inf
    try:
        yield
    finally:
        compiled.PATIENCE_S, compiled.PATIENCE_IF_KEPT_S = before


@contextmanager
def time_limited() -> Iterator[None]:
    """Interrupt what takes longer than its timer says, in processor time: the machine may be busy."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
