"""The learned state of agents (sizers that choose cores and memory together), kept from run to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headway.drivers.assemble import agents_of, allocator_of
from headway.drivers.history_recorders import Recorder
from headway.history.base import state_suffix
from headway.history.sql import History
from headway.model.outcome import Outcome
from headway.model.records import Decision, Event, Figure, HistoryKey, RunStarted
from headway.model.task import Task

VERSION = 1
_RUNS_REMEMBERED = 50

Lesson = tuple[Task, dict[str, Figure], Outcome]  # a task, the ticket of its allocation, and its outcome


def state_name(sizer: str, workflow: str, project: str) -> str:
    """The name of a sizer's state in the history."""
    return f"sizer/{sizer}{state_suffix(workflow, project)}"


def has_agents(sizer: str) -> bool:
    """Whether a sizer has agents, whose state is kept."""
    return agents_of(sizer) is not None


def learned_state(kept: Mapping[str, Any] | None, sizer: str) -> dict[str, Any] | None:
    """Extract an allocator's state from what the history keeps; None if there is none that this version can read."""
    if kept is None or kept.get("version") != VERSION:
        return None
    try:
        learned = dict(kept["learned"])
        dict(kept["runs"])
        allocator_of(sizer, 0).restore(learned)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return learned


class StateRecorder(Recorder):
    """Lets the agents in the history learn from the outcomes of this run.

    Runs at the same time take turns, and all of them teach: each adds its outcomes to the state that is there. The
    history also keeps how many outcomes of each run it has, so that none is added again after a crash.
    """

    most_pending = 100_000  # the state is rewritten as a whole, so seldom
    longest_s = 30.0

    def __init__(self, key: HistoryKey, settings: RunStarted, task: Callable[[str], Task | None]) -> None:
        super().__init__(key)
        self.pending: list[Lesson] = []
        self._settings = settings
        self._task = task
        make = agents_of(settings.sizer)
        if make is None:
            raise TypeError(f"the sizer {settings.sizer} has no agents")
        self._make = make
        self._chooses_for = make(settings.seed).chooses_for
        self._numbered_from = 0  # the run's outcomes before the first pending one

    def note(self, record: Event | Decision) -> None:
        if (ended := self.ended(record)) is not None:
            launch, outcome = ended
            task = self._task(launch.task)
            if task is not None and self._chooses_for(task):
                self.pending.append((task, launch.ticket, outcome))

    def write(self, history: History) -> None:
        name = state_name(self._settings.sizer, self.key.workflow, self.key.origin.project)
        history.update_state(self.key.site, name, self._taught)

    def written(self) -> None:
        self._numbered_from += len(self.pending)
        super().written()

    def _taught(self, kept: Mapping[str, Any] | None) -> dict[str, Any]:
        """Add the pending lessons to the state in the history."""
        uid = self._settings.uid
        allocator = self._make(self._settings.seed)
        learned = learned_state(kept, self._settings.sizer)
        runs = {} if learned is None or kept is None else dict(kept["runs"])
        if learned is not None:
            allocator.restore(learned)
        known = max(0, runs.pop(uid, 0) - self._numbered_from)
        for task, ticket, outcome in self.pending[known:]:
            allocator.observe(task, ticket, outcome)
        runs[uid] = self._numbered_from + max(known, len(self.pending))
        newest = dict(list(runs.items())[-_RUNS_REMEMBERED:])
        return {"version": VERSION, "learned": allocator.kept(), "runs": newest}
