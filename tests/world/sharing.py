"""Stories of a pool: its owner, and users whose workflows share it. Each of their managers may die and be resumed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from greenlet import greenlet
from msgspec import Struct

from headway.clusters.local import RunJobs
from headway.clusters.pooled import PooledCluster
from headway.drivers import runs
from headway.drivers.assemble import plans, sizers
from headway.drivers.run_settings import POOL, RunSettings
from headway.drivers.targets import Target
from headway.journal.folder import Project, RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model.errors import HeadwayError, SiteError
from headway.model.records import RunStarted
from headway.model.workflow import Workflow
from headway.serving import pool_server
from headway.serving.callers import Caller
from headway.serving.pool_server import PoolServer
from headway.workers import protocol
from headway.workers.pool_place import LINK
from headway.workers.pooled_connection import PooledConnections
from tests.world.batch import BatchSystem, Lines, View
from tests.world.clock import Killed, Process, StuckError, World
from tests.world.faults import AT_A_BOUNDARY, Fate, Fault, Kind, faults_of
from tests.world.flows import made_up
from tests.world.laws import Laws
from tests.world.lines import Direction, Line
from tests.world.nodes import Behaviour, Commands
from tests.world.story import SELDOM_S, Telling

OWNER = Caller("owner", is_owner=True)
_MOST_SESSIONS = 40
_LONGEST_REST_S = 1200.0  # until a user resumes a run
_LATEST_S = 600.0  # when a workflow begins to use the pool
_LOOK_S = 60.0  # how often the owner looks whether the pool can be stopped
_CANCELS = 0.1  # of all rests, at the end of which the user first cancels the run
_ANSWER_S = 0.2  # the longest that a connection takes
_NAMES = ("a", "b", "c")
_MORE_BOUNDARIES = 3  # times as many as in a story of one run
_MOST_DEATHS = 3  # of managers, besides the faults of any story


def faults_of_pool(seed: int) -> list[Fault]:
    """Choose what goes wrong."""
    chance = random.Random(f"deaths {seed}")
    found = faults_of(seed) + [
        Fault(AT_A_BOUNDARY[0], chance.randint(1, 250)) for _ in range(chance.randint(0, _MOST_DEATHS))
    ]
    return [Fault(each.kind, each.at * (_MORE_BOUNDARIES if each.kind in AT_A_BOUNDARY else 1)) for each in found]


class End:
    """One end of a line to the pool, as a writer of a stream."""

    def __init__(self, line: Line, process: Process, direction: Direction) -> None:
        self._line, self._process, self._direction = line, process, direction

    def write(self, data: bytes) -> None:
        if self._process.alive:
            self._line.send(self._direction, data)

    def is_closing(self) -> bool:
        return not self._line.is_open

    def close(self) -> None:
        if self._process.alive:
            self._line.hang_up()

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def get_extra_info(self, name: str) -> None:
        """Say nothing: everybody in this world is the pool's owner."""


class Answers(list[bytes]):
    """What the pool answers to somebody who waits for that."""

    write = list.append


class Server(PoolServer):
    """The pool's server, in the loop of its manager instead of a thread of its own."""

    def __init__(self, directory: Path, process: Process) -> None:
        super().__init__(directory)
        self._loop.close()
        self._loop = process.loop
        self._process = process
        self._members.owner = OWNER.name
        self._members.caller = self._owner  # type: ignore[method-assign]

    def _owner(self, *_: object) -> Caller:
        return OWNER

    def _begin(self, batch: Any) -> None:
        begun = SimpleNamespace(start=lambda: None)
        with mock.patch.object(self, "_thread", begun), mock.patch.object(asyncio, "run_coroutine_threadsafe", at_once):
            super()._begin(batch)

    async def _serve(self, listener: Any) -> Any:
        listener.close()  # the link to it is real, and what is said is not
        self._look_at_members()
        self._watch = self._process.start(self._look_around())
        return self

    @property
    def serves(self) -> bool:
        return self._server is not None and self._process.alive and not self._process.loop.is_closed()

    def talk_with(self, manager: Process, fate: SharedFate) -> tuple[asyncio.StreamReader, End]:
        """Connect a manager to this server."""
        line = Line(self._process.world, manager, self._process, fate)
        fate.lines.append(line)
        self._process.start(self._talk(line.down.reader, End(line, self._process, line.up)))  # type: ignore[arg-type]
        return line.up.reader, End(line, manager, line.down)

    def answer(self, message: protocol.ToPool) -> Answers:
        answers = Answers()
        self._answer(message, OWNER, answers)  # type: ignore[arg-type]
        return answers

    def leave(self, *, ended: bool) -> None:
        """Stop serving, as `close` does."""
        self.detach()
        if ended:
            (Project(self.known_folder.directory).path / LINK).unlink(missing_ok=True)


def at_once(work: Any, loop: asyncio.AbstractEventLoop) -> Any:
    """Do the work of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return SimpleNamespace(result=partial(getattr, end, "value"))
    raise AssertionError("it waits")


class Place:
    """Where the pool is, in the place of a `PoolPlace`, for one manager."""

    name, start = "shared", "headway pool start shared"

    def __init__(self, sharing: Sharing, manager: Process) -> None:
        self._sharing, self._world, self._manager = sharing, sharing.world, manager

    @property
    def exists(self) -> bool:
        return (self._sharing.home / ".headway" / LINK).is_symlink()

    def _server(self) -> Server:
        server = self._sharing.server
        if server is None or not server.serves:
            raise SiteError("the pool does not answer")
        return server

    async def open(self) -> tuple[asyncio.StreamReader, End]:
        await asyncio.sleep(self._world.moment_s(_ANSWER_S))
        try:
            return self._server().talk_with(self._manager, self._sharing.fate)
        except SiteError:
            raise ConnectionRefusedError from None

    def is_ours(self, connection: object) -> bool:
        return True

    def told(self) -> protocol.Told:
        return self._server()._told(OWNER.name)

    def ask(self, message: protocol.ToPool, timeout_s: float | None = None) -> None:
        server = self._server()
        answers = server.answer(message)
        if not answers:
            self._world.wait_until(lambda: answers or not server.serves)
        if not answers:
            raise SiteError("the pool does not answer")


class SharedFate(Fate):
    """Lets faults happen to one of several managers."""

    def __init__(self, world: World, faults: Sequence[Fault]) -> None:
        super().__init__(world, faults)
        self.managers: list[Process] = []
        self.lines: list[Line] = []  # between workflows and the pool

    def is_manager(self, process: Process) -> bool:
        return process in self.managers

    def _a_manager(self, kind: Kind) -> Process | None:
        alive = [process for process in self.managers if process.alive]
        if kind == "user stops the run":  # a pool that is stopped while it has nothing to do is over
            alive = [process for process in alive if process.name != POOL]
        return self.world.random.choice(alive) if alive else None

    def _happen(self, fault: Fault) -> None:
        if fault.kind == "line breaks":
            for line in self.lines:
                line.cut()
            self.lines.clear()
        super()._happen(fault)


class SharedCommands(Commands):
    """Commands that a pool's supervisors run: the pool's task is named for the attempt that it stands for."""

    def named(self, key: str) -> tuple[str, str]:
        return super().named(key.rpartition("/")[0])


class Member(Struct, eq=False):
    """A workflow that uses the pool."""

    workflow: Workflow
    directory: Path
    options: RunSettings
    is_over: bool = False


class Sharing(Telling):
    """The world of one seed, the owner of a pool in it, and its users."""

    def __init__(self, seed: int, faults: Sequence[Fault], directory: Path) -> None:
        self.world = world = World(seed)
        world.most_steps *= 3  # several managers look around, for hours
        self.fate: SharedFate = SharedFate(world, faults)
        self.home, self.server = directory / "pool", None
        self.home.mkdir()
        self._directory = directory
        self._chance = chance = random.Random(f"users {seed}")
        behaviours: dict[str, Behaviour] = {}
        self._members: list[Member] = []
        for name in _NAMES[: chance.randint(1, len(_NAMES))]:
            self._members.append(self._member(name, seed, behaviours))
        tasks = {task.id: task for member in self._members for task in member.workflow}
        self.commands = SharedCommands(world, tasks, behaviours)
        jobs, shrinks = lambda: Project(self.home).runs()[-1].jobs, chance.random() < 0.5
        self._batch = self.fate.batch = BatchSystem(world, self.commands, jobs, shrinks=shrinks)
        self._all_laws = {self.home: Laws(self.commands, self._batch, self.home, ())}
        for member in self._members:
            self._all_laws[member.directory] = Laws(self.commands, self._batch, member.directory, member.workflow)
        plan = chance.choice(sorted(plans()))
        self._options = RunSettings(cluster="world", plan=plan, history="none", seed=seed, keep_going=True, again=True)
        self._drivers = {}
        world.tell(f"a pool with plan {plan}, {len(tasks)} tasks of {len(self._members)} workflows")

    server: Server | None

    def _member(self, name: str, seed: int, behaviours: dict[str, Behaviour]) -> Member:
        workflow, does = made_up(self._chance, name)
        behaviours |= does
        directory = self._directory / name
        directory.mkdir()
        sizer = self._chance.choice(sorted(sizers()))
        options = RunSettings(cluster=POOL, batch={POOL: "shared"}, sizer=sizer, history="none", seed=seed)
        return Member(workflow, directory, options)

    # --- the users ---

    def tell(self) -> None:
        """Let the owner start the pool, and the users run their workflows until all have succeeded."""
        with self._in_place():
            users = [greenlet(self._own_pool), *(greenlet(partial(self._use_pool, member)) for member in self._members)]
            for user in users:
                user.switch()
            while not all(user.dead for user in users):
                self.world.step()
            for member in self._members:
                self._all_laws[member.directory].check_results()
            self.world.pass_by(_LONGEST_REST_S)
            self._all_laws[self.home].check_nothing_is_left()
            self.world.judge()

    def _own_pool(self) -> None:
        """Start the pool again whenever it has died, and stop it when nobody will use it any more."""
        self.world.after(_LOOK_S, self._stop_pool)
        for _ in range(_MOST_SESSIONS):
            if self._session(POOL, self._start_pool) == "succeeded":
                return
            self._rest(_LONGEST_REST_S)
        raise StuckError(f"{_MOST_SESSIONS} starts of the pool were not enough")

    def _stop_pool(self) -> None:
        if all(member.is_over for member in self._members) and self.server is not None and self.server.serves:
            self.server.answer(protocol.Drain(now=False))
        self.world.after(_LOOK_S, self._stop_pool)

    def _use_pool(self, member: Member) -> None:
        """Run a workflow, and resume it until it has succeeded."""
        self._rest(_LATEST_S)
        name = member.workflow.name
        for _ in range(_MOST_SESSIONS):
            ending = self._session(f"manager of {name}", partial(self._start_or_go_on, member))
            if ending == "succeeded":
                member.is_over = True
                return
            self.world.require(ending in ("stopped", ""), f"{name} has {ending}")
            self._rest(_LONGEST_REST_S)
            folder = _begun(member.directory)
            if folder is not None and self._chance.random() < _CANCELS:
                self._session(f"`headway cancel` of {name}", partial(runs.cancel, folder, self.world.tell))
        raise StuckError(f"{_MOST_SESSIONS} sessions were not enough for {name}")

    def _rest(self, longest_s: float) -> None:
        over: list[bool] = []
        self.world.after(self.world.moment_s(longest_s), lambda: over.append(True))
        self.world.wait_until(lambda: over)

    def _session(self, name: str, work: Callable[[], object]) -> str:
        process = self.world.session = Process(self.world, name)
        self.fate.managers.append(process)
        said = ""
        try:
            said = str(work())
            self.world.tell(f"{name} says: {said}")
        except Killed:
            self.world.tell(f"{name} is dead")
        except HeadwayError as error:
            self.world.tell(f"{name} says: {error}".replace(str(self._directory), "."))
            if "is over (succeeded)" in error.what:  # and the last manager died before it could say so
                said = "succeeded"
        process.end()
        self.world.session = None
        return said

    def _start_or_go_on(self, member: Member) -> str:
        if (folder := _begun(member.directory)) is None:
            return runs.start(member.workflow, member.directory, member.options, warn=self.world.tell)[1]
        return runs.resume(folder, member.options, warn=self.world.tell)

    def _start_pool(self) -> str:
        assert self.world.session is not None
        self.server = server = Server(self.home, self.world.session)
        words: dict[str, Any] = {"observers": [server.observe], "warn": self.world.tell, "feed": server}
        ending = ""
        try:
            if (folder := _begun(self.home)) is None:
                ending = runs.start(Workflow(POOL, []), self.home, self._options, **words)[1]
            else:
                ending = runs.resume(folder, self._options, **words)
            return ending
        finally:
            if self.world.session.alive and server.folder is not None:
                server.leave(ended=ending not in ("", "stopped"))

    # --- the world's parts in the place of the real ones ---

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(super()._in_place())
            for owner, name, stand_in in (
                (pool_server, "crash_point", self.fate.boundary),
                (pool_server, "_LOOK_EVERY_S", SELDOM_S),
                (PooledCluster, "look_every_s", SELDOM_S),
            ):
                stack.enter_context(mock.patch.object(owner, name, stand_in))
            yield

    def _laws_of(self, journal: SqliteJournal) -> Laws:
        return self._all_laws[journal._path.parents[3]]

    def _target(self, settings: RunStarted, folder: RunFolder, options: RunSettings, **_: object) -> Target:
        manager = self.world.session
        assert manager is not None
        told = (options.linger_s, options.grace_s, options.measure)
        jobs = RunJobs(settings.uid, str(folder.directory), folder.jobs, *told)
        if settings.cluster != POOL:
            lines = Lines(folder.jobs, self._batch, manager, self.fate)
            return Target(View(self._batch, manager, self.fate.boundary), lines, jobs)
        place: Any = Place(self, manager)
        cluster = PooledCluster(jobs, place, settings.stated, lenient=True)
        home = str(folder.jobs / "home.json")
        join = protocol.Join(settings.uid, settings.name, str(folder.directory), folder.run, home, OWNER.name)
        return Target(cluster, PooledConnections(folder.jobs, place, join, cluster.part), jobs)

    def _run(self, work: Any) -> str:
        process = self.world.session
        assert process is not None
        task = process.start(work)
        self.world.wait_until(lambda: task.done() or not process.is_there)
        if not process.is_there:
            raise Killed
        return str(task.result())


def _begun(directory: Path) -> RunFolder | None:
    folders = Project(directory).runs()
    return folders[-1] if folders and folders[-1].journal.exists() else None
