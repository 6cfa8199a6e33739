"""`replay` of run times: how often predicted quantiles held, and what requests for time would have cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from headway.api.keywords import Tell, chosen_names
from headway.model.errors import InputError
from headway.report.times_table import cheapest_first

if TYPE_CHECKING:
    from headway.model.task_log import TaskLog
    from headway.simulation.replay_times import TimeCost

HOUR_S = 3600.0


class TimesReplay(Struct, frozen=True):
    """What each rule would have asked for on one log, and how often its quantiles held."""

    path: str
    log: TaskLog
    rules: dict[str, TimeCost]
    asked: TimeCost | None  # the cost of the log's own requests
    failures: float  # share of attempts that may run out of time once a category is known
    lag: int

    @property
    def without_run_time(self) -> int:
        """The number of tasks that are left out, since the log has 0 s for them."""
        return sum(task.run_s <= 0 for task in self.log.tasks)

    def document(self) -> dict[str, Any]:
        """The answer for this log as JSON."""
        return {
            "log": self.path,
            "resource": "time",
            "tasks": len(self.log.tasks),
            "without_run_time": self.without_run_time,
            "left_out": self.log.left_out,
            "bad_rows": self.log.bad_rows,
            "first_bad_row": self.log.first_bad,
            "format": self.log.format,
            "lag": self.lag,
            "failures": self.failures,
            "rules": {name: _document(self.rules[name]) for name in cheapest_first(self.rules)},
            "asked": _document(self.asked) if self.asked else None,
        }


def _document(cost: TimeCost) -> dict[str, Any]:
    return {
        "tasks": cost.tasks,
        "attempts": cost.attempts,
        "timeouts": cost.timeouts,
        "timeouts_of_known": cost.known_timeouts,
        "attempts_of_known": cost.known_attempts,
        "impossible": cost.impossible,
        "within": {f"{level:g}": share for level, share in cost.coverage().items()},
        "used_h": cost.used_s / HOUR_S,
        "asked_h": cost.asked_s / HOUR_S,
        "lost_h": cost.lost_s / HOUR_S,
        "delay_h": cost.delay_s / HOUR_S,
    }


def replay_times(
    logs: Sequence[tuple[Path, TaskLog]],
    rules: tuple[str, ...] | None,
    failures: float,
    lag: int,
    *,
    together: bool,
    progress: Tell | None,
) -> list[TimesReplay]:
    """Ask for time for the tasks of each log by each rule; `together`: what one log taught is known in the next."""
    from headway.simulation.replay_times import RULES, TimeReplay, as_asked

    if rules == ():
        raise InputError("no rule is named", where="--sizers", todo="write for example --sizers ladder,lotaru")
    names = list(RULES) if rules is None else chosen_names(rules, RULES, "rule for run times", "--sizers")
    answers: list[TimesReplay] = []
    replays: dict[str, TimeReplay] = {}
    for path, log in logs:
        if not any(task.run_s > 0 for task in log.tasks):
            todo = "replay its sizes instead: leave out --resource time"
            raise InputError("no task of this log has a run time", where=str(path), todo=todo)
        if not (together and answers):
            replays = {name: TimeReplay(name, failures, lag) for name in names}
        costs = {}
        for name, replay in replays.items():

            def tell(done: int, name: str = name, log: TaskLog = log) -> None:
                if progress:
                    progress(f"{log.name}: {name}", done, len(log.tasks))

            costs[name] = replay.over(log.tasks, tell)
        answers.append(TimesReplay(str(path), log, costs, as_asked(log.tasks), failures, lag))
    return answers
