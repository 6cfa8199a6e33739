"""The server of a pool: to the manager of each workflow it is a node's supervisor, to the pool's run it is a feed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

from msgspec import MsgspecError, Struct, field, structs

from headway.crash_points import crash_point
from headway.drivers.inbox import SignalTask
from headway.model import records
from headway.model.coming import Coming
from headway.model.errors import HeadwayError, InputError
from headway.model.outcome import Ending, Outcome
from headway.model.resources import Resources
from headway.model.task import Task, Terms, Work
from headway.serving.callers import Caller
from headway.serving.feed_server import FeedServer, hang_up
from headway.serving.membership import Membership, no_member
from headway.serving.pool_room import PoolRoom
from headway.workers import protocol
from headway.workers.attempt import AttemptFolder
from headway.workers.pool_place import LINK

_LOOK_EVERY_S = 0.5
_READ_WHY_WITHIN_S = 10.0
_PART_BYTES = 1 << 16
REMEMBERED = 20_000  # attempts that are over: twice as many as the engine, which refuses a task that it knows
_END = protocol.Ended | protocol.Lost


class Handed(Struct, eq=False):
    """A task of the pool's run, which stands for an attempt of a workflow's run."""

    task: Task
    work: Work
    launch: records.Launch | None = None  # while it runs
    being_killed: bool = False
    over: bool = False


class Workflow(Struct, eq=False):
    """A workflow's run that uses the pool, and the connection of its manager while that is at work."""

    join: protocol.Join
    caller: Caller | None = None  # who brought it; None if it is known from the journal only
    writer: asyncio.StreamWriter | None = None
    handed: dict[str, Handed] = field(default_factory=dict)  # that is not over, by the pool's task
    ends: dict[tuple[str, int], _END] = field(default_factory=dict)  # that its manager has not acknowledged
    coming: tuple[Coming, ...] = ()  # what it will hand over later
    waiting_for_end: list[asyncio.StreamWriter] = field(default_factory=list)  # of those who withdraw it
    revoked: bool = False  # its user is no member any more

    def send(self, message: protocol.Message) -> None:
        """Send a message to the workflow's manager, if that is at work."""
        if self.writer is not None and not self.writer.is_closing():
            self.writer.write(protocol.encode(message))


class PoolServer(FeedServer):
    """Hands the attempts of many workflows to one run, and their ends back.

    A task of the pool is known by the workflow's uid, its task and the attempt, so that a manager which was killed and
    resumed, or waits for a pool that was, may hand the same attempt over again. The pool makes one attempt at each:
    what happens after a failure is for the workflow's own run to decide.
    """

    link = LINK
    longest_line_bytes = 1 << 16  # that is kept of a caller who is not known yet; `_lines` reads longer ones

    def __init__(self, directory: Path, idle_s: float | None = None, group: int | None = None) -> None:
        """The users of a `group` may connect, besides the owner."""
        super().__init__()
        self.group = group
        self._idle_s = idle_s
        self._members = Membership(directory)
        self._workflows: dict[str, Workflow] = {}
        self._tasks: dict[str, Handed] = {}  # by the pool's task
        self._over_tasks: deque[str] = deque()  # those of them that are over
        self._room = PoolRoom()
        self._callers: dict[asyncio.StreamWriter, Caller | None] = {}  # None: not known yet
        self._busy_at = time.monotonic()
        self._draining = False
        self._no_more = False

    # --- the run's side ---

    def _caught_up(self) -> None:
        self._busy_at = time.monotonic()

    def _take(self, batch: Sequence[records.Event | records.Decision]) -> None:
        room = self._room.offered()
        for record in batch:
            self._room.take(record)
            match record:
                case records.ShareSet():
                    self._members.terms[record.share] = record.terms
                case records.TasksAdded():
                    for task in record.tasks:
                        self._added(task)
                case records.Launch() | records.Kill() if record.task in self._tasks:
                    self._decided(self._tasks[record.task], record)
                case records.TaskEnded() if record.outcome.task in self._tasks:
                    self._ended(self._tasks[record.outcome.task], record.outcome)
                case records.TaskWithdrawn() if record.task in self._tasks:
                    if (handed := self._tasks[record.task]).launch is None:
                        self._failed(handed, Ending.CANCELLED, "it was stopped")
                case records.GiveUp() if record.task in self._tasks:
                    self._failed(self._tasks[record.task], Ending.LAUNCH_FAILED, record.why.text)
                case records.NodeLost() | records.Release():
                    self._lost(record)
        if self._room.offered() != room:
            for workflow in self._workflows.values():
                workflow.send(self._room_for(workflow.join.user))

    def _added(self, task: Task) -> None:
        """Know a task again, of the journal of a run that is resumed."""
        if task.id not in self._tasks and (work := task.work) is not None:
            user, _, name = task.terms.share.removesuffix(f" {work.run}").partition("/")
            join = protocol.Join(work.run, name, work.directory, "?", work.home, user)
            workflow = self._workflows.setdefault(work.run, Workflow(join))
            self._tasks[task.id] = workflow.handed[task.id] = Handed(task, work)

    def _decided(self, handed: Handed, decision: records.Launch | records.Kill) -> None:
        if isinstance(decision, records.Launch):
            handed.launch, handed.being_killed = decision, False
        else:
            handed.being_killed = True
            self._end_at_once([handed])

    def _ended(self, handed: Handed, outcome: Outcome) -> None:
        own = structs.replace(outcome, task=handed.work.task.id, attempt=handed.work.attempt)
        self._over(handed, protocol.Ended(own))

    def _failed(self, handed: Handed, ending: Ending, message: str) -> None:
        """End an attempt that was not begun."""
        now = time.time()
        self._ended(handed, Outcome("", 0, ending, now, now, message=message))

    def _lost(self, record: records.NodeLost | records.Release) -> None:
        """Hand back what was running on a node that is gone, or in a job that was given back."""

        def was_there(launch: records.Launch | None) -> bool:
            if launch is None:
                return False
            return launch.node == record.node if isinstance(record, records.NodeLost) else launch.tag == record.tag

        handed_over = (handed for workflow in self._workflows.values() for handed in workflow.handed.values())
        running = [handed for handed in handed_over if was_there(handed.launch)]
        for handed in running:
            lost = protocol.Lost(handed.work.task.id, handed.work.attempt, excused=True)
            if isinstance(record, records.NodeLost):
                how = {"message": record.message, "expired": record.expired, "excused": record.excused}
                lost = structs.replace(lost, **how, alone=len(running) == 1)
            self._over(handed, lost)

    def _over(self, handed: Handed, end: _END) -> None:
        if handed.over:
            return
        handed.over, handed.launch = True, None
        self._over_tasks.append(handed.task.id)
        if len(self._over_tasks) > REMEMBERED:
            del self._tasks[self._over_tasks.popleft()]
        self._busy_at = time.monotonic()
        workflow = self._workflows[handed.work.run]
        workflow.handed.pop(handed.task.id, None)
        workflow.ends[handed.work.task.id, handed.work.attempt] = end
        workflow.send(end)
        if workflow.writer is not None:
            crash_point("end-told")
        self._answer_withdrawn(workflow)
        self._let_go(workflow)

    # --- members ---

    def _look_at_members(self) -> None:
        """Follow changes of who may use the pool, and how. The tasks of a former member are killed."""
        changed = self._members.look()
        for event in changed:
            self.tell(event)
        for workflow in self._workflows.values():
            if workflow.join.user in {event.share for event in changed}:
                workflow.send(self._room_for(workflow.join.user))
            if not workflow.revoked and not self._members.has(workflow.join.user):
                workflow.revoked = True
                self._foresee(workflow, ())
                for task in list(workflow.handed):
                    self._withdraw(task)
                self._let_go(workflow)
            self._end_at_once(workflow.handed.values())  # repeatedly: tasks may have started other processes since
        self._hang_up_on_former_members()

    def _end_at_once(self, tasks: Iterable[Handed]) -> None:
        """Kill those of the tasks that run for a former member, which otherwise have the grace time to end.

        A task that the run is not stopping yet is left alone: its end by a signal would count as a failure.
        """
        for handed in tasks:
            if handed.being_killed and not handed.over and self._workflows[handed.work.run].revoked:
                self.tell(SignalTask(handed.task.id, signal.SIGKILL))

    def _hang_up_on_former_members(self) -> None:
        """Close a former member's connections, but for those that end with a run's last task."""
        kept = {writer for it in self._workflows.values() for writer in (it.writer, *it.waiting_for_end)}
        for writer, caller in self._callers.items():
            if caller is not None and not self._members.has(caller.name) and writer not in kept:
                writer.close()

    def _let_go(self, workflow: Workflow) -> None:
        """Tell the manager of a former member, when nothing of that workflow runs."""
        if workflow.revoked and not workflow.handed and workflow.writer is not None:
            workflow.send(protocol.Refused(no_member(workflow.join.user)))
            workflow.writer.close()
            workflow.writer = None

    def _room_for(self, user: str) -> protocol.Room:
        return protocol.Room(self._members.part(user, self._room.offered()))

    def _handed_by(self, user: str) -> int:
        return sum(len(workflow.handed) for workflow in self._workflows.values() if workflow.join.user == user)

    async def _caller(self, writer: asyncio.StreamWriter) -> Caller:
        self._look_at_members()
        caller = self._members.caller(writer.get_extra_info("socket"))
        if isinstance(caller, Caller):
            return caller
        while self._handed_by(caller):  # a refusal means that nothing of theirs runs
            await asyncio.sleep(_LOOK_EVERY_S)
        raise InputError(no_member(caller))

    # --- the workflows' side ---

    async def _serve(self, listener: socket.socket) -> asyncio.Server:
        self._look_at_members()
        return await super()._serve(listener)

    async def _look_around(self) -> None:
        """End an idle pool, and one that drains when its last workflow is gone."""
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            self._look_at_members()
            busy = any(workflow.handed or workflow.writer for workflow in self._workflows.values())
            idle = self._idle_s is not None and time.monotonic() > self._busy_at + self._idle_s
            if busy:
                self._busy_at = time.monotonic()
            elif (idle or self._draining) and not self._no_more:
                self._draining = self._no_more = True
                self.tell(records.NoMoreTasks(time.time()))

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._callers[writer] = None
        workflow: Workflow | None = None
        try:
            caller = self._callers[writer] = await self._caller(writer)
            async for line in _lines(reader):
                message = protocol.decode_to_pool(line)
                if isinstance(message, protocol.Join):
                    workflow = self._join(message, caller, writer)
                elif workflow is None:
                    self._answer(message, caller, writer)
                elif workflow.writer is writer:
                    self._handle(workflow, message)
        except HeadwayError as error:
            writer.write(protocol.encode(protocol.Refused(str(error))))
            await _until_gone(reader)
        except (OSError, EOFError, ValueError, MsgspecError):  # gone or slow, or no message
            pass
        finally:
            del self._callers[writer]
            if workflow is not None and workflow.writer is writer:
                workflow.writer = None
                self._foresee(workflow, ())
            writer.close()

    def _join(self, join: protocol.Join, caller: Caller, writer: asyncio.StreamWriter) -> Workflow | None:
        """Serve the manager of a workflow; of two with the same workflow, the newest only."""
        if not self._members.has(caller.name):  # the connection is older than the revocation
            raise InputError(no_member(caller.name))
        known = self._workflows.get(join.run)
        self._members.check_run(join, caller, known.join.user if known else None)
        join = structs.replace(join, user=caller.name)
        if self._no_more or (self._draining and join.run not in self._workflows):
            writer.write(protocol.encode(protocol.Refused("the pool is stopping and takes no more workflows")))
            return None
        workflow = self._workflows.setdefault(join.run, Workflow(join))
        workflow.join, workflow.caller, workflow.revoked = join, caller, False
        if workflow.writer is not None:
            workflow.writer.close()
        workflow.writer = writer
        workflow.send(protocol.Hello("pool", os.getpid(), "", ""))
        workflow.send(self._room_for(join.user))
        for end in workflow.ends.values():
            workflow.send(end)
        return workflow

    def _handle(self, workflow: Workflow, message: protocol.ToPool) -> None:
        match message:
            case protocol.Start() | protocol.Foreseen() if workflow.revoked:
                pass
            case protocol.Start():
                self._start(workflow, message)
            case protocol.Stop():
                self._withdraw(_key(workflow.join.run, message.task, message.attempt))
            case protocol.Signal():
                self.tell(SignalTask(_key(workflow.join.run, message.task, message.attempt), message.number))
            case protocol.Noted():
                for ended in message.attempts:
                    workflow.ends.pop(ended, None)
                crash_point("noted")
            case protocol.Foreseen():
                self._foresee(workflow, message.coming)
            case protocol.Leave():
                self._foresee(workflow, ())
                for task in list(workflow.handed):
                    self._withdraw(task)
                workflow.ends.clear()
                workflow.writer = None
                if not workflow.handed:
                    del self._workflows[workflow.join.run]

    def _start(self, workflow: Workflow, start: protocol.Start) -> None:
        """Add an attempt to the run, or find it there."""
        join = workflow.join
        key = _key(join.run, start.task.id, start.attempt)
        if (end := workflow.ends.get((start.task.id, start.attempt))) is not None:
            workflow.send(end)
            return
        if (known := self._tasks.get(key)) is not None:
            if known.over:
                workflow.send(_end_on_disk(known.work))
            return
        if workflow.caller is not None and not workflow.caller.is_owner:
            handed = self._handed_by(join.user)
            self._members.check_start(join, workflow.caller, start, handed, self._room.offered())
        crash_point("handed-over")
        held = start.held or start.limits
        about = (join.run, join.directory, start.directory, join.home)
        work = Work(*about, start.task, start.attempt, held.replace(walltime_s=None), start.limits, start.expiries)
        task = Task(
            id=key,
            category=f"{join.name}/{start.task.category}",
            command="",
            priority=start.task.priority,
            sandbox=False,
            notice_s=start.task.notice_s,
            input_bytes=start.task.input_bytes,
            terms=Terms(key=key, on_exhausted="return", keep=True, share=_share(join)),
            work=work,
        )
        if self.tell(records.TasksAdded(time.time(), [task])):
            self._tasks[key] = workflow.handed[key] = Handed(task, work)

    def _foresee(self, workflow: Workflow, coming: Sequence[Coming]) -> None:
        """Let the run plan for what a workflow will hand over; nothing, if its manager is gone."""
        join = workflow.join
        named = tuple(structs.replace(each, category=f"{join.name}/{each.category}") for each in coming)
        if named != workflow.coming and self.tell(records.WorkForeseen(time.time(), _share(join), named)):
            workflow.coming = named

    def _withdraw(self, task: str) -> None:
        if task in self._tasks and not self._tasks[task].over:
            self.tell(records.TaskWithdrawn(time.time(), task))

    def _answer(self, message: protocol.ToPool, caller: Caller, writer: asyncio.StreamWriter) -> None:
        """Answer somebody who is not the manager of a workflow."""
        match message:
            case protocol.Ask():
                writer.write(protocol.encode(self._told(caller.name)))
            case protocol.Withdraw():
                workflow = self._workflows.get(message.run)
                if workflow is not None and workflow.join.user != caller.name and not caller.is_owner:
                    raise InputError("this run belongs to another user")
                if workflow is None or not workflow.handed:
                    writer.write(protocol.encode(self._told(caller.name)))
                    return
                workflow.waiting_for_end.append(writer)
                for task in list(workflow.handed):
                    self._withdraw(task)
            case protocol.Drain():
                if not caller.is_owner:
                    raise InputError("only the owner of a pool can stop it", todo=f"ask {self._members.owner}")
                self._draining = True
                if message.now:
                    self.tell(records.UserCancel(time.time(), "now", "`headway pool stop --now`"))
                writer.write(protocol.encode(self._told(caller.name)))

    def _answer_withdrawn(self, workflow: Workflow) -> None:
        if not workflow.handed:
            for writer in workflow.waiting_for_end:
                writer.write(protocol.encode(self._told(workflow.join.user)))
            workflow.waiting_for_end.clear()

    def _told(self, user: str) -> protocol.Told:
        room = self._room

        def part(whole: Resources) -> Resources:
            return self._members.part(user, whole)

        members = [
            _member(workflow) for workflow in self._workflows.values() if workflow.handed or workflow.writer is not None
        ]
        return protocol.Told(
            pid=os.getpid(),
            run=self.known_folder.run,
            cluster=room.cluster,
            limits=part(room.limits),
            larger=tuple(map(part, room.larger)),
            lends=room.lends,
            room=part(room.offered()),
            nodes=len(room.nodes),
            has=room.has(),
            draining=self._draining,
            members=members,
        )

    async def _end(self, message: str) -> None:
        await super()._end(message)
        await hang_up(list(self._callers))


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the lines of a caller; a `ValueError` if one is too long."""
    kept = bytearray()
    while part := await reader.read(_PART_BYTES):
        *ends, rest = part.split(b"\n")
        for end in ends:
            yield bytes(kept + end)
            kept.clear()
        kept += rest
        if len(kept) > protocol.LONGEST_LINE_BYTES:
            raise ValueError("this line is too long")


async def _until_gone(reader: asyncio.StreamReader) -> None:
    """Let somebody who was refused read why: a connection that is closed while they write would be lost with that."""
    with contextlib.suppress(OSError):  # includes TimeoutError
        async with asyncio.timeout(_READ_WHY_WITHIN_S):
            while await reader.read(_PART_BYTES):
                pass


def _share(join: protocol.Join) -> str:
    """Return the workflow's share: people share the pool, and a person's workflows what that person gets."""
    return f"{join.user}/{join.name.replace('/', '-')} {join.run}"


def _key(run: str, task: str, attempt: int) -> str:
    return f"{run}/{task}/{attempt}"


def _end_on_disk(work: Work) -> _END:
    """How an attempt ended of which only the journal and its own folder tell: the pool was restarted since."""
    outcome = AttemptFolder(Path(work.folder)).result()
    return protocol.Ended(outcome) if outcome else protocol.Lost(work.task.id, work.attempt, excused=True)


def _member(workflow: Workflow) -> protocol.Member:
    launches = [handed.launch for handed in workflow.handed.values() if handed.launch is not None]
    join = workflow.join
    return protocol.Member(
        run=join.run,
        name=join.name,
        directory=join.directory,
        number=join.number,
        user=join.user,
        connected=workflow.writer is not None,
        waiting=len(workflow.handed) - len(launches),
        running=len(launches),
        held=sum((launch.resources for launch in launches), Resources()),
    )
