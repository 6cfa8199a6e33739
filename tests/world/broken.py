"""Copies of Headway that are broken on purpose, one way each: the stories must find every one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest import mock

import headway.drivers.real
import headway.drivers.recovery
from headway.clusters.base import Cluster
from headway.drivers import runs
from headway.drivers.assemble import assemble
from headway.drivers.giving_back import GivingBack
from headway.drivers.job_monitor import JobMonitor
from headway.drivers.real import Driver
from headway.engine.engine import Engine
from headway.engine.run_state import RunState
from headway.journal.folder import RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.records import Why
from headway.sizing.base import Prediction
from headway.sizing.resource_rules import ResourceRules
from headway.workers.attempt import AttemptFolder
from headway.workers.runner import Runner
from headway.workers.supervisor import Supervisor

_PUBLISH = Runner._publish
_ON_NODE = Cluster.on_node
_APPEND = SqliteJournal.append
_ATTEMPT = RunFolder.attempt


async def _nothing(*_: object, **__: object) -> None:
    pass


async def _published_later(self: Runner, folder: Any, start: Any, outcome: Any, place: Any) -> Any:
    async def publish() -> None:
        await asyncio.sleep(20.0)
        await _PUBLISH(self, folder, start, outcome, place)

    self.later = asyncio.create_task(publish())  # type: ignore[attr-defined]
    return outcome


def _claimed_always(self: AttemptFolder) -> bool:
    self.path.mkdir(parents=True, exist_ok=True)
    return True


def _started_always(self: Supervisor, start: Any) -> None:
    key = (start.task.id, start.attempt)
    if key not in self._running:
        self._running[key] = asyncio.create_task(self._attempt(key, start))


@contextmanager
def _claims_do_not_count() -> Iterator[None]:
    with (
        mock.patch.object(AttemptFolder, "claim", _claimed_always),
        mock.patch.object(Supervisor, "_start", _started_always),
    ):
        yield


def _written_late(self: SqliteJournal, new: Any) -> None:
    """Write only what was given before: the newest records are lost with the process."""
    late = getattr(self, "late", [])
    now = any(isinstance(record, records.Finish | records.RunStarted) for record in new)
    self.late = [] if now else list(new)  # type: ignore[attr-defined]
    if late or now:
        _APPEND(self, [*late, *new] if now else late)


def _written_in_part(self: SqliteJournal, new: Any) -> None:
    last = new[-1]
    _APPEND(self, new if len(new) == 1 or isinstance(last, records.Finish | records.TasksAdded) else new[:-1])


async def _only_followed(self: Driver, jobs: Any) -> None:
    for job in jobs:
        self._monitor.follow(job.tag)


def _twice_as_large(self: Cluster, request: Any, tag: str, node: str) -> Any:
    has = _ON_NODE(self, request, tag, node)
    return has.replace(cores=2 * has.cores, memory_bytes=2 * has.memory_bytes)


def _rebuilt_without_losses(journal: SqliteJournal) -> Engine:
    first, *others = journal.replay()
    assert isinstance(first, records.RunStarted)
    engine = assemble(first)
    for record in [first, *others]:
        if not isinstance(record, records.NodeLost):
            engine.apply(record)
    return engine


def _the_same_again(self: ResourceRules, policy: str, failures: Any, *_: object, **__: object) -> Prediction:
    return Prediction(failures[-1], Why(policy, "again", {}, ""))


def _patched(owner: Any, name: str, stand_in: Any) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: mock.patch.object(owner, name, stand_in)


BROKEN: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "a success is told before its outputs are in place": _patched(Runner, "_publish", _published_later),
    "an attempt can be claimed twice": _claims_do_not_count,
    "the journal is written one step late": _patched(SqliteJournal, "append", _written_late),
    "the last record of a step is not written": _patched(SqliteJournal, "append", _written_in_part),
    "a second report of an end counts": _patched(
        RunState, "is_running", lambda self, task, attempt: task in self.tasks
    ),
    "a node is given more than it has": _patched(Cluster, "on_node", _twice_as_large),
    "results of lost nodes are thrown away": _patched(headway.drivers.real, "settle", lambda *_: []),
    "results of lost nodes count without their outputs": _patched(headway.drivers.recovery, "publish", lambda *_: ()),
    "a job that was not submitted before a crash never is": _patched(Driver, "_find_jobs_again", _only_followed),
    "jobs stay in the queue when they are given back": _patched(GivingBack, "_release", _nothing),
    "a resumed manager forgets which nodes were lost": _patched(runs, "rebuild", _rebuilt_without_losses),
    "what ran out is given again": _patched(ResourceRules, "retry", _the_same_again),
    "the end of a job is not passed on": _patched(JobMonitor, "_ended", _nothing),
    "all attempts at a task share a folder": _patched(
        RunFolder, "attempt", lambda self, task, attempt: _ATTEMPT(self, task, 1)
    ),
}
