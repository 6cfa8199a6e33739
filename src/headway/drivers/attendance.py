"""Follows the jobs of a run, and talks to the supervisors on their nodes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from headway.clusters.base import Cluster
from headway.clusters.news import JobNews
from headway.drivers.recovery import settle
from headway.engine.engine import Engine
from headway.journal.folder import RunFolder
from headway.model import records
from headway.model.errors import SiteError
from headway.model.job import JobPhase
from headway.model.outcome import Ending, Outcome
from headway.model.records import Event
from headway.workers import protocol
from headway.workers.connection import Connection, Connections
from headway.workers.node import OVER, node_folder

Tell = Callable[[Event | BaseException], None]
Keep = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]

_CONNECT_S = 0.5  # between two looks at whether a node's job lives
_PATHS_A_LINE = 10_000
_CANCEL_WITHIN_S = 1800.0
_STARTED_BEFORE_S = 5.0  # a batch system counts a job's time from its own start of it on, not from that of its script
_REASON_WITHIN_S = 30.0  # a batch system may say later than at its end why a job ended
_MOST_STILLBORN = 3  # somebody may kill some; four in a row are a sign that none can live here
_SOON_S = 0.05  # between looks at a job that does not wait for its turn: it starts at once
# A job that ends like this before any of its nodes has answered does not say that none can live here.
_NOBODYS_FAULT = (Ending.TIME, Ending.NODE_LOST, Ending.PREEMPTED, Ending.CANCELLED)


class Attendance:
    """A task of asyncio follows each job from its submission to its end, and one each of its nodes.

    What they find out is told as events. A line that breaks is made again as long as the job lives; what was being run
    when a job ends counts if it left a result.
    """

    def __init__(
        self,
        engine: Engine,
        cluster: Cluster,
        lines: Connections,
        folder: RunFolder,
        tell: Tell,
        keep: Keep,
        start: Callable[[str], None],  # sends a task, which should be running, to its node
    ) -> None:
        self._engine = engine
        self._cluster = cluster
        self._lines = lines
        self._folder = folder
        self._tell = tell
        self._keep = keep
        self._start = start
        self._answer_within_s = 600.0 if cluster.queues else 60.0  # a supervisor on a busy machine may take seconds
        self._connected: dict[str, tuple[str, Connection]] = {}  # job and line, by node
        self._up: dict[str, str] = {name: node.tag for name, node in engine.nodes.items()}  # all that were told of
        self._started_at: dict[str, float | None] = {}  # by job, whether its nodes have answered or not
        self._told_of = {tag for tag, job in engine.jobs.items() if job.phase is JobPhase.RUNNING}
        self._released: set[str] = set()
        self._told_by: dict[tuple[str, int], Connection] = {}  # ends that are not yet noted, by whose line they came
        self._stillborn = 0  # jobs in a row that ended before anybody answered

    # --- lines ---

    def line_of(self, node: str) -> Connection | None:
        """The line to a node, if there is one now."""
        found = self._connected.get(node)
        return found[1] if found else None

    def node_of(self, key: str) -> str:
        """As the batch system calls that node."""
        return self._lines.node_of(key)

    def noted(self, attempts: Sequence[tuple[str, int]]) -> None:
        """These ends are in the journal: whoever told of them need not remember them.

        Where that is lost on the way, a supervisor tells again when it is next connected, and hears then that it is
        noted.
        """
        by_line: dict[Connection, list[tuple[str, int]]] = {}
        for key in attempts:
            if (line := self._told_by.pop(key, None)) is not None:
                by_line.setdefault(line, []).append(key)
        for line, keys in by_line.items():
            line.send(protocol.Noted(keys))

    def say_what_is_produced(self, paths: Sequence[str], lines: Sequence[Connection] | None = None) -> None:
        """Tell supervisors which paths tasks make."""
        told = [line for _, line in self._connected.values()] if lines is None else lines
        for begin in range(0, len(paths), _PATHS_A_LINE):
            for line in told:
                line.send(protocol.Produced(list(paths[begin : begin + _PATHS_A_LINE])))

    async def release(self, tag: str) -> None:
        """Give a job back: its nodes are told to leave, and where jobs queue nothing of it stays there."""
        self._released.add(tag)
        lines = [self._connected.pop(node)[1] for node, (job, _) in list(self._connected.items()) if job == tag]
        for line in lines:
            line.send(protocol.Leave())
            await line.flush()
            line.close()
        if self._cluster.queues or not lines:  # it may be on its way, or not be listening
            await self._cancel(tag)

    async def close(self, *, over: bool) -> None:
        """Hang up; what runs goes on. When the run is `over`, nothing does."""
        for _, line in self._connected.values():
            line.close()
        await (self._lines.end() if over else self._lines.close())

    # --- jobs ---

    def follow(self, tag: str) -> None:
        """Attend to a job from now on."""
        self._keep(self._follow(tag))

    async def _follow(self, tag: str) -> None:
        attended: dict[str, asyncio.Task[None]] = {}
        while tag not in self._released:
            news = (await asyncio.to_thread(self._cluster.news, [tag]))[tag]
            if news.phase is JobPhase.RUNNING:
                self._started_at[tag] = news.started_at
                for node in news.nodes:
                    if node not in attended:
                        attended[node] = self._keep(self._attend(tag, node))
                for node, attending in attended.items():
                    if message := await self._loss_of(tag, node, news):
                        attending.cancel()
                        await self._lost(self._lines.key(tag, node), message, expired=self._time_is_up(tag))
            elif news.phase is JobPhase.ENDED:
                for attending in attended.values():
                    attending.cancel()
                await self._ended(tag, news)
                return
            await asyncio.sleep(self._cluster.look_every_s if attended or self._cluster.queues else _SOON_S)
        for attending in attended.values():
            attending.cancel()

    async def _ended(self, tag: str, news: JobNews) -> None:
        """What its tasks left counts, the rest will run again, once nothing of it is left running."""
        await self._cancel(tag)
        answered = [node for node, job in self._up.items() if job == tag]
        if not answered and self._cluster.queues:
            news = await self._with_reason(tag, news)
        if not answered and news.ending not in _NOBODYS_FAULT and tag not in self._released:
            self._stillborn += 1
            if self._stillborn > _MOST_STILLBORN:
                self._tell(self._trouble(tag, f"ended at once{f' ({news.message})' if news.message else ''}"))
                return
        expired = news.ending is Ending.TIME or self._time_is_up(tag)
        for node in answered:
            await self._lost(node, news.message or "its supervisor is gone", expired=expired)
        self._tell(records.JobState(time.time(), tag, JobPhase.ENDED, news.message, news.ended_at))

    async def _cancel(self, tag: str) -> None:
        """Nothing of a job is left when this returns. A batch system that does not answer may be restarting."""
        deadline = time.monotonic() + _CANCEL_WITHIN_S
        while True:
            try:
                await asyncio.to_thread(self._cluster.cancel, [tag])
            except SiteError:
                if not self._cluster.queues or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(self._cluster.look_every_s)
            else:
                return

    async def _with_reason(self, tag: str, news: JobNews) -> JobNews:
        deadline = time.monotonic() + _REASON_WITHIN_S
        while news.ending is None and time.monotonic() < deadline:
            await asyncio.sleep(self._cluster.look_every_s)
            news = (await asyncio.to_thread(self._cluster.news, [tag]))[tag]
        return news

    def _time_is_up(self, tag: str) -> bool:
        """Whatever else may be said of its end: a supervisor that is told to leave in time does so in order."""
        job = self._engine.jobs[tag]
        walltime_s = job.request.per_node.walltime_s
        if job.started_at is None or walltime_s is None:
            return False
        return time.time() >= job.started_at + walltime_s - _STARTED_BEFORE_S

    def _was_cut_off(self, tag: str, outcome: Outcome) -> bool:
        """Whether an attempt was stopped because its job's time was up, and not by us."""
        running = self._engine.tasks[outcome.task].running
        by_us = running is not None and running.being_killed
        return outcome.ending is Ending.CANCELLED and not by_us and self._time_is_up(tag)

    async def _loss_of(self, tag: str, node: str, news: JobNews) -> str:
        """Why a node of a job that goes on is lost, if it is."""
        if news.nodes and node not in news.nodes:
            return "the batch system has given it up"
        over = node_folder(self._folder.jobs / tag, node) / OVER
        return "its supervisor is gone" if await asyncio.to_thread(over.exists) else ""

    async def _lost(self, node: str, message: str, *, expired: bool = False) -> None:
        """A node is gone: what its tasks left counts, the rest will run again."""
        if self._up.pop(node, None) is None:
            return
        self._connected.pop(node, None)
        state = self._engine.nodes.get(node)
        running = [self._engine.tasks[task_id] for task_id in sorted(state.running)] if state else []
        now = time.time()
        for event in await asyncio.to_thread(settle, running, self._folder, now):
            # What was stopped because the time was up is to have more of it: that is for the node's loss to say.
            if not expired or event.outcome.ending is not Ending.CANCELLED:
                self._tell(event)
        self._tell(records.NodeLost(now, node, message, expired=expired))

    def _trouble(self, tag: str, what: str) -> SiteError:
        return SiteError(
            f"the node supervisor {what}",
            where=str(_log(self._folder.jobs / tag)),
            todo="see there what is wrong, then `headway resume`",
        )

    # --- nodes ---

    async def _attend(self, tag: str, node: str) -> None:
        """Keep in touch with a node's supervisor; `_follow` ends this when the job has ended."""
        key = self._lines.key(tag, node)
        deadline = time.monotonic() + self._answer_within_s
        while tag not in self._released:
            line = await self._lines.connect(tag, node, _CONNECT_S if not self._cluster.queues else 10.0)
            if line is None:
                if key not in self._up and time.monotonic() > deadline:
                    self._tell(self._trouble(tag, f"did not answer within {self._answer_within_s:g} s"))
                    return
                continue
            self._stillborn = 0
            self._connected[key] = (tag, line)
            try:
                self._greet(tag, key, line)
                await self._listen(tag, line)
            finally:
                if self._connected.get(key) == (tag, line):
                    del self._connected[key]
                line.close()

    def _greet(self, tag: str, key: str, line: Connection) -> None:
        self.say_what_is_produced(list(self._engine.workflow.producer), [line])
        if tag not in self._told_of:  # with its first node, since a job without nodes looks like one without work
            self._told_of.add(tag)
            self._tell(records.JobState(time.time(), tag, JobPhase.RUNNING, since=self._started_at.get(tag)))
        if key not in self._up:
            self._up[key] = tag
            capacity = self._engine.jobs[tag].request.per_node
            self._tell(records.NodeUp(time.time(), key, tag, capacity.replace(nodes=1, walltime_s=None)))
        state = self._engine.nodes.get(key)
        for task_id in sorted(state.running) if state else ():  # in case a launch was journalled and never sent
            self._start(task_id)

    async def _listen(self, tag: str, line: Connection) -> None:
        while (message := await line.receive()) is not None:
            if isinstance(message, protocol.Trouble):
                todo = "nothing is lost: make room or mend it, then `headway resume`"
                self._tell(SiteError(message.what, where=message.where, todo=todo))
            elif isinstance(message, protocol.Ended):
                outcome = message.outcome
                if self._was_cut_off(tag, outcome):
                    continue  # that is for the node's loss to say
                if self._engine.is_running(outcome.task, outcome.attempt):
                    self._told_by[outcome.task, outcome.attempt] = line
                    self._tell(records.TaskEnded(time.time(), outcome))
                else:
                    line.send(protocol.Noted([(outcome.task, outcome.attempt)]))


def _log(folder: Path) -> Path:
    """Where a job's own words are: the newest log in its folder."""
    logs = sorted(folder.glob("*log"), key=lambda path: path.stat().st_mtime)
    return logs[-1] if logs else folder / "log"
