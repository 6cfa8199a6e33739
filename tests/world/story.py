"""One seed's story: a workflow, its user, and what goes wrong, told until the run is over and all of it was checked."""

from __future__ import annotations

import gc
import logging
import random
import shutil
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from msgspec import Struct

import headway.drivers.recovery
import headway.workers.runner
from headway.clusters.local import RunJobs
from headway.drivers import listening, real, runs
from headway.drivers.assemble import plans, sizers
from headway.drivers.run_settings import RunSettings
from headway.drivers.targets import Target
from headway.journal.folder import Project, RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model.errors import HeadwayError
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, RunStarted
from headway.model.workflow import Workflow
from headway.workers.attempt import AttemptFolder
from tests.world.batch import BatchSystem, Lines, View
from tests.world.clock import UNHANDLED, Killed, Process, StuckError, World
from tests.world.faults import Fate, Fault
from tests.world.flows import made_up, with_long_task
from tests.world.growing import GROWS, Program
from tests.world.laws import Laws
from tests.world.nodes import Commands

SELDOM_S = 5.0  # how often processes look whether anything has happened, so that stories take little time
_LINGER_S = 600.0
_MOST_SESSIONS = 40
_LONGEST_REST_S = 1200.0  # until a user resumes a run
_CANCELS = 0.1  # of all rests, at the end of which the user first cancels the run
_BUSY, _OTHERS_S = 0.4, 1800.0  # how often others have all nodes at first, and for how long at most
_COMPARED = 0.05  # of all appends: what the journal says is compared with what the manager believes


class Story(Struct):
    """What happened with a seed, and what was wrong with it; empty: nothing."""

    seed: int
    faults: Sequence[Fault]
    told: list[str]
    passed: Counter[str]  # boundaries, by who passed them
    wrong: str = ""
    again: int = 0  # commands that ran again after they had succeeded, since a process died before it could say so

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.wrong or 'all is well'}", *(f"  {fault}" for fault in self.faults)]
        return "\n".join([*lines, *self.told])


class Telling:
    """The world of one seed, and the user in it."""

    def __init__(self, seed: int, faults: Sequence[Fault], directory: Path) -> None:
        self.world = world = World(seed)
        self._grows = random.Random(f"grows {seed}").random() < GROWS
        # A growing run that is stopped while it has nothing to do has succeeded, whatever the program would have added.
        stops = "user stops the run" if self._grows else ""
        self.fate = Fate(world, [fault for fault in faults if fault.kind != stops])
        self._directory = directory
        self._chance = random.Random(f"user {seed}")
        self._workflow, behaviours = with_long_task(*made_up(self._chance), random.Random(f"long {seed}"))
        self.commands = Commands(world, self._workflow.tasks, behaviours)
        jobs, shrinks = lambda: Project(directory).runs()[-1].jobs, self._chance.random() < 0.5
        others = random.Random(f"others {seed}")
        others_s = others.uniform(60.0, _OTHERS_S) if others.random() < _BUSY else 0.0
        self._batch = self.fate.batch = BatchSystem(world, self.commands, jobs, shrinks=shrinks, others_s=others_s)
        self._laws = Laws(self.commands, self._batch, directory)
        plan, sizer = self._chance.choice(sorted(plans())), self._chance.choice(sorted(sizers()))
        # Longer than by default: jobs that should be given back must not leave by themselves before that is looked at.
        self._options = RunSettings(
            cluster="world", plan=plan, sizer=sizer, history="none", seed=seed, linger_s=_LINGER_S
        )
        self._drivers: dict[SqliteJournal, Any] = {}  # of the managers that are at work
        how = ", added one by one" if self._grows else ""
        world.tell(f"plan {plan}, sizer {sizer}, {len(self._workflow)} tasks{how}")

    # --- the user ---

    def tell(self) -> None:
        """Let the user run the workflow, and resume it until it has succeeded."""
        with self._in_place():
            for _ in range(_MOST_SESSIONS):
                ending = self._session("manager", self._start_or_resume)
                if ending == "succeeded":
                    break
                self.world.require(ending in ("stopped", ""), f"the run has {ending}")
                self.world.pass_by(self.world.moment_s(_LONGEST_REST_S))
                folder = self._begun()
                if folder is not None and self._chance.random() < _CANCELS:
                    self._session("`headway cancel`", partial(runs.cancel, folder, self.world.tell))
            else:
                raise StuckError(f"{_MOST_SESSIONS} sessions were not enough")
            self._laws.check_results()
            self.world.pass_by(_LONGEST_REST_S)
            self._laws.check_nothing_is_left()
            self.world.judge()

    def _session(self, name: str, work: Any) -> str:
        """Let a process of the user's work until it ends; return its last word, which may be missing."""
        self.fate.manager = process = Process(self.world, name)
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
        return said

    def _start_or_resume(self) -> str:
        folder = self._begun()
        feed = Program(self.world, self._workflow, folder) if self._grows else None
        if folder is None:
            first = Workflow(self._workflow.name, []) if self._grows else self._workflow
            return runs.start(first, self._directory, self._options, warn=self.world.tell, feed=feed)[1]
        return runs.resume(folder, self._options, warn=self.world.tell, feed=feed)

    def _begun(self) -> RunFolder | None:
        folders = Project(self._directory).runs()
        return folders[-1] if folders and folders[-1].journal.exists() else None

    # --- the world's parts in the place of the real ones ---

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        world, boundary, disk = self.world, self.fate.boundary, self.fate.disk
        append, claim, write_result = SqliteJournal.append, AttemptFolder.claim, AttemptFolder.write_result

        def durable(journal: SqliteJournal, records: Sequence[Event | Decision]) -> None:
            if world.current is not None and not world.current.alive:
                return
            boundary("journal")
            with journal._complaints("write"):
                disk("journal")
            append(journal, records)
            self._check(journal, records)
            boundary("journalled")

        def claimed(folder: AttemptFolder) -> bool:
            boundary("claim")
            disk("claim")
            found = claim(folder)
            boundary("claimed")
            return found

        def written(folder: AttemptFolder, outcome: Outcome) -> None:
            boundary("write result")
            disk("write result")
            write_result(folder, outcome)
            if outcome.ending is Ending.SUCCESS:
                self.commands.results.add(outcome.task)
            boundary("result written")

        def published(publish: Any, *words: Any) -> Iterator[Any]:
            for path in publish(*words):
                yield path
                boundary("renamed")

        def driver(*words: Any) -> Any:
            made = usual(*words)
            self._drivers[made.journal] = made
            return made

        usual = runs.Driver
        uids = SimpleNamespace(token_hex=lambda size: f"{world.random.getrandbits(8 * size):0{2 * size}x}")
        with ExitStack() as stack:
            stack.enter_context(world.in_place())
            for owner, name, stand_in in (
                (SqliteJournal, "append", durable),
                (AttemptFolder, "claim", claimed),
                (AttemptFolder, "write_result", written),
                (headway.workers.runner, "publish", partial(published, headway.workers.runner.publish)),
                (headway.drivers.recovery, "publish", partial(published, headway.drivers.recovery.publish)),
                (runs, "target_of", self._target),
                (runs, "asyncio", SimpleNamespace(run=self._run)),
                (runs, "Driver", driver),
                (runs, "secrets", uids),
                (real, "_CHECK_EVERY_S", SELDOM_S),
                (listening, "_CHECK_EVERY_S", SELDOM_S),
            ):
                stack.enter_context(mock.patch.object(owner, name, stand_in))
            yield

    def _check(self, journal: SqliteJournal, records: Sequence[Event | Decision]) -> None:
        """Check the laws with what was just written to a journal."""
        laws, driver = self._laws_of(journal), self._drivers.get(journal)
        laws.check(records)
        if driver is not None and self.world.random.random() < _COMPARED:
            laws.compare(driver.engine)

    def _laws_of(self, journal: SqliteJournal) -> Laws:
        return self._laws

    def _target(self, settings: RunStarted, folder: RunFolder, options: RunSettings, **_: object) -> Target:
        manager = self.fate.manager
        assert manager is not None
        told = (options.linger_s, options.grace_s, options.measure)
        jobs = RunJobs(settings.uid, str(folder.directory), folder.jobs, *told)
        lines = Lines(folder.jobs, self._batch, manager, self.fate)
        return Target(View(self._batch, manager, self.fate.boundary), lines, jobs)

    def _run(self, work: Any) -> str:
        assert self.fate.manager is not None
        try:
            return str(self.world.run(self.fate.manager, work))
        finally:
            self._drivers.clear()


def tell(seed: int, faults: Sequence[Fault], kind: type[Telling] = Telling) -> Story:
    """Tell a seed's story with these faults."""
    memory = "/dev/shm"  # a file system in memory: stories write many small files
    directory = Path(tempfile.mkdtemp(prefix="headway-world-", dir=memory if Path(memory).is_dir() else None))
    work = directory / "work"
    work.mkdir()
    variables = {"XDG_STATE_HOME": str(directory / "state"), "HEADWAY_HISTORY": "none"}
    with mock.patch.dict("os.environ", variables), _silence():
        telling = kind(seed, faults, work)
        story = Story(seed, faults, telling.world.told, telling.fate.passed)
        try:
            telling.tell()
        except AssertionError as error:
            story.wrong = str(error)
        except Exception as error:
            story.wrong = f"{UNHANDLED}: {error!r}"
            story.told.append(traceback.format_exc())
        finally:
            for process in list(telling.world.processes):
                process.end()
            shutil.rmtree(directory, ignore_errors=True)
        successes = Counter(each.task for each in telling.commands.executions if each.how == "success")
        story.again = sum(successes.values()) - len(successes)
        del telling
        gc.collect()
    return story


@contextmanager
def _silence() -> Iterator[None]:
    """Hear nothing of the tasks of killed processes, which Python complains about when it throws them away."""
    gc.freeze()  # what is there already need not be looked at again and again
    logging.disable()  # supervisors log every fault
    try:
        with mock.patch.object(sys, "unraisablehook", lambda _: None), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    finally:
        logging.disable(logging.NOTSET)


def shortest(story: Story, kind: type[Telling] = Telling) -> Story:
    """Leave out faults as long as something is still wrong."""
    for fault in list(story.faults):
        fewer = [other for other in story.faults if other is not fault]
        if (simpler := tell(story.seed, fewer, kind)).wrong:
            story = simpler
    return story
