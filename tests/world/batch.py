"""A batch system of the world, and a manager's view of it: late, sometimes silent, sometimes wrong about a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from msgspec import Struct, structs

from headway.clusters.base import Cluster, JobNews
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending
from headway.model.records import QueueRead
from headway.model.resources import Resources
from headway.workers.connection import Connection, Connections
from tests.world.clock import BEGIN, Process, World
from tests.world.lines import Fate, Line, ManagersEnd
from tests.world.nodes import Commands, Node

NODES = 4
HAS = Resources(cores=4, memory_bytes=16 * 10**9, disk_bytes=10**12)
LONGEST_S = 4 * 3600.0
_GRACE_S = 30.0  # from the signal at the end of a job's time to its death
_LATE_S = 20.0  # how old an answer may be
_UNKNOWN = 0.01  # of all answers


class Job(Struct, eq=False):
    """A job, and all that could ever be seen of it."""

    number: int
    tag: str
    request: JobRequest
    after: str | None
    seen: list[tuple[float, JobNews]]
    nodes: list[Node] = []
    waits: bool = True  # for its turn, whatever is free

    @property
    def news(self) -> JobNews:
        return self.seen[-1][1]

    @property
    def is_live(self) -> bool:
        return self.news.phase is not JobPhase.ENDED


class BatchSystem:
    """Grants nodes to jobs after a while."""

    longest_wait_s = 900.0

    def __init__(
        self, world: World, commands: Commands, jobs: Callable[[], Path], *, shrinks: bool, others_s: float = 0.0
    ) -> None:
        self.world = world
        self.commands = commands
        self.jobs: dict[str, Job] = {}
        self.silent_until = BEGIN  # a time: no event would end the silence while a thread sleeps
        self.forgets = False  # to answer when it has done what it was told
        self.shrinks = shrinks
        self._folder = jobs
        self._others_until = world.now + others_s  # the jobs of others have all nodes until then
        self._free: list[str] = []
        self._others_end()
        if not self._free:
            world.after(others_s, self._others_end)

    def _others_end(self) -> None:
        if self.world.now >= self._others_until:
            self._free = [f"n{number}" for number in range(NODES)]
            self._start_jobs()

    @property
    def is_silent(self) -> bool:
        return self.world.now < self.silent_until

    def submit(self, request: JobRequest, tag: str, after: str | None) -> None:
        if tag in self.jobs:
            return
        self.world.tell(f"job {tag} is submitted: {request.per_node}")
        number = len(self.jobs) + 1
        job = Job(number, tag, request, after, [(self.world.now, JobNews(JobPhase.PENDING, number))])
        asked = request.per_node
        self.world.require(1 <= asked.nodes <= NODES, f"{tag} asks for {asked.nodes} nodes")
        self.world.require(0 < (asked.walltime_s or 1) <= LONGEST_S, f"{tag} asks for {asked.walltime_s} s")
        self.jobs[tag] = job

        def turn() -> None:
            job.waits = False
            self._start_jobs()

        self.world.after(self.world.moment_s(self.longest_wait_s), turn)

    def _start_jobs(self) -> None:
        for job in self.jobs.values():
            before = self.jobs.get(job.after or "")
            held = job.waits or (before is not None and before.is_live)
            wanted = job.request.per_node.nodes
            if job.news.phase is JobPhase.PENDING and not held and len(self._free) >= wanted:
                names, self._free = self._free[:wanted], self._free[wanted:]
                self._start(job, names)

    def _start(self, job: Job, names: list[str]) -> None:
        self.world.tell(f"job {job.tag} starts on {', '.join(names)}")
        asked = job.request.per_node
        has = (HAS.cores, HAS.memory_bytes) if not job.request.places else (asked.cores, asked.memory_bytes)
        self._see(job, phase=JobPhase.RUNNING, started_at=self.world.now, nodes=tuple(names))
        job.nodes = [
            Node(self.commands, self._folder(), job.tag, name, has, lambda: self._node_ended(job)) for name in names
        ]
        life = job.news.restarts
        if asked.walltime_s is not None:
            self.world.after(asked.walltime_s, lambda: self._time_up(job, life))

    def _see(self, job: Job, **news: object) -> None:
        job.seen.append((self.world.now, structs.replace(job.news, **news)))

    def _time_up(self, job: Job, life: int) -> None:
        if job.is_live and job.news.restarts == life:
            for node in job.nodes:
                node.signal()
            self.world.after(_GRACE_S, lambda: self.end(job, Ending.TIME, "its time is up"))

    def _node_ended(self, job: Job) -> None:
        if job.is_live and all(node.is_gone for node in job.nodes):
            self.end(job, Ending.SUCCESS, "")

    def end(self, job: Job, ending: Ending, message: str) -> None:
        if not job.is_live:
            return
        self.world.tell(f"job {job.tag} ends: {ending.value}")
        self._give_up_nodes(job)
        self._see(job, phase=JobPhase.ENDED, ended_at=self.world.now, ending=ending, message=message)
        self._start_jobs()

    def _give_up_nodes(self, job: Job) -> None:
        for node in job.nodes:
            node.vanish()
        self._free += job.news.nodes

    def requeue(self, job: Job) -> None:
        """Take its nodes away, and let it wait again."""
        self.world.tell(f"job {job.tag} loses its nodes and waits again")
        self._give_up_nodes(job)
        self._see(job, phase=JobPhase.PENDING, nodes=(), started_at=None, restarts=job.news.restarts + 1)
        job.nodes = []
        self.world.after(self.world.moment_s(self.longest_wait_s), self._start_jobs)

    def lose(self, job: Job, node: Node) -> None:
        """Let a node of a job fail; the job goes on without it, unless its script ran there."""
        self.world.tell(f"node {node.name} of job {job.tag} fails")
        node.vanish()
        self._free.append(node.name)
        left = tuple(name for name in job.news.nodes if name != node.name)
        if node.name == job.news.nodes[0] or not left:
            self._see(job, nodes=left)
            self.end(job, Ending.NODE_LOST, "a node failed")
        else:
            self._see(job, nodes=left)
            self._start_jobs()

    def admit(self, tag: str) -> None:
        if tag in self.jobs:
            self.world.tell(f"job {tag} is admitted")
            self.jobs[tag].after = None
            self._start_jobs()

    def shrink(self, job: Job, names: Collection[str]) -> None:
        gone = [node for node in job.nodes if node.name in names and node.name in job.news.nodes]
        self.world.require(job.nodes[0] not in gone, "the node of the script is given back")
        for node in gone:
            node.vanish()
            self._free.append(node.name)
        self._see(job, nodes=tuple(name for name in job.news.nodes if name not in names))
        self._start_jobs()

    def plan(self) -> QueueRead:
        ends = [(self._others_until, NODES)] if self.world.now < self._others_until else []
        for job in self.jobs.values():
            if job.news.phase is JobPhase.RUNNING:
                walltime_s = job.request.per_node.walltime_s or LONGEST_S
                ends.append(((job.news.started_at or 0.0) + walltime_s, len(job.news.nodes)))
        times, free = [self.world.now], [float(len(self._free))]
        for at, nodes in sorted(ends):
            times.append(max(at, times[-1] + 1e-3))
            free.append(free[-1] + nodes)
        ahead_s = self.world.wall_ahead_s
        return QueueRead(self.world.now + ahead_s, [at + ahead_s for at in times], free)


class View(Cluster):
    """What a manager sees of the batch system, and tells it."""

    name = "world"
    queues = True
    look_every_s = 15.0
    shrink_every_s = 10.0

    def __init__(self, batch: BatchSystem, manager: Process, boundary: Callable[[str], None]) -> None:
        self._batch = batch
        self._world = batch.world
        self._manager = manager
        self._boundary = boundary
        self._as_of: dict[str, float] = {}

    def _ask(self) -> None:
        if self._batch.is_silent:
            raise SiteError("the batch system does not answer")

    def _done(self, what: str) -> None:
        self._boundary(what)
        if self._batch.forgets:
            self._batch.forgets = False
            raise SiteError("the batch system does not answer, although it has done what it was told")

    def limits(self) -> Resources:
        self._ask()
        return HAS.replace(nodes=NODES, walltime_s=LONGEST_S)

    def most_jobs(self) -> int | None:
        return 8

    @property
    def shrinks(self) -> bool:
        return self._batch.shrinks

    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        if self._manager.alive:
            self._boundary("submit")
            self._ask()
            self._batch.submit(request, tag, after)
            self._done("submitted")

    def cancel(self, tags: Iterable[str]) -> None:
        if not self._manager.alive:
            return
        self._boundary("cancel")
        self._ask()
        for tag in tags:
            if tag in self._batch.jobs:
                self._batch.end(self._batch.jobs[tag], Ending.CANCELLED, "it was cancelled")
        self._done("cancelled")

    @property
    def admits(self) -> bool:
        return True

    def admit(self, tag: str) -> None:
        if self._manager.alive:
            self._boundary("admit")
            self._ask()
            self._batch.admit(tag)
            self._done("admitted")

    def shrink(self, tag: str, nodes: Collection[str], left: JobRequest) -> str:
        if self._manager.alive:
            self._boundary("shrink")
            self._ask()
            job = self._batch.jobs[tag]
            if job.news.phase is JobPhase.RUNNING:
                self._batch.shrink(job, nodes)
            self._done("shrunk")
        return ""

    def script_node(self, tag: str) -> str:
        job = self._batch.jobs.get(tag)
        return job.nodes[0].name if job and job.nodes else ""

    def find(self, tags: Iterable[str]) -> set[str]:
        self._ask()
        return {tag for tag in tags if tag in self._batch.jobs and self._batch.jobs[tag].is_live}

    def poll(self, tags: Iterable[str]) -> dict[str, JobPhase]:
        return {tag: news.phase for tag, news in self.news(tags).items()}

    def news(self, tags: Iterable[str]) -> dict[str, JobNews]:
        return {tag: self._news(tag) for tag in tags}

    def _news(self, tag: str) -> JobNews:
        """What is known of a job, perhaps not the newest, but never older than what was said before."""
        if self._batch.is_silent or tag not in self._batch.jobs or self._world.random.random() < _UNKNOWN:
            return JobNews(JobPhase.UNKNOWN)
        as_of = max(self._as_of.get(tag, BEGIN), self._world.now - self._world.moment_s(_LATE_S))
        seen = [news for at, news in self._batch.jobs[tag].seen if at <= as_of]
        if not seen:
            return JobNews(JobPhase.UNKNOWN)
        self._as_of[tag] = as_of
        ahead_s = self._world.wall_ahead_s
        moved = {
            name: at + ahead_s for name in ("started_at", "ended_at") if (at := getattr(seen[-1], name)) is not None
        }
        confirmed_at = as_of + ahead_s if seen[-1].phase is JobPhase.RUNNING else None
        return structs.replace(seen[-1], confirmed_at=confirmed_at, **moved)

    def snapshot(self) -> QueueRead:
        self._ask()
        return self._batch.plan()


class Lines(Connections):
    """Connects a manager to the nodes of its jobs."""

    name = "world"

    def __init__(self, jobs: Path, batch: BatchSystem, manager: Process, fate: Fate) -> None:
        super().__init__(jobs)
        self._batch = batch
        self._manager = manager
        self._fate = fate

    async def connect(self, tag: str, node: str, timeout_s: float) -> Connection | None:
        await asyncio.sleep(self._batch.world.moment_s(1.0))
        found = [each for each in self._batch.jobs[tag].nodes if each.name == node and each.process.alive]
        if found:
            line = Line(self._batch.world, self._manager, found[0].process, self._fate)
            end = ManagersEnd(line)
            if found[0].answer(line) and await end.is_greeted():
                return end
            line.hang_up()
        await asyncio.sleep(timeout_s)
        return None
