"""`replay`: what each sizer would have cost on logs of tasks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, to_builtins

from headway.api.amounts import parse_cores, parse_share, parse_size
from headway.api.keywords import Tell, chosen_names, settled
from headway.api.nearest import nearest
from headway.model.errors import InputError
from headway.report.replay_table import ASKED, ResourceCost, SizerCost, best_first

if TYPE_CHECKING:
    from headway.model.task_log import TaskLog
    from headway.simulation.replay import Replay, TimeToFailure, World
    from headway.sizing.ways import MakeSizer

__all__ = ["LogReplay", "ReplayResult", "ReplaySettings", "World", "replay"]

_MACHINE = "write for example '16 cores, 64 GB, 64 GB'"
# By resource: its name in the answer, the unit of its waste, and how many amount-seconds one such unit is.
_SHOWN = {
    "memory_bytes": ("memory", "GB·h", 3600e9),
    "disk_bytes": ("disk", "GB·h", 3600e9),
    "cores": ("cores", "core·h", 3600.0),
}


class ReplaySettings(Struct, frozen=True, kw_only=True):
    """Which sizers are tried, on what machine, and when attempts fail and outcomes become known."""

    sizers: tuple[str, ...] | None = None  # None: all
    machine: str | None = None  # the most that a task can get: '16 cores, 64 GB, 64 GB'; None: as the log says
    lag: Annotated[int, Meta(ge=0)] = 0  # tasks that are sized before the outcome of one is known
    ttf: float | str = "end"  # when an attempt with too little fails: end, observed, or a fraction of its run time
    category: tuple[str, ...] = ()  # patterns such as eager/*; none: all categories
    failures: float | str = "3%"  # share of attempts that may fail once a category is known; any: as cheap as possible
    seed: int = 0


class LogReplay(Struct, frozen=True):
    """What the sizers would have cost on one log."""

    path: str
    log: TaskLog
    world: World  # machine, lag, time to failure, seed
    costs: list[SizerCost]
    asked: SizerCost | None  # the cost of the log's own requests

    def document(self) -> dict[str, Any]:
        """The answer for this log as JSON."""
        every = [*best_first(self.costs), *([self.asked] if self.asked else [])]
        return {
            "log": self.path,
            "tasks": len(self.log.tasks),
            "left_out": self.log.left_out,
            "machine": {name: self.world.machine[name] for name in ("cores", "memory_bytes", "disk_bytes")},
            "lag": self.world.lag,
            "ttf": self.world.ttf,
            "failures": self.world.failures,
            "seed": self.world.seed,
            "sizers": {cost.name: to_builtins(cost.resources) for cost in every},
            "attempts": {cost.name: cost.attempts for cost in every},
            "impossible": {cost.name: cost.impossible for cost in every},
        }


class ReplayResult(Struct, frozen=True):
    """What the sizers would have cost on each log."""

    logs: list[LogReplay]

    def document(self) -> dict[str, Any] | list[dict[str, Any]]:
        """The answer of `headway replay --json`: an object for one log, a list for several."""
        documents = [log.document() for log in self.logs]
        return documents[0] if len(documents) == 1 else documents


def replay(
    logs: str | Path | Sequence[str | Path],
    settings: ReplaySettings | None = None,
    *,
    progress: Tell | None = None,
    **named: Any,
) -> ReplayResult:
    """Size the tasks of a log (or of several) anew with each sizer, in the order of their starts, and add up the cost.

    Keywords are the fields of `ReplaySettings`: `replay("trace.csv", sizers=["ladder", "user"], lag=20)`.
    """
    from headway.drivers.assemble import sizers as all_sizers
    from headway.simulation.replay import World

    asked, _ = settled(ReplaySettings, settings, named)
    table = all_sizers()
    if asked.sizers == ():
        raise InputError("no sizer is named", where="--sizers", todo="write for example --sizers max-seen,user")
    names = sorted(table) if asked.sizers is None else chosen_names(asked.sizers, table, "sizer", "--sizers")
    failures = _share(asked.failures)
    ttf, amounts = _time_to_failure(asked.ttf), _amounts(asked.machine)
    paths = [Path(logs)] if isinstance(logs, str | Path) else [Path(log) for log in logs]
    read = [(path, _read(path, asked.category, observed=ttf == "observed")) for path in paths]
    answers = []
    for path, log in read:
        world = World(log.machine.replace(**amounts), asked.lag, ttf, asked.seed, failures=failures)
        answers.append(_replayed(path, log, {name: table[name] for name in names}, world, progress))
    return ReplayResult(answers)


def _share(failures: float | str) -> float:
    try:
        return parse_share(failures)
    except InputError as error:
        raise InputError(error.what, where="--failures", todo=error.todo) from None


def _time_to_failure(ttf: float | str) -> TimeToFailure:
    named: dict[float | str, TimeToFailure] = {"end": "end", "observed": "observed"}
    if ttf in named:
        return named[ttf]
    try:
        fraction = float(ttf)
    except ValueError:
        fraction = 0.0
    if not 0 < fraction <= 1:
        raise InputError(
            f"{str(ttf)!r} is no time to failure", where="--ttf", todo="write end, observed or 0.5 for example"
        )
    return fraction


def _amounts(machine: str | None) -> dict[str, float | None]:
    """The amounts that `machine` states, by resource; the others are as the log says."""
    amounts: dict[str, float | None] = {}
    for part in machine.split(",") if machine else ():
        words = re.fullmatch(r"\s*(.*?)\s*(cores?|memory|disk)?\s*", part)
        amount, kind = (words[1], words[2]) if words else (part, None)
        if kind is None:
            bare = amount.replace(".", "", 1).isdigit()
            kind = "cores" if bare else "disk" if "memory_bytes" in amounts else "memory"
        name = "cores" if kind.startswith("core") else f"{kind}_bytes"
        if name in amounts:
            raise InputError(f"{machine!r} states {kind} twice", where="--machine", todo=_MACHINE)
        try:
            amounts[name] = parse_cores(amount) if name == "cores" else parse_size(amount)
        except InputError as error:
            raise InputError(error.what, where="--machine", todo=_MACHINE) from None
    return amounts


def _read(path: Path, patterns: tuple[str, ...], *, observed: bool) -> TaskLog:
    from headway.formats.read_task_log import failures_beside, read_task_log

    log = read_task_log(path)
    if patterns:
        categories = list(dict.fromkeys(task.category for task in log.tasks))
        wanted = {name for name in categories if any(fnmatchcase(name, pattern) for pattern in patterns)}
        log.tasks = [task for task in log.tasks if task.category in wanted]
        if not log.tasks:
            todo = nearest(patterns[0], categories, otherwise="there are")
            raise InputError(f"no category is called {patterns[0]!r}", where=str(path), todo=todo)
    if observed and not log.failed_after_s and not any(task.profile for task in log.tasks):
        log.failed_after_s = failures_beside(path)
    return log


def _replayed(path: Path, log: TaskLog, sizers: dict[str, MakeSizer], world: World, progress: Tell | None) -> LogReplay:
    from headway.simulation.replay import as_asked
    from headway.simulation.replay import replay as replay_log
    from headway.sizing.per_resource import PerResource

    costs = []
    for name, sizer in sizers.items():

        def tell(done: int, name: str = name) -> None:
            if progress:
                progress(f"{log.name}: {name}", done, len(log.tasks))

        allocator = PerResource(sizer, world.seed, log.resources)
        allocator.tolerate(world.failures)
        costs.append(_cost(name, replay_log(log, allocator, world, tell)))
    asked = as_asked(log)
    return LogReplay(str(path), log, world, costs, _cost(ASKED, asked) if asked else None)


def _cost(name: str, result: Replay) -> SizerCost:
    resources = {}
    for resource, (shown, unit, factor) in _SHOWN.items():
        if (cost := result.costs.get(resource)) is not None:
            resources[shown] = ResourceCost(cost.awe, cost.awe, cost.waste / factor, cost.failures, unit)
    return SizerCost(name, result.tasks, result.attempts, result.impossible, resources)
