"""Nodes of the world: the real supervisor of each, and commands that take virtual time and make real files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from headway.model.outcome import Ending, Measured, Quality, Usage
from headway.model.task import Task
from headway.workers.gpus import NO_GPUS
from headway.workers.node import OVER, node_folder
from headway.workers.protocol import SupervisorSettings
from headway.workers.supervisor import Supervisor
from headway.workers.trees import CommandEnd, CommandSpec
from tests.world.clock import Process, World
from tests.world.lines import Line, SupervisorsEnd

_START_S = 5.0  # the longest that a supervisor takes to start
_SWEEP_S = 0.4  # until the processes of a dead supervisor are gone
_STOP_S = 3.0  # the longest that a command takes to end when it is told to
_SAVE_S = 20.0  # the longest that a command takes to write a checkpoint


class Behaviour(Struct, frozen=True):
    """What a task's command does: it takes time and memory, and may fail some times before it succeeds.

    One that `saves` goes on from its checkpoint, and writes one when it gets notice.
    """

    run_s: float
    memory_bytes: int
    failures: int = 0
    saves: bool = False


class Execution(Struct, eq=False):
    """A command that was started."""

    task: str
    attempt: int
    node: str
    spec: CommandSpec
    began: float
    ended: float | None = None
    how: str = ""


class Commands:
    """All commands of the world, and what they must never do: run twice at a time, or take more than there is."""

    def __init__(self, world: World, tasks: dict[str, Task], behaviours: dict[str, Behaviour]) -> None:
        self.world = world
        self.tasks = tasks
        self._behaviours = behaviours
        self.executions: list[Execution] = []
        self.results: set[str] = set()  # tasks of which a success is on disk

    def begin(self, spec: CommandSpec, node: str, cores: float, memory_bytes: int) -> Execution:
        task, attempt = self.named(spec.key)
        running = [other for other in self.executions if other.ended is None]
        require = self.world.require
        require(task not in [other.task for other in running], f"{task} runs twice at the same time")
        here = [other.spec.limits for other in running if other.node == node] + [spec.limits]
        require(sum(each.cores for each in here) <= cores + 1e-9, f"more cores are given on {node} than it has")
        require(sum(each.memory_bytes for each in here) <= memory_bytes, f"more memory is given on {node} than it has")
        require(task not in self.results, f"{task} runs again, although its result is on disk")
        before = [other for other in self.executions if other.task == task and other.how == "success"]
        self.world.tell(f"{task}/{attempt} begins on {node}{', although it has succeeded' if before else ''}")
        found = Execution(task, int(attempt), node, spec, self.world.now)
        self.executions.append(found)
        return found

    def named(self, key: str) -> tuple[str, str]:
        """Tell the task and the attempt by the key of a command's processes."""
        _, task, attempt = key.rsplit("/", 2)
        return task, attempt

    def end(self, execution: Execution, how: str) -> None:
        if execution.ended is None:
            execution.ended, execution.how = self.world.now, how
            self.world.tell(f"{execution.task}/{execution.attempt} ends on {execution.node}: {how}")

    def of(self, execution: Execution) -> Behaviour:
        return self._behaviours[execution.task]

    def finish(self, execution: Execution) -> int:
        """Do what a command does at its end; return its exit code."""
        if self.tries(execution.task) < self.of(execution).failures:
            return 1
        task, folder = self.tasks[execution.task], Path(execution.spec.directory)
        for path in task.outputs:
            (folder / path).write_text(self.contents(task, folder))
        return 0

    def tries(self, task: str) -> int:
        """How often a command came to its end, well or badly."""
        return sum(each.task == task and each.how in ("success", "exit 1") for each in self.executions)

    def contents(self, task: Task, folder: Path) -> str:
        """What a task makes: a text that depends on all of its inputs."""
        read = sorted((folder / path).read_text() for path in task.inputs)
        return f"{task.id}({','.join(read)})"


class Trees:
    """Runs commands in the place of `ProcessTrees`."""

    method, reason, lost_gpus = "world", "", ""

    def __init__(self, commands: Commands, node: str, cores: float, memory_bytes: int) -> None:
        self._commands = commands
        self._node = node
        self._has = (cores, memory_bytes)
        self._running: dict[str, asyncio.Future[Ending]] = {}

    async def run(self, spec: CommandSpec) -> CommandEnd:
        world = self._commands.world
        execution = self._commands.begin(spec, self._node, *self._has)
        does = self._commands.of(execution)
        Path(spec.stdout).touch()
        state = Path(spec.environment["HEADWAY_KEEP"]) / "state" if does.saves else None
        before_s = float(state.read_text()) if state is not None and state.exists() else 0.0
        ends: dict[float, Ending | None] = {max(0.0, does.run_s - before_s): None}
        if does.memory_bytes > spec.limits.memory_bytes:
            ends[does.run_s / 2] = Ending.MEMORY
        if spec.limits.walltime_s is not None:
            ends[spec.limits.walltime_s] = Ending.TIME
        lasts_s = min(ends)
        self._running[spec.key] = told = asyncio.get_running_loop().create_future()
        done, _ = await asyncio.wait([told], timeout=lasts_s)
        del self._running[spec.key]
        stopped_for = told.result() if done else ends[lasts_s]
        if stopped_for is Ending.SAVED and state is not None:
            state.write_text(str(before_s + world.now - execution.began))
            self._commands.end(execution, "saved")
            usage = Usage(wall_s=Measured(world.now - execution.began, Quality.EXACT))
            return CommandEnd(execution.began, world.now, usage, exit_code=7)
        used = min(does.memory_bytes, spec.limits.memory_bytes)
        quality = Quality.LOWER_BOUND if stopped_for else Quality.EXACT
        usage = Usage(
            wall_s=Measured(world.now - execution.began, quality),
            memory_bytes=Measured(used, quality),
            cores_peak=Measured(1.0, quality),
        )
        end = CommandEnd(execution.began, world.now, usage, stopped_for=stopped_for)
        if stopped_for is not None:
            self._commands.end(execution, stopped_for.value)
            return structs.replace(end, signal=15)
        code = self._commands.finish(execution)
        self._commands.end(execution, f"exit {code}" if code else "success")
        return structs.replace(end, exit_code=code)

    def kill(self, key: str) -> None:
        if key in self._running:
            told, world = self._running[key], self._commands.world
            world.after(world.moment_s(_STOP_S), lambda: None if told.done() else told.set_result(Ending.CANCELLED))

    def send(self, key: str, number: int) -> bool:
        return key in self._running

    def notify(self, key: str, number: int) -> bool:
        """Give a command notice; it writes a checkpoint and ends after a while, unless it ends before."""
        told, world = self._running.get(key), self._commands.world
        if told is not None:
            world.after(world.moment_s(_SAVE_S), lambda: None if told.done() else told.set_result(Ending.SAVED))
        return told is not None


class Node:
    """A node of a job: its supervisor, from its start to its end, and what is left of it then."""

    def __init__(
        self, commands: Commands, jobs: Path, tag: str, name: str, has: tuple[float, int], ended: Callable[[], None]
    ) -> None:
        self.name = name
        self.world = commands.world
        self._commands = commands
        self._folder = node_folder(jobs / tag, name)
        is_served = self._folder.exists()  # a job that starts again on the same node is not served again
        self._folder.mkdir(parents=True, exist_ok=True)
        self._ended = ended
        self.is_gone = False
        self.process = Process(self.world, f"{name} of {tag}")
        self.process.at_end(lambda: self.world.after(self.world.moment_s(_SWEEP_S), self._sweep))
        self.lines: list[Line] = []
        self._supervisor: Supervisor | None = None
        self._uid = f"{name}#{tag.rpartition('-')[2]}"
        settings = SupervisorSettings.read(jobs)
        settings = structs.replace(settings, uid=f"{settings.uid}/{self._uid}", tag=tag, node=name)
        if is_served:
            self.world.after(0.0, self.process.end)
        else:
            self.process.start(self._serve(settings, Trees(commands, self._uid, *has)))

    async def _serve(self, settings: SupervisorSettings, trees: Trees) -> None:
        await asyncio.sleep(self.world.moment_s(_START_S))
        self._supervisor = supervisor = Supervisor(settings, trees, NO_GPUS)  # type: ignore[arg-type]
        watch = asyncio.create_task(supervisor._leave_when_idle())
        await supervisor._leaving.wait()
        watch.cancel()
        for task, attempt in supervisor._running:
            supervisor._runner.stop(task, attempt)
        await asyncio.gather(*supervisor._running.values(), return_exceptions=True)
        for line in self.lines:
            line.hang_up()
        self.world.after(0.0, self.process.end)

    def answer(self, line: Line) -> bool:
        """Serve a manager; False if there is no supervisor yet, or no more."""
        if self._supervisor is None or not self.process.alive:
            return False
        self.lines.append(line)
        self.process.start(self._supervisor._serve_manager(line.down.reader, SupervisorsEnd(line)))  # type: ignore[arg-type]
        return True

    def signal(self) -> None:
        """Tell the supervisor that its job's time is up."""
        if self.process.alive and self._supervisor is not None:
            self._supervisor._end_by_signal()

    def _sweep(self) -> None:
        self.is_gone = True
        for execution in self._commands.executions:
            if execution.node == self._uid and execution.ended is None:
                self._commands.end(execution, "killed")
        (self._folder / OVER).touch()
        self._ended()

    def vanish(self) -> None:
        """End it with all that runs on it, now."""
        self.process.end()
        for execution in self._commands.executions:
            if execution.node == self._uid:
                self._commands.end(execution, "killed")
        self.is_gone = True
