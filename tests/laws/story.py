"""One seed's history in virtual time: the user's deeds one after the other, and each result compared with a clean one.

Manager, journal, supervisors and sandboxes are the real ones, as in `tests/world`; commands run in a small shell of our
own, in the sandboxes that Headway makes for them.
"""

from __future__ import annotations

import contextlib
import gc
import math
import random
import shutil
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec import Struct, structs

from headway.api.clean import clean
from headway.api.runnable import runnable
from headway.api.settings import RunSettings
from headway.drivers import digests, earlier_runs, runs
from headway.drivers.targets import Target
from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.errors import BusyError, HeadwayError
from headway.model.outcome import Ending
from headway.model.records import Decision, Event, GiveUp, Launch, TaskEnded
from headway.model.resources import Resources
from headway.workers.trees import CommandSpec
from tests.laws import oracle, shell
from tests.laws.deeds import ALL, Deed, User, deeds_of, do, is_allowed
from tests.laws.flows import WORDS, Flow, Switches, made_up, workflow_text
from tests.world.batch import HAS, BatchSystem, View
from tests.world.clock import UNHANDLED, Killed, Process, World
from tests.world.faults import AT_A_BOUNDARY, Fate, Fault
from tests.world.nodes import Behaviour, Commands, Execution
from tests.world.story import Telling, _silence

_MOST_ENDINGS = 8  # runs at the end of a history, until one has succeeded
_UNTIL_GONE_S = 3000.0  # until no supervisor waits for its manager any more
SECOND = "second.yaml"
_REST_S = (0.1, 3.0, 100.0, 700.0)


class Machine(View):
    """One machine, which grants its one allocation at once."""

    name = "local"
    queues = False

    def limits(self) -> Resources:
        return HAS

    def most_jobs(self) -> int | None:
        return None


class Supervisors(BatchSystem):
    """Starts supervisors at once."""

    longest_wait_s = 0.5


class ShellCommands(Commands):
    """Commands that do what their texts say: some lines at their beginning, the others at their end."""

    def __init__(self, world: World) -> None:
        super().__init__(world, {}, {})
        self._first: dict[int, int] = {}  # how many lines were run at the beginning, or -1 after a failure

    def begin(self, spec: CommandSpec, node: str, cores: float, memory_bytes: int) -> Execution:
        task, attempt = self.named(spec.key)
        running = [other.task for other in self.executions if other.ended is None]
        self.world.require(task not in running, f"{task} runs twice at the same time")
        self.world.tell(f"{task}/{attempt} begins")
        found = Execution(task, int(attempt), node, spec, self.world.now)
        self.executions.append(found)
        number = self.world.random.randint(0, len(self._text(found).splitlines()))
        self._first[id(found)] = number if not self._run(found, slice(0, number)) else -1
        return found

    def of(self, execution: Execution) -> Behaviour:
        return Behaviour(self.world.moment_s(20.0), 5_000_000)

    def finish(self, execution: Execution) -> int:
        first = self._first[id(execution)]
        return 1 if first < 0 else self._run(execution, slice(first, None))

    def _text(self, execution: Execution) -> str:
        return execution.spec.argv[-1]

    def _run(self, execution: Execution, lines: slice) -> int:
        now_ns = int(self.world.now * 1e9)
        return shell.run(self._text(execution), Path(execution.spec.directory), lines, now_ns)


class Mishaps(Fate):
    """Faults of one run after the other."""

    def __init__(self, world: World) -> None:
        super().__init__(world, [])
        self._run = 0

    def arm(self, faults: Sequence[Fault]) -> None:
        """Let these faults happen from now on, and no others."""
        self._faults, self.happened = faults, set()
        self.passed.clear()
        self._run += 1
        for fault in faults:
            if fault.kind not in AT_A_BOUNDARY:
                self.world.after(fault.at, partial(self._happen_in, self._run, fault))

    def _happen_in(self, run: int, fault: Fault) -> None:
        if run == self._run:
            self._happen(fault)


class Verdict(Struct):
    """What happened with a seed, and what was wrong with it; empty: nothing."""

    seed: int
    deeds: Sequence[Deed]
    told: list[str]
    wrong: str = ""
    runs: int = 0
    checked: int = 0
    files: str = ""  # the workflow file at the end

    def __str__(self) -> str:
        return "\n".join([f"seed {self.seed}: {self.wrong or 'all is well'}", *self.told, self.files])


class Living(Telling):
    """A directory, and what its user does in it."""

    def __init__(self, seed: int, deeds: Sequence[Deed], switches: Switches, base: Path) -> None:
        self.world = world = World(seed)
        self._switches = switches
        self._deeds = deeds
        self.user = user = settled(seed, switches, base, lambda: world.now)
        self.fate = Mishaps(world)
        self.commands = ShellCommands(world)
        self._batch = self.fate.batch = Supervisors(world, self.commands, self._jobs, shrinks=False)
        self._drivers: dict[SqliteJournal, Any] = {}
        self._error: HeadwayError | None = None
        self._edited = False  # since the newest run began
        self._whole: tuple[dict[str, str], RunSettings] = ({}, RunSettings())  # what the newest run was about
        self.runs = self.checked = 0
        self._tell(workflow_text(user.flow))

    @property
    def _directory(self) -> Path:  # type: ignore[override]
        return self.user.directory

    def _jobs(self) -> Path:
        return Project(self.user.directory).runs()[-1].jobs

    def _tell(self, what: str) -> None:
        self.world.tell(f"--- {what}")

    # --- the user ---

    def tell(self) -> None:
        """Do all deeds, and at last run the workflow until it succeeds."""
        # The times of changes are the machine's, and this clock is another one.
        settled = mock.patch.multiple(digests, _TOO_FRESH_S=-math.inf, _TICK_S=-math.inf)
        with self._in_place(), settled, mock.patch.object(earlier_runs, "target_of", self._target):
            for deed in self._deeds:
                rest_s = self.world.random.choice(_REST_S)
                self.world.pass_by(rest_s if deed.rest_s is None else deed.rest_s)
                self._do(deed)
            self.user.markers.clear()
            self.user.save()
            self._succeed_at_last()

    def _do(self, deed: Deed) -> None:
        chance = random.Random(deed.number)
        match deed.kind:
            case "run":
                self._headway_run(deed, *chosen_options(deed, self.user.flow))
            case "resume":
                self._headway_resume(deed)
            case "cancel":
                self._headway_cancel()
            case "clean":
                self._headway_clean(only_orphans=chance.random() < 0.5)
            case "other file":
                self._run_other(chance)
            case "copy" | "copy with dates" | "move":
                self.world.pass_by(_UNTIL_GONE_S)
                self._edited = True
                self.user.move() if deed.kind == "move" else self.user.copy(dated=deed.kind == "copy with dates")
                self._tell(f"the user goes on after a {deed.kind} of the directory")
            case _:
                self._edit(deed)

    def _edit(self, deed: Deed) -> None:
        if what := do(self.user, deed, self._switches):
            self._edited = True
            self._tell(f"the user {what}")

    def _headway_run(self, deed: Deed, config: dict[str, str], settings: RunSettings) -> str:
        options = [f"--set {name}={value}" for name, value in config.items()]
        options += [f"--{name} {value}" for name in ("force", "until", "tasks") for value in getattr(settings, name)]
        self._tell(" ".join(["headway run", self.user.flow.file, *options, *(["-k"] if settings.keep_going else [])]))

        def work() -> str:
            what = runnable(
                self.user.directory / self.user.flow.file, None, structs.replace(settings, config=config), None
            )
            self._edited, self._whole = False, (config, settings)
            about = {"source": what.source, "warn": self.world.tell, "observers": [self._hear]}
            return runs.start(what.workflow, what.directory, what.settings, **about)[1]

        ending = self._with_faults(deed, "headway run", work)
        if self._error is not None and "clean --orphans" in self._error.todo:
            self._headway_clean(only_orphans=True)
            ending = self._with_faults(Deed("run", ALL), "headway run", work)
        if isinstance(self._error, BusyError):
            self._tell("the user waits, and runs it again")
            self.world.pass_by(_UNTIL_GONE_S)
            ending = self._with_faults(Deed("run", ALL), "headway run", work)
        return ending

    def _run_other(self, chance: random.Random) -> None:
        """Run another workflow file of the directory, whose tasks have the same names, and compare what it makes."""
        user, other = self.user, with_second_file(self.user, chance, self._switches)
        if other is None:
            return
        flow = other.flow
        self._tell(f"headway run {flow.file}\n{workflow_text(flow)}")

        def work() -> str:
            settings = RunSettings(history="none", keep_going=True)
            what = runnable(user.directory / flow.file, None, settings, None)
            about = {"source": what.source, "warn": self.world.tell, "observers": [self._hear]}
            return runs.start(what.workflow, what.directory, what.settings, **about)[1]

        self.runs += 1
        if self._session("headway run", work) == "succeeded":
            self.checked += 1
            wrong = difference(other, {}, RunSettings())
            assert not wrong, f"{flow.file}: {wrong}"
        self.world.judge()
        if chance.random() < 0.3:
            (user.directory / flow.file).unlink()
            self._tell(f"the user deletes {flow.file}")

    def _headway_resume(self, deed: Deed) -> None:
        if (folder := self._begun()) is not None:
            self._tell("headway resume")
            options = RunSettings(history="none")
            self._with_faults(
                deed, "headway resume", lambda: runs.resume(folder, options, [self._hear], warn=self.world.tell)
            )

    def _headway_clean(self, *, only_orphans: bool) -> None:
        self._tell(f"headway clean{' --orphans' * only_orphans}")
        with contextlib.suppress(HeadwayError):
            clean(self.user.directory, only_orphans=only_orphans)

    def _headway_cancel(self) -> None:
        if (folder := self._begun()) is not None:
            self._tell("headway cancel")
            self._with_faults(Deed("cancel", 0), "headway cancel", lambda: runs.cancel(folder, self.world.tell))

    def _with_faults(self, deed: Deed, name: str, work: Any) -> str:
        """Let a process of the user's work, with faults and other deeds meanwhile; check what it made."""
        self.runs += 1
        self.fate.arm(deed.faults)
        over: list[bool] = []
        for after_s, other in deed.during:
            self.world.after(after_s, partial(self._meanwhile, other, over))
        ending = self._session(name, work)
        over.append(True)
        self.fate.arm(())
        self.world.judge()
        if ending == "succeeded" and not self._edited:
            self._compare(*self._whole)
        return ending

    def _hear(self, records: Sequence[Event | Decision]) -> None:
        """Tell why tasks run, and why they fail."""
        for record in records:
            match record:
                case Launch():
                    self.world.tell(f"{record.task} is started: {self._because(record.task)}")
                case TaskEnded() if record.outcome.ending is not Ending.SUCCESS:
                    self.world.tell(f"{record.outcome.task} has failed: {record.outcome.message}")
                case TaskEnded() if record.inputs_moved:
                    self.world.tell(f"{record.outcome.task} has succeeded, and its inputs have changed meanwhile")
                case GiveUp():
                    self.world.tell(f"{record.task} is given up: {record.why.text}")

    def _because(self, task: str) -> str:
        return next((driver.engine.tasks[task].because for driver in self._drivers.values()), "")

    def _meanwhile(self, deed: Deed, over: list[bool]) -> None:
        if not over:
            self.user.is_running = True
            self._edit(deed)
            self.user.is_running = False

    def _session(self, name: str, work: Any) -> str:
        self.fate.manager = process = Process(self.world, name)
        self._error, said = None, ""
        try:
            said = str(work())
            self.world.tell(f"{name} says: {said}")
        except Killed:
            self.world.tell(f"{name} is dead")
        except HeadwayError as error:
            self._error = error
            self.world.tell(f"{name} says: {error}".replace(str(self.user.base), ""))
        process.end()
        return said

    def _succeed_at_last(self) -> None:
        expected = self.user.expected({})
        for _ in range(_MOST_ENDINGS):
            self.world.pass_by(700.0)
            ending = self._headway_run(Deed("run", ALL), {}, RunSettings(history="none"))
            if ending == "succeeded" or (expected.failed and ending == "failed"):
                return
        if not expected.failed:
            self.world.require(False, f"no run succeeds any more: {self._error or ending}")
            self.world.judge()

    # --- the law ---

    def _check(self, journal: SqliteJournal, records: Sequence[Event | Decision]) -> None:
        """Check nothing of what is written: that is for the stories of `tests/world`."""

    def _compare(self, config: dict[str, str], settings: RunSettings) -> None:
        """Compare the outputs of the newest run with those of an empty directory."""
        self.checked += 1
        wrong = difference(self.user, config, settings)
        assert not wrong, wrong
        if not (settings.tasks or settings.until):
            self.user.tampered.clear()
            self.user.keep_outputs()

    def _target(self, *words: Any, **named: Any) -> Target:
        target = super()._target(*words, **named)
        assert self.fate.manager is not None
        return target._replace(cluster=Machine(self._batch, self.fate.manager, self.fate.boundary))

    def _begun(self) -> Any:
        folders = Project(self.user.directory).runs()
        return folders[-1] if folders and folders[-1].journal.exists() else None


def with_second_file(user: User, chance: random.Random, switches: Switches) -> User | None:
    """Write another workflow file; return its user, or None if it could not be compared with an empty directory."""
    if any(map(user.has, user.tampered)) or user.markers:
        return None
    other = copy(user)
    other.flow = flow = deepcopy(user.flow)
    flow.file = SECOND
    for stage in flow.stages[: chance.randint(0, len(flow.stages))]:  # the others are those of a copy
        stage.place = f"o{stage.place}"
        stage.salt = chance.randrange(3)
    if chance.random() < 0.5:
        flow.config["genome"] = chance.choice(WORDS)
    if not is_allowed(other, switches):
        return None
    (user.directory / flow.file).write_text(workflow_text(flow))
    user.date(flow.file)
    return other


def chosen_options(deed: Deed, flow: Flow) -> tuple[dict[str, str], RunSettings]:
    """Choose the options of a run: values of `config`, and settings."""
    settings, chance = RunSettings(history="none"), random.Random(deed.number)
    if deed.number == ALL:
        return {}, settings
    settings = structs.replace(settings, keep_going=chance.random() < 0.2)
    name, genome = chance.choice([stage.name for stage in flow.stages]), chance.choice(("elm", "pine"))
    what = chance.choice(["all"] * 6 + ["set", "set", "force", "until", "tasks", "tasks"])
    if what == "set":
        return {"genome": genome}, settings
    return {}, settings if what == "all" else structs.replace(settings, **{what: (name,)})


def settled(seed: int, switches: Switches, base: Path, clock: Any) -> User:
    """Make up a workflow that Headway accepts, and let its user write it."""
    for number in range(1000):
        flow, files = made_up(random.Random(f"flow {seed} {number}"))
        room = base / f"flow{number}"
        room.mkdir()
        user = User(flow, files, room, clock)
        if is_allowed(user, switches) and not user.expected({}).failed:
            user.save()
            return user
    raise AssertionError("no workflow was accepted")


def difference(user: User, config: dict[str, str], settings: RunSettings) -> str:
    """Say which output of a run that succeeded is not what an empty directory gets; nothing if all are."""
    clean = user.expected(config)
    wanted = _chosen_tasks(clean, settings)
    if clean.failed in wanted:
        return f"the run has succeeded, and task {clean.failed} fails in an empty directory"
    for task_id in wanted:
        task = clean.tasks[task_id]
        for path in (*task.outputs, *task.temp):
            found = oracle.contents(user.directory, path)
            expected = {name: text for name, text in clean.made.items() if f"{name}/".startswith(f"{path}/")}
            if found != expected and (found or path not in task.temp):
                return f"output {path} of task {task_id} is {found}, and {expected} in an empty directory"
    return ""


def _chosen_tasks(clean: oracle.Clean, settings: RunSettings) -> list[str]:
    ids = [task.id for task in clean.tasks.values() if not settings.tasks or task.category in settings.tasks]
    kept = clean.reach(ids)
    last = [task.id for task in clean.tasks.values() if task.category in settings.until]
    after = {task for task in clean.tasks if any(one in clean.reach([task]) for one in last)} - set(last)
    after |= {task.id for task in clean.tasks.values() if task.source in settings.until}  # which may have no tasks
    return [task for task in clean.tasks if task in kept and task not in after]


def live(seed: int, deeds: Sequence[Deed] | None = None, switches: Switches | None = None) -> Verdict:
    """Live through a seed's history, or some of its deeds."""
    switches = switches or Switches()
    deeds = deeds_of(seed) if deeds is None else deeds
    memory = "/dev/shm"
    base = Path(tempfile.mkdtemp(prefix="headway-laws-", dir=memory if Path(memory).is_dir() else None))
    variables = {"XDG_STATE_HOME": str(base / "state"), "HEADWAY_HISTORY": "none"}
    verdict = Verdict(seed, deeds, [])
    with mock.patch.dict("os.environ", variables), _silence():
        living = Living(seed, deeds, switches, base)
        verdict.told = living.world.told
        try:
            living.tell()
        except AssertionError as error:
            verdict.wrong = str(error)
        except Exception as error:
            verdict.wrong = f"{UNHANDLED}: {error!r}"
            verdict.told.append(traceback.format_exc())
        finally:
            for process in list(living.world.processes):
                process.end()
            shutil.rmtree(base, ignore_errors=True)
        verdict.runs, verdict.checked = living.runs, living.checked
        verdict.files = workflow_text(living.user.flow)
        del living
        gc.collect()
    return verdict


def shortest(verdict: Verdict, switches: Switches | None = None) -> Verdict:
    """Leave out deeds, and what happens while they are done, as long as something is still wrong."""
    again = True
    while again:
        again = False
        for fewer in _shorter(list(verdict.deeds)):
            simpler = live(verdict.seed, fewer, switches)
            if simpler.wrong and not simpler.wrong.startswith(UNHANDLED):
                verdict, again = simpler, True
                break
    return verdict


def _shorter(deeds: list[Deed]) -> Iterator[list[Deed]]:
    for number in range(len(deeds)):
        yield deeds[:number] + deeds[number + 1 :]
    for number, deed in enumerate(deeds):
        for plainer in _plainer(deed):
            yield [*deeds[:number], plainer, *deeds[number + 1 :]]


def _plainer(deed: Deed) -> Iterator[Deed]:
    for index in range(len(deed.faults)):
        yield structs.replace(deed, faults=deed.faults[:index] + deed.faults[index + 1 :])
    for index in range(len(deed.during)):
        yield structs.replace(deed, during=deed.during[:index] + deed.during[index + 1 :])
