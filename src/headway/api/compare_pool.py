"""`compare_pool`: workflows that arrive one after the other, in one pool and each with jobs of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs, to_builtins

from headway.api.compare import CompareSettings, file_names, queues_of, starts_of
from headway.api.keywords import chosen_names, refuse, settled
from headway.api.workflow_in_queue import seconds_of
from headway.model.errors import InputError
from headway.report.words import count

if TYPE_CHECKING:
    from headway.studies.pooled import PoolRow
    from headway.studies.study import Tell
    from headway.studies.tables import Line

_USUAL_STARTS = 3
_USUAL_PLAN = "headway"


class ComparePoolSettings(CompareSettings, frozen=True, kw_only=True):
    """As `CompareSettings`; `every` is the time from one arrival to the next, and `starts` are those of the first."""

    arrivals: float | str | None = (
        None  # instead of `every`: arrivals are drawn, so long apart on average; None: 30 min
    )


class ComparePoolResult(Struct, frozen=True):
    """What each workflow took alone, apart and pooled, for every log and start."""

    traces: list[str]
    workflows: list[str]
    settings: ComparePoolSettings
    arrivals_s: list[float]
    rows: list[PoolRow]
    words: str

    def document(self) -> dict[str, Any]:
        """The answer of `headway compare --pool --json`."""
        unused = ("out", "reference", "again", "processes")
        settings = {name: value for name, value in to_builtins(self.settings).items() if name not in unused}
        asked = {"traces": self.traces, "workflows": self.workflows, **settings}
        return {"asked": asked, "arrivals_s": self.arrivals_s, "cells": to_builtins(self.rows)}

    def lines(self, width: int) -> Iterator[Line]:
        """Tables and a sentence for a screen; a line that is laid out must not be wrapped."""
        from headway.studies.pool_tables import lines_of

        return lines_of(self.rows, width)


def compare_pool(
    traces: str | Path | Sequence[str | Path],
    workflows: str | Path | Sequence[str | Path],
    settings: ComparePoolSettings | None = None,
    *,
    progress: Tell | None = None,
    **named: Any,
) -> ComparePoolResult:
    """Let workflows arrive one after the other in the queue of each log: in one pool, and each with its own jobs.

    Keywords are the fields of `ComparePoolSettings`: `compare_pool("KTH-SP2.swf.gz", files, arrivals="30m", starts=1)`.
    """
    from headway.studies.pooled import Cell, drawn_arrivals, rows_of_cells
    from headway.studies.study import Progress

    asked, given = settled(ComparePoolSettings, settings, named)
    asked.check_nodes(given)
    refuse(("out", "reference", "again", "processes"), given, "comparisons of plans", "leave it out with --pool")
    if asked.every is not None and asked.arrivals is not None:
        raise InputError(
            "--every and --arrivals exclude each other", where="--arrivals", todo="leave out one of the two"
        )
    logs, flows = file_names(traces, "--traces"), file_names(workflows, "--workflows")
    if len(flows) < 2:
        raise InputError("a pool needs at least two workflows", where="--workflows", todo="name more")
    plan = _plan(asked)
    if asked.every is not None:
        arrivals = tuple(number * seconds_of(asked.every) for number in range(len(flows)))
    else:
        arrivals = drawn_arrivals(len(flows), seconds_of(asked.arrivals or "30m"), asked.seed)
    asked = structs.replace(asked, starts=asked.starts or _USUAL_STARTS)
    drawn = structs.replace(asked, every=None)
    cells = {
        queue: [Cell(queue, at, tuple(flows), arrivals, plan, asked.seed) for at in sorted(starts_of(queue, drawn))]
        for queue in queues_of(logs, flows, asked)
    }
    rows: list[PoolRow] = []
    began, total = time.monotonic(), sum(map(len, cells.values()))
    for together in cells.values():
        for row in rows_of_cells(together):
            rows.append(row)
            if progress:
                left_s = (time.monotonic() - began) / len(rows) * (total - len(rows))
                progress(Progress(len(rows), total, left_s))
    words = f"{count(len(flows), 'workflow')}, {count(len(logs), 'log')}; plan {plan}, {asked.backfill} backfilling"
    return ComparePoolResult(logs, flows, asked, list(arrivals), rows, words)


def _plan(asked: ComparePoolSettings) -> str:
    from headway.drivers.assemble import plans

    chosen = chosen_names(asked.plans, plans(), "plan", "--plans") or [_USUAL_PLAN]
    if len(chosen) > 1:
        raise InputError("a pool has one plan", where="--plans", todo="name one")
    return chosen[0]
