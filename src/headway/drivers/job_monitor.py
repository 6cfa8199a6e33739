"""`JobMonitor`: follows the jobs of a run, and keeps a connection to the supervisor of each of their nodes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, structs

from headway.clusters.base import Cluster, JobNews
from headway.drivers.background import Background
from headway.drivers.inbox import (
    AttemptEnded,
    AttemptGone,
    Connected,
    Disconnected,
    Failed,
    Inbox,
    JobGone,
    NodeGone,
    Resized,
)
from headway.model.errors import DiskFullError, SiteError
from headway.model.job import JobPhase
from headway.model.outcome import Ending
from headway.model.records import JobSeen, QueueUnread
from headway.workers import protocol
from headway.workers.connection import Connection, Connections
from headway.workers.node import OVER, node_folder
from headway.workers.own_folder import GONE, GONE_TODO, missing_part

_log = logging.getLogger(__name__)

_CONNECT_S = 0.5  # one attempt to connect to the supervisor on this machine
_CONNECT_QUEUED_S = 10.0  # and to one on a node of a batch job
_ANSWER_WITHIN_S = 60.0  # a supervisor on a busy machine may take seconds to start
_ANSWER_QUEUED_WITHIN_S = 600.0
_CANCEL_WITHIN_S = 1800.0
_REASON_WITHIN_S = 30.0  # a batch system may say why a job ended some time after its end
_SUPERVISORS_WITHIN_S = 5.0  # if a batch system ends a whole job, all its supervisors end, and it is said to end
_MOST_STILLBORN = 3  # a user may cancel some jobs; four in a row mean that no supervisor can start here
_SOON_S = 0.05  # between polls of a job that does not queue: it starts at once
# If a job ends like this before any of its nodes has answered, its supervisors are not to blame.
_NOT_THE_SUPERVISORS = (Ending.TIME, Ending.NODE_LOST, Ending.PREEMPTED, Ending.CANCELLED)


class JobMonitor(Struct, eq=False, dict=True):
    """Polls jobs, connects to their nodes, and puts what it finds out into the driver's inbox.

    One asyncio task follows each job from its submission to its end, and one per node connects to the node's
    supervisor, reads its messages, and connects again when the connection is lost, as long as the job lives. The
    monitor does not know the engine: the driver decides what a message means for the run.
    """

    cluster: Cluster
    connector: Connections
    jobs: Path  # the folder of the jobs' folders
    inbox: Inbox
    background: Background
    nodes_up: Mapping[str, str]  # the nodes that the run already uses, and the tags of their jobs

    def __post_init__(self) -> None:
        self._up = dict(self.nodes_up)  # nodes that have answered and are not lost: the tags of their jobs
        self._started_at: dict[str, float | None] = {}  # by job, as the cluster last said
        self._over_since: dict[str, float] = {}  # nodes of queued jobs whose supervisors are gone, for unknown reasons
        self._released: set[str] = set()
        self._given: set[str] = set()  # nodes that were given back while their jobs go on
        self._told: dict[str, JobSeen] = {}  # by job, what was last said of it
        self._stillborn = 0  # jobs in a row that ended before any of their nodes answered

    def follow(self, tag: str) -> None:
        """Follow a job from now on."""
        self.background.start(self._follow(tag))

    def release(self, tag: str) -> None:
        """Stop following a job that is given back."""
        self._released.add(tag)

    def give_back(self, nodes: Iterable[str]) -> None:
        """Stop attending nodes that their job gives back."""
        for node in nodes:
            self._given.add(node)
            self._up.pop(node, None)

    async def cancel(self, tag: str) -> None:
        """Cancel a job; when this returns, nothing of it runs. A batch system that does not answer is asked again."""
        deadline = time.monotonic() + _CANCEL_WITHIN_S
        while True:
            try:
                await asyncio.to_thread(self.cluster.cancel, [tag])
            except SiteError as error:
                if not self.cluster.queues or time.monotonic() > deadline:
                    raise
                _log.info("job %s cannot be cancelled yet, trying again: %s", tag, error)
                await asyncio.sleep(self.cluster.look_every_s)
            else:
                return

    # --- jobs ---

    async def _follow(self, tag: str) -> None:
        attending: dict[str, asyncio.Task[Exception | None]] = {}  # by node, lost nodes included
        before: JobPhase | None = None
        ended: JobNews | None = None
        while ended is None and tag not in self._released:
            news = (await asyncio.to_thread(self.cluster.news, [tag]))[tag]
            if (missing := await asyncio.to_thread(missing_part, self.jobs.parent)) is not None:
                self.inbox.put(Failed(SiteError(GONE, where=str(missing), todo=GONE_TODO)))
                return
            if news.phase is not before:
                _log.info("job %s (id %s) is %s", tag, news.job_id, news.phase)
            before = news.phase
            self._tell(tag, news)
            if news.phase is JobPhase.ENDED or (attending and news.phase is JobPhase.PENDING):
                ended = news
                continue
            if news.phase is JobPhase.RUNNING:
                await self._look_at_nodes(tag, news, attending)
            await asyncio.sleep(self.cluster.look_every_s if attending or self.cluster.queues else _SOON_S)
        if ended is None:  # it is given back: who tells its supervisors to end also hangs up, but not before they know
            return
        for task in attending.values():
            task.cancel()
        await self._ended(tag, ended)

    def _tell(self, tag: str, news: JobNews) -> None:
        """Pass on what the batch system says of a job that waits or has begun to run, if that is news."""
        waits = news.phase is JobPhase.PENDING or (news.phase is JobPhase.UNKNOWN and bool(news.message))
        if not self.cluster.queues or not (waits or news.phase is JobPhase.RUNNING):
            return
        about = (news.message, news.held, news.planned_at, news.walltime_s, news.suspended)
        where = (news.partition, news.why_there, news.billing)
        seen = JobSeen(time.time(), tag, news.phase, news.job_id, *about, *where)
        if seen.is_news_after(self._told.get(tag)):
            self._told[tag] = seen
            self.inbox.put(seen)

    async def _look_at_nodes(
        self, tag: str, news: JobNews, attending: dict[str, asyncio.Task[Exception | None]]
    ) -> None:
        self._started_at[tag] = news.started_at
        for node in news.nodes:
            if node not in attending and self.connector.key(tag, node) not in self._given:
                attending[node] = self.background.start(self._attend(tag, node))
        for node, task in attending.items():
            if message := await self._loss_of(tag, node, news):
                task.cancel()
                key = self.connector.key(tag, node)
                if self._up.pop(key, None) is not None:
                    self.inbox.put(NodeGone(time.time(), tag, key, message))
        if news.nodes and not attending.keys() <= set(news.nodes):
            first = await asyncio.to_thread(self.cluster.script_node, tag) or next(iter(attending))
            if first not in news.nodes:
                # Without the job's script nobody would see the end of the other supervisors.
                _log.info("job %s has lost the node of its script and is cancelled", tag)
                await self.cancel(tag)

    async def _loss_of(self, tag: str, node: str, news: JobNews) -> str:
        """Say why a node of a running job is lost; nothing if it is not, or was given back."""
        if self.connector.key(tag, node) in self._given:
            return ""
        if news.nodes and node not in news.nodes:
            return "the batch system has given it up"
        over = node_folder(self.jobs / tag, node) / OVER
        if not await asyncio.to_thread(over.exists):
            return ""
        if self.cluster.queues and not self._goes_on(tag, node, news):
            return ""
        return "its supervisor is gone"

    def _goes_on(self, tag: str, node: str, news: JobNews) -> bool:
        """Whether a job goes on although a supervisor of it is gone; if not, the job's end says why in a moment."""
        key, now = self.connector.key(tag, node), time.time()
        since = self._over_since.setdefault(key, now)
        if now > since + _REASON_WITHIN_S:
            return True
        self.cluster.ask_now()
        return news.confirmed_at is not None and news.confirmed_at > since + _SUPERVISORS_WITHIN_S

    async def _ended(self, tag: str, news: JobNews) -> None:
        if self.cluster.queues and tag not in self._released:
            news = await self._with_reason(tag, news)
        await self.cancel(tag)
        answered = tuple(node for node, job in self._up.items() if job == tag)
        if news.refused:
            error = SiteError(f"Slurm will never start job {news.job_id or tag}: {news.message}")
            self.inbox.put(Failed(error))
            return
        if not answered and news.ending not in _NOT_THE_SUPERVISORS and tag not in self._released:
            self._stillborn += 1
            if self._stillborn > _MOST_STILLBORN:
                self._fail(tag, f"ended at once{f' ({news.message})' if news.message else ''}")
                return
        for node in answered:
            del self._up[node]
        self.inbox.put(JobGone(time.time(), tag, answered, news))

    async def _with_reason(self, tag: str, news: JobNews) -> JobNews:
        """Wait a while for the batch system to say why a job ended."""
        deadline = time.monotonic() + _REASON_WITHIN_S
        while news.phase is not JobPhase.PENDING and news.ending is None and time.monotonic() < deadline:
            self.cluster.ask_now()
            await asyncio.sleep(self.cluster.look_every_s)
            news = (await asyncio.to_thread(self.cluster.news, [tag]))[tag]
        # Its tasks run again elsewhere, so that nothing may be left for it; if it was started again, it did nothing.
        if news.phase is JobPhase.PENDING or (news.restarts and news.ending is Ending.SUCCESS):
            message = "Slurm took its nodes away and put the job back into the queue"
            return structs.replace(news, phase=JobPhase.ENDED, ending=Ending.PREEMPTED, message=message)
        return news

    def _fail(self, tag: str, what: str) -> None:
        where = str(_newest_log(self.jobs / tag))
        todo = "see there what is wrong, then `headway resume`"
        self.inbox.put(Failed(SiteError(f"the node supervisor {what}", where=where, todo=todo)))

    # --- nodes ---

    async def _attend(self, tag: str, node: str) -> None:
        """Connect to a node's supervisor, and again when the connection is lost; `_follow` cancels this."""
        key = self.connector.key(tag, node)
        timeout_s, within_s = _CONNECT_S, _ANSWER_WITHIN_S
        if self.cluster.queues:
            timeout_s, within_s = _CONNECT_QUEUED_S, _ANSWER_QUEUED_WITHIN_S
        deadline = time.monotonic() + within_s
        said = ""
        while tag not in self._released and key not in self._given:
            connection = await self.connector.connect(tag, node, timeout_s)
            if connection is None:
                if self.connector.trouble and self.connector.trouble != said:
                    said = self.connector.trouble
                    self.inbox.put(QueueUnread(time.time(), said))
                if (told := self._told.get(tag)) is not None and told.suspended:
                    deadline = time.monotonic() + within_s
                elif key not in self._up and time.monotonic() > deadline:
                    self._fail(tag, f"did not answer within {within_s:g} s")
                    return
                continue
            self._stillborn = 0
            self._up[key] = tag
            if said:
                said = ""
                self.inbox.put(QueueUnread(time.time(), ""))
            self.inbox.put(Connected(tag, key, connection, self._started_at.get(tag)))
            try:
                await self._listen(tag, key, connection)
            finally:
                connection.close()
                self.inbox.put(Disconnected(key, connection))

    async def _listen(self, tag: str, node: str, connection: Connection) -> None:
        """Pass a supervisor's messages on until the connection is lost.

        A supervisor that introduces itself again was reached by another relay: what the one before had in its hands is
        lost, so that the manager has to connect again and repeat its messages.
        """
        while (message := await connection.receive()) is not None and not isinstance(message, protocol.Hello):
            if isinstance(message, protocol.Trouble):
                todo = message.todo or "nothing is lost: make room or mend it, then `headway resume`"
                kind = DiskFullError if message.disk_full else SiteError
                self.inbox.put(Failed(kind(message.what, where=message.where, todo=todo)))
            elif isinstance(message, protocol.Refused):
                self.inbox.put(Failed(SiteError(message.what)))
            elif isinstance(message, protocol.Ended):
                self.inbox.put(AttemptEnded(time.time(), tag, message.outcome, connection))
            elif isinstance(message, protocol.Lost):
                self.inbox.put(AttemptGone(time.time(), message, connection))
            elif isinstance(message, protocol.Room):
                self.inbox.put(Resized(tag, node, message.room))


def _newest_log(folder: Path) -> Path:
    """Find the newest log in a job's folder."""
    logs = sorted(folder.glob("*log"), key=lambda path: path.stat().st_mtime)
    return logs[-1] if logs else folder / "log"
