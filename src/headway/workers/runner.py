"""`Runner`: runs one attempt, from its claim to its published outputs."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import signal
import stat
import threading
import time
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from headway.crash_points import crash_point
from headway.model.command_as_run import with_amounts
from headway.model.errors import HeadwayError
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import describe
from headway.model.software import Software, files_of
from headway.model.task import Task
from headway.workers.attempt import AttemptFolder
from headway.workers.containers import Contained, in_container, remove
from headway.workers.environments import activation, described_environment
from headway.workers.full_disk import is_full, largest_tasks
from headway.workers.gpus import NO_GPUS, Found, gpu_variables, out_of_memory_words, unwanted_variables
from headway.workers.home import Household
from headway.workers.notice import Notice
from headway.workers.own_folder import OwnFolder
from headway.workers.protocol import GiveNotice, Signal, Start, SupervisorSettings
from headway.workers.sandbox import delete_outputs, full_stamps, missing_outputs, prepare_directory, publish, undeclared
from headway.workers.shells import LIST_VARIABLE, command_line, wants_list
from headway.workers.sources import Sources
from headway.workers.spanning import cancel_steps, node_variables
from headway.workers.trees import CommandEnd, CommandSpec, ProcessTrees, read_end
from headway.workers.unseen import end_of, unseen_file, unseen_files

_SIGNAL_WITHIN_S = 1.0  # a batch system signals the processes of a job one after the other
_KILLED = 128 + signal.SIGKILL
_CANNOT_EXECUTE, _TOO_LONG = 126, "Argument list too long"  # an exit code and a message of shells
_SAID_BY_SHELLS = {
    _CANNOT_EXECUTE: "a file that it names is not executable",
    127: "a command that it names was not found",
}
_MAY_LACK_A_FILE = (Ending.EXIT_CODE, Ending.SIGNAL, Ending.MISSING_OUTPUT, Ending.LAUNCH_FAILED)
_MOST_NAMED = 3  # files in a message
_QUICK_BYTES = 1_000_000  # of outputs that are read without another thread
_SITE_TROUBLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE)


class _Place(NamedTuple):
    """Where an attempt belongs: the key of its processes, its workflow's directory, and its run's environment."""

    key: str
    directory: Path
    sources: Sources
    variables: dict[str, str]  # that its run has, and this process has not
    without: tuple[str, ...]  # that this process has, and its run has not


class Runner:
    """Runs attempts on this node. `stop_signalled` is set when the supervisor is told to end by a signal."""

    def __init__(
        self, settings: SupervisorSettings, trees: ProcessTrees, stop_signalled: asyncio.Event, gpus: Found = NO_GPUS
    ) -> None:
        self._settings = settings
        self._trees = trees
        self._stop_signalled = stop_signalled
        self._gpus = gpus
        self._workflow_directory = Path(settings.workflow_directory)
        self.sources = Sources(self._workflow_directory)
        self._household = Household()
        self._activations: dict[str, asyncio.Task[dict[str, str]]] = {}
        self._publishing = threading.Lock()
        self.own_folder = OwnFolder()
        self._notices: dict[str, Notice] = {}  # of the commands that run, by key
        self._running: dict[str, tuple[Path, str, Path]] = {}  # by key: the workflow's directory, the task, its folder

    async def run(self, start: Start) -> Outcome:
        """Run the attempt and return its outcome; OSError or SiteError if the site is in trouble, not the task.

        A task of a pool stands for an attempt of another run: that is what is run, and what its result tells of.
        """
        work, key = start.task.work, self._key(start.task.id, start.attempt)
        if work is None:
            return await self._run(start, _Place(key, self._workflow_directory, self.sources, {}, ()))
        inner = structs.replace(start, task=work.task, attempt=work.attempt)
        try:
            home, sources = await asyncio.to_thread(self._household.of, work.home, work.directory)
        except HeadwayError as error:
            outcome = _failed(inner, Ending.LAUNCH_FAILED, time.time(), f"it could not be prepared: {error}")
        else:
            place = _Place(key, Path(work.directory), sources, *home.variables(os.environ))
            outcome = await self._run(inner, place)
        return structs.replace(outcome, task=start.task.id, attempt=start.attempt)

    async def _run(self, start: Start, place: _Place) -> Outcome:
        folder = AttemptFolder(Path(start.directory))
        self.own_folder.require()  # claiming would make folders again that were deleted
        if folder.claim():
            crash_point("claimed")
            self._running[place.key] = (place.directory, start.task.id, folder.path)
            try:
                outcome = await self._excuse_if_job_stops(await self._execute(folder, start, place))
                outcome = await self._explain_full_disk(outcome, folder, place)
            finally:
                del self._running[place.key]
            self.own_folder.require()
            try:
                folder.write_result(outcome)
            except FileNotFoundError:  # the task deleted its attempt's folder
                outcome = _failed(start, Ending.MISSING_OUTPUT, outcome.started_at, "it removed its own folder")
                folder.claim()
                folder.write_result(outcome)
            crash_point("result-written")
        else:
            message = "it was started before, and its result is unknown"
            found = folder.result() or unreported_success(folder, start, place.directory)
            outcome = found or _failed(start, Ending.NODE_LOST, time.time(), message)
        if outcome.ending is Ending.SUCCESS and start.task.isolated:
            outcome = await self._publish(folder, start, outcome, place)
        crash_point("published")
        folder.tidy(outcome)
        return outcome

    async def _execute(self, folder: AttemptFolder, start: Start, place: _Place) -> Outcome:
        began = time.time()
        try:
            work = await self._prepare(folder, start, place)
            command = await self._command(start, folder, work, place)
        except (OSError, HeadwayError) as error:
            if is_site_trouble(error):
                raise
            return _failed(start, Ending.LAUNCH_FAILED, began, f"it could not be prepared: {error}")
        goes_on = bool(start.task.notice_s) and any(folder.kept.iterdir())
        notice = self._notices[place.key] = Notice(start, place.key, self._trees)
        try:
            end = await self._trees.run(self._spec(start, folder, work, command, place))
        finally:
            notice.cancel()
            del self._notices[place.key]
        crash_point("spawned")
        if end.launch_errno in _SITE_TROUBLE:
            raise OSError(end.launch_errno, end.launch_error)
        if command.removal and (end.stopped_for or end.signal):
            await asyncio.to_thread(remove, command)
        if command.limits_memory and end.exit_code == _KILLED and end.stopped_for is None:
            end = _killed_for_memory(end, start.limits.memory_bytes)  # who else kills inside a container?
        if start.nodes and (end.stopped_for or end.signal):
            await asyncio.to_thread(cancel_steps, self._settings.uid, start.task.id, start.attempt)
        if not start.task.isolated:
            place.sources.forget()
        quick = _is_quick(work, start.task)
        outcome = outcome_of(start, end, work) if quick else await asyncio.to_thread(outcome_of, start, end, work)
        if notice.given and outcome.ending is not Ending.SUCCESS and end.stopped_for is None:
            message = "it ended after the notice that its time would soon be over"
            return structs.replace(outcome, ending=Ending.SAVED, message=message)
        if goes_on and outcome.ending in (Ending.EXIT_CODE, Ending.SIGNAL):
            outcome = _explain_checkpoint(outcome, folder)
        if start.limits.gpus and outcome.ending in (Ending.EXIT_CODE, Ending.SIGNAL):
            outcome = _explain_gpus(outcome, start, folder, self._trees.lost_gpus)
        if start.task.isolated and outcome.ending in _MAY_LACK_A_FILE:
            return _explain(outcome, start.task, folder, place)
        return outcome

    async def _excuse_if_job_stops(self, outcome: Outcome) -> Outcome:
        """Turn a failure into a cancellation if the batch system was ending the whole job at that time."""
        if outcome.ending is Ending.SUCCESS or outcome.ending.exhausted:
            return outcome
        # After a SIGKILL, this process is the next to be killed if the whole job is: then the attempt has no result.
        signalled = outcome.signal or (outcome.exit_code or 0) - 128
        is_stopped = signalled in (signal.SIGTERM, signal.SIGKILL)
        # The spawner may have got the signal, too.
        if is_stopped or outcome.ending in (Ending.LAUNCH_FAILED, Ending.NODE_LOST):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop_signalled.wait(), _SIGNAL_WITHIN_S)
        if self._stop_signalled.is_set():
            return structs.replace(outcome, ending=Ending.CANCELLED, message="it was stopped with its whole job")
        return outcome

    async def _explain_full_disk(self, outcome: Outcome, folder: AttemptFolder, place: _Place) -> Outcome:
        """If the command failed on a full disk, say so, and which of the workflow's running tasks take most of it."""
        if outcome.ending not in (Ending.EXIT_CODE, Ending.SIGNAL) or not is_full(folder.path):
            return outcome
        beside = {task: path for home, task, path in self._running.values() if home == place.directory}
        largest = await asyncio.to_thread(largest_tasks, beside)
        who = f"; of the running tasks, these take most of it: {largest}" if largest else ""
        return structs.replace(outcome, message=f"{outcome.message}; the disk is full{who}")

    def stop(self, task: str, attempt: int) -> None:
        """Stop an attempt if it runs here."""
        self._trees.kill(self._key(task, attempt))

    def tell(self, message: Signal | GiveNotice) -> bool:
        """Send a signal to an attempt's processes, or give it notice; False if it has no processes (yet)."""
        key = self._key(message.task, message.attempt)
        if isinstance(message, Signal):
            return self._trees.send(key, message.number)
        notice = self._notices.get(key)
        if notice is not None:
            notice.give()
        return notice is not None

    async def _prepare(self, folder: AttemptFolder, start: Start, place: _Place) -> Path:
        task = start.task
        if task.notice_s:
            folder.kept.mkdir(mode=0o700, exist_ok=True)
        if not task.isolated:
            if start.stale:
                await asyncio.to_thread(delete_outputs, place.directory, start.stale, start.task.outputs)
            return place.directory
        await asyncio.to_thread(prepare_directory, folder.work, task, place.directory, place.sources)
        return folder.work

    async def _command(self, start: Start, folder: AttemptFolder, work: Path, place: _Place) -> Contained:
        """Return the command line with its environment; if the task has a container, those of its runtime."""
        listed = _list_inputs(start.task, folder.inputs) if wants_list(start.task) else None
        argv = command_line(start.task, folder.script, start.limits, listed)
        own = {name: with_amounts(value, start.limits) for name, value in start.task.environment.items()}
        software = await self._activation(start.task.software, place) if start.task.software else {}
        gpus = gpu_variables(start.devices, start.limits.gpus, self._gpus)
        environment = place.variables | software | self._variables(start, folder) | gpus | own
        if listed is not None:
            environment[LIST_VARIABLE] = str(listed)
        if not start.task.container:
            return Contained(argv, environment)
        return await asyncio.to_thread(
            in_container,
            start.task,
            argv,
            environment,
            start.limits,
            key=place.key,
            work=work,
            task_folder=folder.path.parent,
            workflow_directory=place.directory,
            devices=start.devices,
        )

    async def _activation(self, software: Software, place: _Place) -> dict[str, str]:
        """Return the variables that activating the software sets; it is activated once for all tasks that name it."""
        described = described_environment(software, place.directory)
        key = f"{described} {software} {place.directory}"
        if key not in self._activations:
            usual = {name: text for name, text in os.environ.items() if name not in place.without} | place.variables
            work = asyncio.to_thread(activation, software, place.directory, usual)
            self._activations[key] = asyncio.create_task(work)
        try:
            return await asyncio.shield(self._activations[key])
        except HeadwayError:
            self._activations.pop(key, None)  # the next attempt tries again
            raise

    def _key(self, task: str, attempt: int) -> str:
        return f"{self._settings.uid}/{task}/{attempt}"

    def _variables(self, start: Start, folder: AttemptFolder) -> dict[str, str]:
        limits = start.limits
        variables = {
            "HEADWAY_TASK": start.task.id,
            "HEADWAY_TRY": str(start.attempt),
            "HEADWAY_CORES": f"{limits.cores:g}",
            "HEADWAY_MEMORY_BYTES": str(limits.memory_bytes),
        }
        if start.task.notice_s:
            variables["HEADWAY_KEEP"] = str(folder.kept)
        if start.nodes:
            variables |= node_variables(self._settings.uid, start.task.id, start.attempt, start.nodes, limits.cores)
        return variables

    def _spec(self, start: Start, folder: AttemptFolder, work: Path, command: Contained, place: _Place) -> CommandSpec:
        return CommandSpec(
            key=place.key,
            argv=command.argv,
            environment=command.environment,
            directory=str(work),
            stdout=str(folder.stdout),
            stderr=str(folder.stderr),
            limits=start.limits,
            measured_directory=str(folder.path) if start.task.isolated else None,  # includes stdout and stderr
            grace_s=self._settings.grace_s,
            held_bytes=start.held_bytes,
            node_bytes=start.node_bytes,
            elsewhere=bool(command.removal),
            without=(*place.without, *unwanted_variables(self._gpus)),
            uses_gpus=start.limits.gpus > 0,
            end_file=str(folder.end),
        )

    async def _publish(self, folder: AttemptFolder, start: Start, outcome: Outcome, place: _Place) -> Outcome:
        try:
            await asyncio.to_thread(self._publish_now, folder.work, start, place)
        except (OSError, HeadwayError) as error:
            if is_site_trouble(error):
                raise
            message = f"its outputs could not be put in place: {error}"
            failed = _failed(start, Ending.MISSING_OUTPUT, outcome.started_at, message)
            folder.write_result(failed)
            return failed
        return outcome

    def _publish_now(self, work: Path, start: Start, place: _Place) -> None:
        folders = {os.path.dirname(path) or "." for path in start.task.outputs}
        # Renaming takes no time and is done by one thread after the other, so that each knows who changed a directory.
        renames = work.parent.stat().st_dev == place.directory.stat().st_dev
        with self._publishing if renames else contextlib.nullcontext():
            before = {folder: place.sources.modified_ns(folder) for folder in folders}
            for _ in publish(work, start.task, place.directory, start.stale):
                crash_point("renamed")
            for folder, modified_ns in before.items():
                place.sources.expect_change(folder, modified_ns)


def _list_inputs(task: Task, file: Path) -> Path:
    """Write the paths of a task's inputs to a file, one per line; return the file."""
    described = files_of(task.software)
    paths = "".join(f"{path}\n" for path in task.inputs if path not in described)
    file.write_text(paths, encoding="utf-8", errors="surrogateescape")
    return file


def _explain(outcome: Outcome, task: Task, folder: AttemptFolder, place: _Place) -> Outcome:
    """Say so if the command may have failed because it does not see a file that the user sees."""
    if outcome.exit_code == _CANNOT_EXECUTE and _TOO_LONG in end_of(folder.stderr):
        todo = "write {inputs.list} in place of {inputs}: a file with one path per line"
        message = f"a command line in it is longer than the system allows; {todo}"
        return structs.replace(outcome, message=message)
    if task.strict:
        return _explain_strict(outcome, task, folder, place)
    path = unseen_file(folder.stderr, task, folder.work, place.directory)
    if not path or outcome.ending is not Ending.EXIT_CODE:
        return outcome
    why = f"its messages name {path}, which is not among its inputs and was not linked for it; add it to 'inputs'"
    return structs.replace(outcome, message=f"{outcome.message}: {why}")


def _explain_strict(outcome: Outcome, task: Task, folder: AttemptFolder, place: _Place) -> Outcome:
    """Say which files the command looked for in its strict sandbox, and where to declare them."""
    said = outcome.message if outcome.ending is Ending.LAUNCH_FAILED else ""
    paths = unseen_files(said, folder, task, place.directory, place.sources)
    if not paths:
        return outcome
    named = ", ".join(paths[:_MOST_NAMED]) + f" and {len(paths) - _MOST_NAMED} more" * (len(paths) > _MOST_NAMED)
    are, them = ("is", "it") if len(paths) == 1 else ("are", "them")
    where = task.declared_as or repr(task.category)
    why = f"it looked for {named}, which {are} not among its inputs; add {them} to 'inputs' of task {where}"
    return structs.replace(outcome, message=f"{outcome.message}: {why}", unseen=tuple(paths))


def _explain_checkpoint(outcome: Outcome, folder: AttemptFolder) -> Outcome:
    """Say from which checkpoint the command went on, which may be corrupt."""
    what = f"it went on from its checkpoint in {folder.kept}, which stays there"
    todo = "if that is corrupt, mend or delete it before you run the task again"
    return structs.replace(outcome, message=f"{outcome.message}; {what}: {todo}")


def _explain_gpus(outcome: Outcome, start: Start, folder: AttemptFolder, lost: str) -> Outcome:
    """Say so if the command ran out of GPU memory, or a GPU of the node was lost."""
    words = out_of_memory_words(folder.stderr, start.task.gpu_memory_errors)
    if words:
        message = f"it ran out of GPU memory (its messages say {words!r}): {outcome.message}"
        return structs.replace(outcome, ending=Ending.GPU_MEMORY, message=message)
    return structs.replace(outcome, message=f"{outcome.message}; {lost}") if lost else outcome


def is_site_trouble(error: Exception) -> bool:
    """Whether the machine is at fault (disk full, I/O error): the attempt may succeed once that is repaired."""
    return isinstance(error, OSError) and error.errno in _SITE_TROUBLE


def _killed_for_memory(end: CommandEnd, limit_bytes: int) -> CommandEnd:
    """Return the end of a command whose container exceeded its memory; the last sample was taken before that."""
    seen = end.usage.memory_bytes
    needed = Measured(max(seen.value if seen else 0, limit_bytes), Quality.LOWER_BOUND)
    return structs.replace(end, stopped_for=Ending.MEMORY, usage=structs.replace(end.usage, memory_bytes=needed))


def _is_quick(work: Path, task: Task) -> bool:
    """Whether the content of a task's outputs can be read in a moment."""
    with contextlib.suppress(OSError):
        return sum(_file_bytes(work / path) for path in task.outputs) <= _QUICK_BYTES
    return False


def _file_bytes(path: Path) -> float:
    """Return the size of a file; a directory may hold any amount."""
    status = path.stat()
    return math.inf if stat.S_ISDIR(status.st_mode) else status.st_size


def outcome_of(start: Start, end: CommandEnd, work: Path) -> Outcome:
    """Return the attempt's outcome, given how its command ended."""
    ending, message = _ending(start, end, work)
    made = full_stamps(work, start.task) if ending is Ending.SUCCESS else {}
    return Outcome(
        task=start.task.id,
        attempt=start.attempt,
        ending=ending,
        started_at=end.started_at,
        ended_at=end.ended_at,
        usage=end.usage,
        exit_code=end.exit_code,
        signal=end.signal,
        message=message,
        outputs=made,
    )


def unreported_success(folder: AttemptFolder, start: Start, workflow_directory: Path) -> Outcome | None:
    """Return the outcome of an attempt without a result, if its command has succeeded; its result is written then.

    Its supervisor died between the command's end and the result, or before. None of the attempt's processes may be
    left. A command that failed may have done so because of that death: it does not count.
    """
    end = read_end(str(folder.end))
    if end is None or end.status != 0:
        return None
    wall = Measured(end.ended_at - end.started_at, Quality.EXACT)
    usage = Usage(wall_s=wall, cpu_s=Measured(end.cpu_s, Quality.LOWER_BOUND))
    work = folder.work if start.task.isolated else workflow_directory
    outcome = outcome_of(start, CommandEnd(end.started_at, end.ended_at, usage, exit_code=0), work)
    if outcome.ending is not Ending.SUCCESS:
        return None
    folder.write_result(outcome)
    return outcome


def _ending(start: Start, end: CommandEnd, work: Path) -> tuple[Ending, str]:
    if end.launch_error:
        return Ending.LAUNCH_FAILED, end.launch_error
    if end.stopped_for is Ending.CANCELLED:
        return Ending.CANCELLED, "it was stopped"
    if end.stopped_for is not None:
        resource = end.stopped_for.exhausted or ""
        used = end.usage.memory_bytes
        if end.stopped_for is Ending.MEMORY and used and start.held_bytes < used.value < start.limits.memory_bytes:
            amounts = f"{describe(resource, used.value)}, where {describe(resource, start.held_bytes)} was expected"
            return end.stopped_for, f"all tasks together used up the memory, and it had {amounts}"
        return end.stopped_for, f"it used up its {describe(resource, start.limits[resource] or 0)}"
    if end.lost or end.signal is not None or end.exit_code:
        return _unsuccessful(end)
    missing = missing_outputs(work, start.task)
    if missing:
        others = list(islice(undeclared(work, start.task), 3))
        instead = f"; it made {', '.join(others)}, which 'outputs' does not name" if others else ""
        return Ending.MISSING_OUTPUT, f"its command succeeded but did not make {', '.join(missing[:3])}{instead}"
    return Ending.SUCCESS, ""


def _unsuccessful(end: CommandEnd) -> tuple[Ending, str]:
    if end.lost:
        return Ending.NODE_LOST, "the process that starts commands died, and with it the news of its end"
    if end.signal is not None:
        return Ending.SIGNAL, f"it was ended by signal {end.signal} ({signal.strsignal(end.signal)})"
    code = end.exit_code or 0
    return Ending.EXIT_CODE, f"its command exited with code {code}{_meaning_in_shell(code)}"


def _meaning_in_shell(exit_code: int) -> str:
    """Describe an exit code by which shells report; one above 128 says that a command was ended by a signal."""
    if exit_code == 128 + signal.SIGPIPE:
        return ": a program in a pipe wrote more than the next one read; if that is fine, use `shell: bash -e`"
    if exit_code in _SAID_BY_SHELLS:
        return f": {_SAID_BY_SHELLS[exit_code]}"
    name = signal.strsignal(exit_code - 128) if 128 < exit_code < 128 + signal.NSIG else None
    return f": signal {exit_code - 128} ({name})" if name else ""


def _failed(start: Start, ending: Ending, began: float, message: str) -> Outcome:
    return Outcome(start.task.id, start.attempt, ending, began, time.time(), message=message)
