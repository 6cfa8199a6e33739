"""The server of a run that grows by commands: clients on one side, the run's feed and records on the other."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import time
from collections import deque
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, structs

from headway.drivers.inbox import SignalTask
from headway.model import records
from headway.model.errors import BusyError, HeadwayError, InputError, SiteError
from headway.model.job import Wish
from headway.model.outcome import Ending, Outcome, Usage
from headway.model.task import Task
from headway.serving import messages
from headway.serving.commands import category_of, ends_programs, exit_code, reported, sized, task_of
from headway.serving.feed_server import FeedServer, check_user, hang_up
from headway.serving.wishes import read_wish, with_sbatch

Stream = Literal["stdout", "stderr"]
LINK = "service"  # in the folder .headway, for clients that do not know the run

_STREAMS: tuple[Stream, ...] = ("stdout", "stderr")
_CHUNK_BYTES = 256 * 1024
_POLL_S, _POLL_AT_MOST_S = 0.05, 1.0  # for output; less often while there is none
_ALONE_S = 60.0  # after a resume, for the client of a running command to come back
_NOT_RUN = "not-run"  # the cause of an end without an attempt: the command fits nowhere
_FLUSH_S = 5.0  # at the end, for clients to take what they are told
# A service lives for weeks. Of the commands that are over and whose clients were told so, this many are remembered, for
# clients that ask again; that is more than the engine remembers, which refuses a task that it knows.
REMEMBERED = 2_000
_REMEMBERED_QUOTES = 10_000  # for tasks that run elsewhere, which never say that they are over


class Command(Struct, eq=False):
    """A command of the run, and the client that waits for it."""

    task: Task
    changed: asyncio.Event
    client: Client | None = None
    id: str | int | None = None  # of the client's request
    journalled: bool = False
    launch: records.Launch | None = None  # the newest
    outcome: Outcome | None = None  # of the newest attempt that ended
    ended: messages.Ended | None = None
    running: bool = False
    withdrawn: bool = False
    told: bool = False  # its client was told of its end
    alone_since: float | None = None

    @property
    def never_ran(self) -> bool:
        """Whether it was called off before its first attempt: its client may submit it again."""
        return self.ended is not None and self.launch is None and self.withdrawn


class Client:
    """A connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.commands: set[str] = set()
        self.welcome = False
        self.told = {""}  # remarks

    def send(self, message: messages.Event) -> None:
        """Send a message, if the client is still there."""
        if not self.writer.is_closing():
            self.writer.write(messages.encode(message))


class CommandServer(FeedServer):
    """A submission is answered when it is in the journal; output is read from the files of the attempt."""

    link = LINK
    longest_line_bytes = messages.LONGEST_LINE_BYTES

    def __init__(self, idle_s: float | None = None) -> None:
        super().__init__()
        self._idle_s = idle_s
        self._commands: dict[str, Command] = {}
        self._by_key: dict[str, Command] = {}
        self._quotes: dict[str, records.Quote] = {}
        self._quoting: dict[str, list[tuple[Client, messages.Quote]]] = {}
        self._quoted_elsewhere: deque[str] = deque()
        self._over_commands: deque[str] = deque()  # commands that are over and may be forgotten, in the order of that
        self._forgotten = 0
        self._clients: set[Client] = set()
        self._following: dict[asyncio.Task[None], Command] = {}
        self._own = dict(os.environ)
        self._in_jobs = False
        self._uid = ""  # of the run
        self._wishes: set[Wish] = set()  # that the run knows of
        self._number = 0  # of the last command
        self._left = 0  # commands that have not ended
        self._busy_at = time.monotonic()
        self._stopping = False

    # --- the run's side ---

    def _caught_up(self) -> None:
        self._busy_at = time.monotonic()
        for command in self._commands.values():
            command.alone_since = None if command.task.terms.keep else self._busy_at

    def _take(self, batch: Sequence[records.Event | records.Decision]) -> None:
        for record in batch:
            match record:
                case records.RunStarted():
                    self._in_jobs, self._uid = bool(record.plan), record.uid
                case records.LimitsRead(wish=Wish() as wish):
                    self._wishes.add(wish)
                case records.TasksAdded():
                    for task in record.tasks:
                        self._added(task)
                case records.QuoteAsked() | records.Quote():
                    self._quoted(record)
                case records.Launch() if record.task in self._commands:
                    command = self._commands[record.task]
                    command.launch, command.running = record, True
                    command.changed.set()
                case records.NodeLost() | records.Release():
                    self._lost(record)
                case records.TaskEnded() if record.outcome.task in self._commands:
                    self._attempt_ended(self._commands[record.outcome.task], record.outcome)
                case records.TaskWithdrawn() if record.task in self._commands:
                    command = self._commands[record.task]
                    command.withdrawn = True
                    if not command.running:
                        self._over(command, Ending.CANCELLED, "it was cancelled")
                case records.GiveUp() if record.task in self._commands:
                    command = self._commands[record.task]
                    self._over(command, command.outcome.ending if command.outcome else _NOT_RUN, record.why.text)

    def _added(self, task: Task) -> None:
        command = self._commands.get(task.id)
        if command is None:  # of the journal of a run that is resumed
            command = self._commands[task.id] = Command(task, asyncio.Event())
            self._left += 1
            self._number += 1
            if task.terms.key:
                self._by_key[task.terms.key] = command
        command.journalled = True
        command.changed.set()

    def _attempt_ended(self, command: Command, outcome: Outcome) -> None:
        command.outcome, command.running = outcome, False
        if outcome.ending is Ending.SUCCESS or command.withdrawn:
            self._over(command, outcome.ending, outcome.message)
        command.changed.set()

    def _lost(self, record: records.NodeLost | records.Release) -> None:
        """Note that attempts ended with their node or their job; the run starts them again elsewhere."""
        for command in self._commands.values():
            launch = command.launch
            if launch is None or not command.running:
                continue
            if launch.node == record.node if isinstance(record, records.NodeLost) else launch.tag == record.tag:
                command.running = False
                if command.withdrawn:
                    self._over(command, Ending.CANCELLED, "it was cancelled")

    def _over(self, command: Command, cause: str, message: str) -> None:
        if command.ended is not None:
            return
        usage = command.outcome.usage if command.outcome else Usage()
        figures = {name: getattr(usage, name) for name in ("memory_bytes", "wall_s", "cpu_s")}
        command.ended = messages.Ended(
            task=command.task.id,
            exit_code=exit_code(command.outcome, str(cause)),
            cause=str(cause),
            message=message,
            attempts=command.launch.attempt if command.launch else 0,
            **{name: it.value for name, it in figures.items() if it is not None},
        )
        self._left -= 1
        self._busy_at = time.monotonic()
        command.changed.set()
        if not command.task.terms.keep:  # of one that is kept, its client may ask after days
            self._may_forget(command)

    def _may_forget(self, command: Command) -> None:
        """Remember a command for some time only; one whose client still listens stays."""
        self._over_commands.append(command.task.id)
        for _ in range(len(self._over_commands) - REMEMBERED):
            oldest = self._commands[self._over_commands.popleft()]
            if oldest.client is not None and not oldest.told:
                self._over_commands.append(oldest.task.id)
                continue
            terms = oldest.task.terms
            del self._commands[oldest.task.id]
            self._quotes.pop(terms.quote, None)
            if self._by_key.get(terms.key) is oldest:
                del self._by_key[terms.key]
            self._forgotten += 1

    def _quoted(self, record: records.QuoteAsked | records.Quote) -> None:
        if isinstance(record, records.QuoteAsked):
            if record.elsewhere:
                self._quoted_elsewhere.append(record.quote)
            while len(self._quoted_elsewhere) > _REMEMBERED_QUOTES:
                self._quotes.pop(self._quoted_elsewhere.popleft(), None)
            return
        self._quotes[record.quote] = record
        for client, request in self._quoting.pop(record.quote, ()):
            self._answer_quote(client, request)

    def _answer_quote(self, client: Client, request: messages.Quote) -> None:
        quote = self._quotes[request.quote]
        if quote.resources is None:
            text = next(iter(quote.why.values())).text
            client.send(messages.Error(id=request.id, message=f"no amount would be enough: {text}"))
            return
        amounts = {name: value for name, value in quote.resources.amounts().items() if value is not None}
        client.send(messages.Quoted(id=request.id, quote=request.quote, amounts=amounts))

    # --- the clients' side ---

    async def _look_around(self) -> None:
        """End an idle service, and cancel commands whose clients did not come back."""
        while True:
            await asyncio.sleep(_POLL_AT_MOST_S)
            now = time.monotonic()
            rests = not self._left and not self._clients and not self._stopping
            if self._idle_s is not None and rests and now > self._busy_at + self._idle_s:
                self._stop()
            for command in [*self._commands.values()] if self._left else ():
                if command.ended is None and command.alone_since and now > command.alone_since + _ALONE_S:
                    command.alone_since = None
                    self.tell(records.TaskWithdrawn(time.time(), command.task.id))

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Client(writer)
        self._clients.add(client)
        try:
            check_user(writer.get_extra_info("socket"), "service")
            while line := await reader.readline():
                if not await self._handle(client, line):
                    break
        except HeadwayError as error:
            client.send(messages.Error(message=str(error)))
        except (ConnectionError, ValueError):  # gone, or a line without end
            client.send(messages.Error(message="a message is one line of JSON of at most 16 MiB"))
        finally:
            self._clients.discard(client)
            self._busy_at = time.monotonic()
            for task_id in client.commands & self._commands.keys():
                self._left_alone(self._commands[task_id], client)
            writer.close()

    def _left_alone(self, command: Command, client: Client) -> None:
        """Cancel the command of a client that is gone, unless it is to be kept."""
        if command.client is client:
            command.client = None
            if command.ended is None and not command.task.terms.keep:
                self.tell(records.TaskWithdrawn(time.time(), command.task.id))

    async def _handle(self, client: Client, line: bytes) -> bool:
        """Do what a message asks for; return False to end the conversation. A bad message gets a sentence."""
        request: messages.Requests | None = None
        try:
            request = messages.decode(line)
            if isinstance(request, messages.Hello):
                return self._greet(client, request)
            if not client.welcome:
                raise InputError("the first message is hello", todo='send {"do": "hello", "version": 1}')
            if isinstance(request, messages.Quote | messages.Submit) and (request.wish or request.sbatch):
                request = await self._granted(client, request)
            self._do(client, request)
        except HeadwayError as error:
            client.send(messages.Error(id=request.id if request else None, message=str(error)))
        return True

    async def _granted(
        self, client: Client, request: messages.Quote | messages.Submit
    ) -> messages.Quote | messages.Submit:
        """Return the request with the wish that the cluster can grant; none on one machine."""
        elsewhere = isinstance(request, messages.Quote) and request.elsewhere
        if not self._in_jobs or elsewhere:
            return structs.replace(request, wish={}, sbatch="")
        request, remark = with_sbatch(request)
        if remark not in client.told:
            client.told.add(remark)
            client.send(messages.Remark(message=remark))
        wish = read_wish(request.wish)
        if wish is not None and wish not in self._wishes:
            try:
                site = await asyncio.to_thread(self.site, wish)
            except SiteError as error:
                raise InputError(f"it asks for {wish}: {error.what}", todo=error.todo) from error
            if site is not None and wish not in self._wishes:
                self._wishes.add(wish)
                self.tell(site)
        return request

    def _greet(self, client: Client, request: messages.Hello) -> bool:
        if request.version != messages.VERSION:
            text = f"this service speaks version {messages.VERSION}, not {request.version}; install the same Headway"
            client.send(messages.Error(id=request.id, message=text))
            return False
        client.welcome = True
        run = self.known_folder.run
        client.send(
            messages.Welcome(request.id, version=messages.VERSION, run=run, pid=os.getpid(), in_jobs=self._in_jobs)
        )
        return True

    def _do(self, client: Client, request: messages.Requests) -> None:
        now = time.time()
        match request:
            case messages.Submit():
                self._submit(client, request)
            case messages.Quote():
                self._quote(client, request)
            case messages.Report():
                for observation in reported(request, self._uid):
                    self.tell(records.TaskReported(now, observation))
            case messages.Cancel():
                self._find(request.task)
                self.tell(records.TaskWithdrawn(now, request.task))
            case messages.Signal():
                waits = self._find(request.task).launch is None and ends_programs(request.signal)
                self.tell(
                    records.TaskWithdrawn(now, request.task) if waits else SignalTask(request.task, request.signal)
                )
            case messages.Status():
                running = sum(each.ended is None and each.launch is not None for each in self._commands.values())
                ended = self._forgotten + len(self._commands) - self._left
                waiting = self._left - running
                client.send(
                    messages.Counts(
                        request.id, run=self.known_folder.run, waiting=waiting, running=running, ended=ended
                    )
                )
            case messages.Stop():
                self._stop()
                client.send(messages.Stopping(request.id))

    def _find(self, task: str) -> Command:
        if task not in self._commands:
            raise InputError(f"there is no command {task!r} here")
        return self._commands[task]

    def _stop(self) -> None:
        self._stopping = True
        self.tell(records.NoMoreTasks(time.time()))

    def _quote(self, client: Client, request: messages.Quote) -> None:
        if request.quote in self._quotes:
            self._answer_quote(client, request)
            return
        asked = self._quoting.setdefault(request.quote, [])
        asked.append((client, request))
        if len(asked) == 1:
            task = sized(request, Task(request.quote, category_of(request), ""))
            failures = dict(request.failures)
            self.tell(records.QuoteAsked(time.time(), request.quote, task, failures, request.elsewhere))

    def _submit(self, client: Client, request: messages.Submit) -> None:
        """Add a command to the run, or find the one that was added with the same key."""
        command = self._by_key.get(request.key) if request.key else None
        if command is None or command.never_ran:
            if self._stopping:
                raise BusyError("the service is stopping and takes no more commands")
            self._number += 1
            task = task_of(request, self._number, self._own, in_jobs=self._in_jobs)
            if task.id in self._commands or self._was_here(task, request):
                raise InputError(f"there is already a command {task.id!r} here", todo="give it another 'name'")
            if task.terms.quote and task.terms.quote not in self._quotes:
                raise InputError(f"there is no quote {task.terms.quote!r} here", todo="ask for it before")
            command = Command(task, asyncio.Event())
            if not self.tell(records.TasksAdded(time.time(), [task])):
                raise BusyError("the service is stopping and takes no more commands")
            self._commands[task.id] = command
            self._left += 1
            if request.key:
                self._by_key[request.key] = command
        command.client, command.id, command.alone_since = client, request.id, None
        client.commands.add(command.task.id)
        following = asyncio.create_task(self._follow(command, client, request))
        self._following[following] = command
        following.add_done_callback(self._following.pop)

    def _was_here(self, task: Task, request: messages.Submit) -> bool:
        """Whether a command of this name ran here, also if it is forgotten: its files are there."""
        return bool(request.name) and self.known_folder.attempt(task.id, 1).exists()

    async def _follow(self, command: Command, client: Client, request: messages.Submit) -> None:
        """Tell a client what happens to its command, in order, with all output before the end."""
        task_id, attempt = command.task.id, request.attempt
        seen = {"stdout": request.stdout, "stderr": request.stderr}
        while not command.journalled:
            await self._news(command, _POLL_AT_MOST_S)
        client.send(messages.Submitted(request.id, task=task_id))
        pause_s = _POLL_S
        files = self._files(task_id, attempt)
        while command.client is client:
            ended, launch = command.ended, command.launch
            passed = await self._pass_output(command, client, files, seen) if attempt and request.output else 0
            if launch is not None and launch.attempt > attempt:
                attempt, seen = launch.attempt, dict.fromkeys(seen, 0)
                files = self._files(task_id, attempt)
                client.send(_started(request.id, launch))
            elif ended is not None:
                client.send(structs.replace(ended, id=request.id))
                self._told(command, client)
                return
            else:
                pause_s = _POLL_S if passed else min(1.5 * pause_s, _POLL_AT_MOST_S)
                await self._news(command, pause_s if attempt and request.output else None)

    def _told(self, command: Command, client: Client) -> None:
        """Let go of a command whose client knows how it ended."""
        client.commands.discard(command.task.id)
        if command.task.terms.keep and not command.told:
            self._may_forget(command)
        command.told = True

    async def _news(self, command: Command, within_s: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await command.changed.wait()
        command.changed.clear()

    async def _pass_output(
        self, command: Command, client: Client, files: dict[Stream, str], seen: dict[str, int]
    ) -> int:
        """Send what an attempt has written to its files beyond what was seen; return how many bytes that is."""
        passed = 0
        for stream, path in files.items():
            try:
                if os.stat(path).st_size <= seen[stream]:  # most often; the file need not be opened
                    continue
                with open(path, "rb") as file:
                    file.seek(seen[stream])
                    while data := file.read(_CHUNK_BYTES):
                        text = base64.b64encode(data).decode()
                        client.send(messages.Output(command.id, task=command.task.id, stream=stream, data=text))
                        seen[stream] += len(data)
                        passed += len(data)
                        await client.writer.drain()
            except OSError:  # nothing written yet, or the client is gone, which `_talk` sees
                continue
        return passed

    def _files(self, task: str, attempt: int) -> dict[Stream, str]:
        """Return the files to which an attempt writes, by stream."""
        folder = os.fspath(self.known_folder.attempt(task, attempt))
        return {stream: f"{folder}/{stream}" for stream in _STREAMS}

    async def _end(self, message: str) -> None:
        """Tell all clients that still wait that the service ends, and let them take what was sent."""
        await super()._end(message)
        telling = [task for task, command in self._following.items() if command.ended]
        if telling:
            await asyncio.wait(telling, timeout=_FLUSH_S)
        for task in [*self._following]:
            task.cancel()
        for client in list(self._clients):
            client.send(messages.Stopping(message=message))
        await hang_up([client.writer for client in self._clients])


def _started(request: str | int | None, launch: records.Launch) -> messages.Started:
    may_use = launch.ceiling or launch.resources
    return messages.Started(
        request,
        task=launch.task,
        attempt=launch.attempt,
        node=launch.node,
        cores=may_use.cores,
        memory_bytes=may_use.memory_bytes,
    )
