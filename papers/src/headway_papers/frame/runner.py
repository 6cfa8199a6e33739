"""`Runner`: carries out the units of a study that its ledger does not hold yet, on several processes."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, Generic, TypeVar

from headway.studies.processes import cores
from headway.studies.study import Progress, Tell
from headway_papers.frame.ledger import Found, Ledger

Unit = TypeVar("Unit", bound=Hashable)


class Runner(Generic[Found]):
    """Runs units and keeps their results; several calls of `run` share one count of the work.

    `total` is the work of all units together, in the units of `weight`, which is one for each unit by default.
    """

    def __init__(
        self, ledger: Ledger[Found], total: float, processes: int | None = None, tell: Tell | None = None
    ) -> None:
        self.processes = processes or cores()
        self._ledger, self._total, self._tell = ledger, total, tell
        self._done, self._worked, self._began = 0.0, 0.0, time.monotonic()

    @property
    def spent_s(self) -> float:
        """Seconds since the study began."""
        return time.monotonic() - self._began

    def run(
        self,
        units: Sequence[Unit],
        carry_out: Callable[[Unit], Found],
        weight: Callable[[Unit], float] = lambda unit: 1.0,
        prepare: Callable[..., None] | None = None,
        prepared: tuple[Any, ...] = (),
    ) -> list[Found]:
        """The results of all units, in order. Each process calls `prepare(*prepared)` before its first unit."""
        todo = [unit for unit in units if unit not in self._ledger.found]
        weights: dict[Hashable, float] = {unit: weight(unit) for unit in units}
        self._done += sum(weights.values()) - sum(weights[unit] for unit in todo)
        for found in _results(todo, carry_out, self.processes, prepare, prepared):
            self._ledger.add(found)
            self._done += weights[found.unit]
            self._worked += weights[found.unit]
            if self._tell:
                left_s = self.spent_s / self._worked * (self._total - self._done)
                self._tell(Progress(round(self._done), round(self._total), left_s))
        return [self._ledger.found[unit] for unit in units]


def _results(
    todo: Sequence[Unit],
    carry_out: Callable[[Unit], Found],
    processes: int,
    prepare: Callable[..., None] | None,
    prepared: tuple[Any, ...],
) -> Iterator[Found]:
    """Results as they come."""
    if processes == 1 or len(todo) < 2:
        if prepare:
            prepare(*prepared)
        yield from map(carry_out, todo)
        return
    # "spawn": a forked copy of a process with threads can deadlock.
    pool = ProcessPoolExecutor(min(processes, len(todo)), get_context("spawn"), _begin, (prepare, prepared))
    try:
        for future in as_completed([pool.submit(carry_out, unit) for unit in todo]):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(prepare: Callable[..., None] | None, prepared: tuple[Any, ...]) -> None:
    """Workers ignore Ctrl-C; the parent handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if prepare:
        prepare(*prepared)
