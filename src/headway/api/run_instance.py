"""A run as an `Instance`: its workflow and what each task used, for other tools and for simulation."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from headway.api.finding import reading
from headway.journal.folder import Project, RunFolder
from headway.model import records
from headway.model.errors import HeadwayError
from headway.model.instance import Instance, Machine, Recorded
from headway.model.outcome import Ending, Measured, Outcome
from headway.model.records import Decision, Event
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.report.run.summary import RunSummary


def instance_of(folder: RunFolder) -> Instance:
    """Read a run's journal; a task whose result was reused has the figures of the run that executed it."""
    folded = _fold(folder)
    earlier: dict[str, RunFold] = {}
    for task, run in folded.reused.items():
        if run not in earlier:
            earlier[run] = RunFold()
            with suppress(HeadwayError):  # the run was deleted
                earlier[run] = _fold(Project(folder.directory).run(run))
        folded.adopt(task, earlier[run])
    return folded.instance(folder.directory)


class RunFold:
    """The figures of a run, from records applied in order. Only successful attempts count."""

    def __init__(self) -> None:
        self.recorded: dict[str, Recorded] = {}
        self.reused: dict[str, str] = {}  # the run whose result was reused, by task
        self._summary = RunSummary()
        self._tasks: list[Task] = []
        self._launched: dict[str, records.Launch] = {}
        self._machines: dict[str, Resources] = {}
        self._made_bytes: dict[str, int] = {}
        self._read: dict[str, tuple[list[str], int]] = {}  # by task, its input files and their total bytes

    def apply(self, record: Event | Decision) -> None:
        """Take note of a record."""
        self._summary.apply(record)
        match record:
            case records.TasksAdded():
                self._tasks += record.tasks
            case records.NodeUp():
                self._machines[record.node] = record.capacity
            case records.InputsRead():
                self._read[record.task] = (list(record.digests), record.input_bytes)
                self._made_bytes |= {path: stamp.size_bytes for path, stamp in record.outputs.items()}
            case records.Remake():
                del self.reused[record.task]
            case records.Reuse():
                self.reused[record.task] = record.run
            case records.Launch():
                self._launched[record.task] = record
            case records.TaskEnded() if record.outcome.ending is Ending.SUCCESS:
                self.recorded[record.outcome.task] = self._figures(record.outcome)
                self._made_bytes |= {path: stamp.size_bytes for path, stamp in record.outcome.outputs.items()}

    def adopt(self, task: str, earlier: RunFold) -> None:
        """Take a task's figures, if there are any, from the run that executed it."""
        if task in earlier.recorded:
            self.recorded[task] = earlier.recorded[task]
            machine = self.recorded[task].machine
            if machine in earlier._machines:
                self._machines.setdefault(machine, earlier._machines[machine])

    def instance(self, directory: Path) -> Instance:
        """Return the instance. Sizes of files that are in no record are looked up in `directory`."""
        settings = self._summary.settings
        name, machines = settings.name if settings else "workflow", self._machines.items()
        return Instance(
            Workflow(name, self._tasks),
            {task.id: self.recorded[task.id] for task in self._tasks if task.id in self.recorded},
            self._file_bytes(directory),
            tuple(Machine(node, max(1, int(own.cores)), own.memory_bytes or None) for node, own in machines),
            self._summary.elapsed_s() if self._summary.finished in ("succeeded", "failed") else None,
            round(settings.at, 6) if settings else None,
            f"run {settings.run} of {name}, measured by Headway {settings.version}" if settings else "",
        )

    def _figures(self, outcome: Outcome) -> Recorded:
        usage = outcome.usage
        launch = self._launched.get(outcome.task)
        return Recorded(
            run_s=usage.wall_s.value if usage.wall_s else outcome.ended_at - outcome.started_at,
            cores=launch.resources.cores or None if launch else None,
            cores_used=usage.cores_average.value if usage.cores_average else None,
            memory_bytes=_whole(usage.memory_bytes) or None,
            written_bytes=_whole(usage.disk_bytes),
            started_at=round(outcome.started_at, 6),
            machine=launch.node if launch else "",
            gpu_memory_bytes=_whole(usage.gpu_memory_bytes),
            gpus_used=usage.gpus_average.value if usage.gpus_average else None,
        )

    def _file_bytes(self, directory: Path) -> dict[str, int]:
        made = {path for task in self._tasks for path in task.outputs}
        sizes = {path: size_bytes for path, size_bytes in self._made_bytes.items() if path in made}
        for paths, total_bytes in self._read.values():
            if len(paths) == 1:
                sizes.setdefault(paths[0], total_bytes)
        unknown = (path for paths, _ in self._read.values() for path in paths if path not in sizes)
        return sizes | _sizes(directory, unknown)


def _sizes(directory: Path, paths: Iterable[str]) -> dict[str, int]:
    """Return the sizes of the paths that are plain files."""
    found: dict[str, int] = {}
    for path in dict.fromkeys(paths):
        try:
            if (directory / path).is_file():
                found[path] = (directory / path).stat().st_size
        except OSError:
            continue  # gone or not readable: its size is unknown
    return found


def _whole(figure: Measured | None) -> int | None:
    return None if figure is None else int(figure.value)


def _fold(folder: RunFolder) -> RunFold:
    folded = RunFold()
    with reading(folder) as journal:
        for record in journal.replay():
            folded.apply(record)
    return folded
