"""An engine with a clock that the test moves and a script of how attempts end."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headway.drivers.assemble import assemble
from headway.engine.engine import Engine
from headway.model import records
from headway.model.job import JobPhase
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.records import Decision, Event
from headway.model.resources import Resources
from headway.model.task import Task

GB = 10**9
MACHINE = Resources(cores=2, memory_bytes=8 * GB, disk_bytes=100 * GB)

Ends = Callable[[records.Launch], Ending]


class PretendRun:
    """Drives an engine; every attempt ends as `ends` says."""

    def __init__(
        self,
        tasks: Iterable[Task],
        ends: Ends = lambda launch: Ending.SUCCESS,
        *,
        machine: Resources = MACHINE,
        lends: bool = False,
        **settings,
    ) -> None:
        started = records.RunStarted(
            0.0, "1", "uid", "pretend", "/nowhere", "", "0", settings.pop("sizer", "max-seen"), "fifo", **settings
        )
        self.engine: Engine = assemble(started)
        self.ends = ends
        self.machine = machine
        self.log: list[Event | Decision] = []
        self.now = 0.0
        self.held: list[records.Launch] = []  # launched and not ended
        self.memory_used = 1 * GB
        self.gpu_memory_used: int | None = None
        self.deletes = True  # whether temporary outputs are deleted at once
        self.inputs: Callable[[str], records.InputsRead] = lambda task: records.InputsRead(self.now, task)
        self.record(started)
        self.record(records.LimitsRead(0.0, machine, lends=lends))
        self.record(records.TasksAdded(0.0, list(tasks)))

    def record(self, record: Event | Decision) -> None:
        self.engine.apply(record)
        self.log.append(record)

    def decide(self) -> list[Decision]:
        """All decisions due now, applied; files are looked at and the machine is granted on the way."""
        made: list[Decision] = []
        while decisions := self.engine.decide(self.now):
            for decision in decisions:
                self.record(decision)
                made.append(decision)
                match decision:
                    case records.ReadInputs():
                        self.record(self.inputs(decision.task))
                    case records.Submit():
                        self.record(records.JobState(self.now, decision.tag, JobPhase.RUNNING))
                        self.record(records.NodeUp(self.now, "here", decision.tag, self.machine))
                    case records.Launch():
                        self.held.append(decision)
                    case records.Discard() if self.deletes:
                        self.record(records.Discarded(self.now, decision.task, decision.path))
        return made

    def end(self, launch: records.Launch, ending: Ending) -> None:
        self.held.remove(launch)
        quality = Quality.LOWER_BOUND if ending is Ending.MEMORY else Quality.EXACT
        on_gpus = None if self.gpu_memory_used is None else Measured(self.gpu_memory_used, Quality.SAMPLED)
        usage = Usage(
            memory_bytes=Measured(self.memory_used, quality),
            cores_peak=Measured(1.0, Quality.EXACT),
            gpu_memory_bytes=on_gpus,
        )
        outcome = Outcome(launch.task, launch.attempt, ending, self.now - 1, self.now, usage, message=f"{ending}")
        self.record(records.TaskEnded(self.now, outcome))

    def to_the_end(self) -> str:
        """Let everything happen, oldest launch first."""
        self.decide()
        while self.held:
            self.now += 1.0
            launch = self.held[0]
            self.end(launch, self.ends(launch))
            self.decide()
        assert self.engine.finished is not None
        return self.engine.finished

    def launches(self, task: str | None = None) -> list[records.Launch]:
        return [r for r in self.log if isinstance(r, records.Launch) and task in (None, r.task)]
