"""What can go wrong in a world, and when. A seed chooses; a story that went wrong is told again with fewer of them."""

from __future__ import annotations

import errno
import os
import random
import signal
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from headway.model.job import JobPhase
from headway.model.outcome import Ending
from tests.world.batch import BatchSystem, Job
from tests.world.clock import Killed, Process, World

Kind = Literal[
    "manager dies at a boundary",
    "supervisor dies at a boundary",
    "disk fails at a boundary",
    "manager dies",
    "supervisor dies",
    "node fails",
    "job loses its nodes",
    "job is cancelled by hand",
    "batch system is silent",
    "an answer is lost",
    "line breaks",
    "messages arrive twice",
    "clock jumps",
    "user stops the run",
]
AT_A_BOUNDARY: tuple[Kind, ...] = (
    "manager dies at a boundary",
    "supervisor dies at a boundary",
    "disk fails at a boundary",
)
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]
_MOST = 6
_LATEST_S = 3600.0
_MOST_BOUNDARIES = {AT_A_BOUNDARY[0]: 250, AT_A_BOUNDARY[1]: 120, AT_A_BOUNDARY[2]: 120}
_SILENT_S = 300.0
_TWICE = 0.2
_OF_DISKS = (errno.ENOSPC, errno.EIO, errno.EDQUOT)


class Fault(Struct, frozen=True):
    """One thing that goes wrong: at a time, or at the nth boundary between a durable write and an act."""

    kind: Kind
    at: float

    def __str__(self) -> str:
        return f"{self.kind} {self.at:.0f}" if self.kind in AT_A_BOUNDARY else f"{self.at:8.1f} s: {self.kind}"


def faults_of(seed: int) -> list[Fault]:
    """Choose what goes wrong."""
    chance = random.Random(f"faults {seed}")
    found = []
    for _ in range(chance.randint(0, _MOST)):
        kind = chance.choice(KINDS)
        early = chance.random() ** 2  # most runs are soon over
        at = int(early * _MOST_BOUNDARIES[kind]) if kind in AT_A_BOUNDARY else early * _LATEST_S
        found.append(Fault(kind, at))
    return found


class Fate:
    """Lets the faults happen."""

    def __init__(self, world: World, faults: Sequence[Fault]) -> None:
        self.world = world
        self.manager: Process | None = None
        self.batch: BatchSystem
        self._doubles = False  # messages
        self.happened: set[Fault] = set()
        self.passed: Counter[str] = Counter()
        self._faults = faults
        for fault in faults:
            if fault.kind not in AT_A_BOUNDARY:
                world.after(fault.at, lambda fault=fault: self._happen(fault))

    def boundary(self, name: str) -> None:
        """A process is between two steps of which the second must not be lost, nor done twice."""
        process = self.world.current
        who = "manager" if process is None or self.is_manager(process) else "supervisor"
        number = self.passed[who]
        self.passed[who] += 1
        fault = self._due(f"{who} dies at a boundary", number)
        if fault is not None:
            self._note(fault, f"{who} dies at boundary {number}, {name}")
            if process is not None:
                process.is_dying = True
            raise Killed

    def is_manager(self, process: Process) -> bool:
        return process is self.manager

    def _a_manager(self, kind: Kind) -> Process | None:
        """A manager that is at work, if there is one, to which such a fault can happen."""
        return self.manager if self.manager is not None and self.manager.alive else None

    def disk(self, name: str) -> None:
        """Something is about to be written."""
        number = self.passed["disk"]
        self.passed["disk"] += 1
        fault = self._due("disk fails at a boundary", number)
        if fault is not None:
            error = _OF_DISKS[number % len(_OF_DISKS)]
            self._note(fault, f"the disk fails at write {number}, {name}: {os.strerror(error)}")
            raise OSError(error, os.strerror(error))

    def echoes(self) -> bool:
        """Whether a message arrives twice."""
        return self._doubles and self.world.random.random() < _TWICE

    def _due(self, kind: str, number: int) -> Fault | None:
        found = (fault for fault in self._faults if fault.kind == kind and fault.at == number)
        return next((fault for fault in found if fault not in self.happened), None)

    def _note(self, fault: Fault, what: str) -> None:
        self.happened.add(fault)
        self.world.tell(f"*** {what}")

    def _happen(self, fault: Fault) -> None:
        self._note(fault, fault.kind)
        chance = self.world.random
        running = [job for job in self.batch.jobs.values() if job.news.phase is JobPhase.RUNNING]
        job: Job | None = chance.choice(running) if running else None
        nodes = [node for node in job.nodes if node.process.alive and node.name in job.news.nodes] if job else []
        manager = self._a_manager(fault.kind)
        match fault.kind:
            case "manager dies" if manager is not None:
                manager.end()
            case "user stops the run" if manager is not None and signal.SIGINT in manager.loop.signal_handlers:
                manager.loop.call_soon(manager.loop.signal_handlers[chance.choice([signal.SIGINT, signal.SIGTERM])])
            case "supervisor dies" if nodes:
                chance.choice(nodes).process.end()
            case "node fails" if job and nodes:
                self.batch.lose(job, chance.choice(nodes))
            case "job loses its nodes" if job:
                if chance.random() < 0.5:
                    self.batch.requeue(job)
                else:
                    self.batch.end(job, Ending.PREEMPTED, "another job has taken its nodes")
            case "job is cancelled by hand":
                live = [job for job in self.batch.jobs.values() if job.is_live]
                if live:
                    self.batch.end(chance.choice(live), Ending.CANCELLED, "it was cancelled")
            case "batch system is silent":
                self.batch.silent_until = self.world.now + chance.uniform(1.0, _SILENT_S)
            case "an answer is lost":
                self.batch.forgets = True
            case "line breaks" if nodes:
                for line in chance.choice(nodes).lines:
                    line.cut()
            case "messages arrive twice":
                self._doubles = True
            case "clock jumps":
                self.world.wall_ahead_s += chance.uniform(-600.0, 600.0)
