"""`replay`: what each sizer would have cost on logs of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins

from headway.api.amounts import parse_cores, parse_share, parse_size
from headway.api.keywords import Tell, chosen_names, refuse, settled
from headway.api.nearest import nearest
from headway.api.replay_times import TimesReplay, replay_times
from headway.api.task_logs import read_logs
from headway.model.errors import InputError
from headway.report.replay_table import ASKED, ResourceCost, SizerCost, best_first

if TYPE_CHECKING:
    from headway.model.task_log import TaskLog
    from headway.simulation.replay import Replay, TimeToFailure, World
    from headway.sizing.per_resource import PerResource

__all__ = ["LogReplay", "ReplayResult", "ReplaySettings", "World", "replay"]

_MACHINE = "write for example '16 cores, 64 GB, 64 GB'"
_KINDS = ("cores", "core", "memory", "disk")
# By resource: its name in the answer, the unit of its waste, and how many amount-seconds one such unit is.
_SHOWN = {
    "memory_bytes": ("memory", "GB·h", 3600e9),
    "disk_bytes": ("disk", "GB·h", 3600e9),
    "cores": ("cores", "core·h", 3600.0),
}


class ReplaySettings(Struct, frozen=True, kw_only=True):
    """Which sizers are tried, on what machine, and when attempts fail and outcomes become known."""

    resource: Literal["sizes", "time"] = "sizes"  # memory, disk and cores, or requests for time
    sizers: tuple[str, ...] | None = None  # None: all
    machine: str | None = None  # the most that a task can get: '16 cores, 64 GB, 64 GB'; None: as the log says
    lag: Annotated[int, Meta(ge=0)] = 0  # tasks that are sized before the outcome of one is known
    ttf: float | str = "end"  # when an attempt with too little fails: end, observed, or a fraction of its run time
    together: bool = False  # the logs are runs of one pipeline, in this order: what one taught is known in the next
    category: tuple[str, ...] = ()  # patterns such as eager/*; none: all categories
    category_from: str = ""  # a regular expression: what it matches in a task's name is its category
    failures: float | str = "3%"  # share of attempts that may fail once a category is known; any: as cheap as possible
    seed: int = 0


class LogReplay(Struct, frozen=True):
    """What the sizers would have cost on one log."""

    path: str
    log: TaskLog
    world: World  # machine, lag, time to failure, seed
    costs: list[SizerCost]
    asked: SizerCost | None  # the cost of the log's own requests

    def categories(self) -> int:
        """Count the categories of the log."""
        return len({task.category for task in self.log.tasks})

    def document(self) -> dict[str, Any]:
        """The answer for this log as JSON."""
        every = [*best_first(self.costs), *([self.asked] if self.asked else [])]
        return {
            "log": self.path,
            "tasks": len(self.log.tasks),
            "left_out": self.log.left_out,
            "bad_rows": self.log.bad_rows,
            "first_bad_row": self.log.first_bad,
            "format": self.log.format,
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
    """What the sizers would have cost on each log, or `times`; `together` if they were runs of one pipeline."""

    logs: list[LogReplay]
    together: bool = False
    times: list[TimesReplay] = []

    def document(self) -> dict[str, Any] | list[dict[str, Any]]:
        """The answer of `headway replay --json`: an object for one log, a list for several."""
        documents = [log.document() for log in self.logs or self.times]
        return documents[0] if len(documents) == 1 else documents


def replay(
    logs: str | Path | Sequence[str | Path],
    settings: ReplaySettings | None = None,
    *,
    progress: Tell | None = None,
    **named: Any,
) -> ReplayResult:
    """Size the tasks of a log (or of several) anew with each sizer, in the order of their starts, and add up the cost.

    A log is a file, `-` for standard input, a directory with runs of Headway, or one with benchmark files of Snakemake.
    Keywords are the fields of `ReplaySettings`: `replay("trace.csv", sizers=["ladder", "user"], lag=20)`.
    """
    from headway.drivers.assemble import sizers as all_sizers
    from headway.simulation.replay import World
    from headway.sizing.per_resource import PerResource

    asked, set_by_caller = settled(ReplaySettings, settings, named)
    table = all_sizers()
    if asked.resource == "time":
        refuse(("machine", "ttf", "seed"), set_by_caller, "sizes, not for --resource time")
        chosen = _chosen(logs, asked, observed=False)
        failures = _share(asked.failures)
        times = replay_times(chosen, asked.sizers, failures, asked.lag, together=asked.together, progress=progress)
        return ReplayResult([], asked.together, times)
    if asked.sizers == ():
        raise InputError("no sizer is named", where="--sizers", todo="write for example --sizers max-seen,user")
    names = sorted(table) if asked.sizers is None else chosen_names(asked.sizers, table, "sizer", "--sizers")
    failures = _share(asked.failures)
    ttf, amounts = _time_to_failure(asked.ttf), _amounts(asked.machine)
    read = _chosen(logs, asked, observed=ttf == "observed")
    if asked.together:
        _make_alike([log for _, log in read])
    answers: list[LogReplay] = []
    allocators: dict[str, PerResource] = {}
    for path, log in read:
        world = World(log.machine.replace(**amounts), asked.lag, ttf, asked.seed, failures=failures)
        if not (asked.together and answers):
            allocators = {name: PerResource(table[name], asked.seed, log.resources) for name in names}
            for allocator in allocators.values():
                allocator.tolerate(failures)
        answers.append(_replayed(path, log, allocators, world, progress))
    return ReplayResult(answers, asked.together)


def _chosen(
    logs: str | Path | Sequence[str | Path], asked: ReplaySettings, *, observed: bool
) -> list[tuple[Path, TaskLog]]:
    """Read the logs, with the tasks of the chosen categories."""
    paths = [Path(logs)] if isinstance(logs, str | Path) else [Path(log) for log in logs]
    read = read_logs(paths, asked.category_from)
    for path, log in read:
        _choose(path, log, asked.category, observed=observed)
    return read


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
        kind = next((kind for kind in _KINDS if part.rstrip().endswith(kind)), None)
        amount = part.rstrip().removesuffix(kind or "").strip()
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


def _choose(path: Path, log: TaskLog, patterns: tuple[str, ...], *, observed: bool) -> None:
    """Keep the tasks of some categories, and find out when attempts failed if that is asked for."""
    from headway.formats.read_task_log import failures_beside
    from headway.formats.spooled import kept

    if patterns:
        categories = list(dict.fromkeys(task.category for task in log.tasks))
        wanted = {name for name in categories if any(fnmatchcase(name, pattern) for pattern in patterns)}
        log.tasks = kept(task for task in log.tasks if task.category in wanted)
        if not log.tasks:
            todo = nearest(patterns[0], categories, otherwise="there are")
            raise InputError(f"no category is called {patterns[0]!r}", where=str(path), todo=todo)
    if observed and not log.failed_after_s and not any(task.profile for task in log.tasks):
        log.failed_after_s = failures_beside(path)


def _make_alike(logs: Sequence[TaskLog]) -> None:
    """Give runs of one pipeline the same machine, the largest, and the resources that all of them have."""
    from headway.formats.read_task_log import joined

    whole = joined(logs)
    for log in logs:
        log.machine, log.resources, log.kills = whole.machine, whole.resources, whole.kills


def _replayed(
    path: Path, log: TaskLog, allocators: Mapping[str, PerResource], world: World, progress: Tell | None
) -> LogReplay:
    from headway.simulation.replay import as_asked
    from headway.simulation.replay import replay as replay_log

    costs = []
    for name, allocator in allocators.items():

        def tell(done: int, name: str = name) -> None:
            if progress:
                progress(f"{log.name}: {name}", done, len(log.tasks))

        costs.append(_cost(name, replay_log(log, allocator, world, tell)))
    asked = as_asked(log)
    return LogReplay(str(path), log, world, costs, _cost(ASKED, asked) if asked else None)


def _cost(name: str, result: Replay) -> SizerCost:
    resources = {}
    for resource, (shown, unit, factor) in _SHOWN.items():
        if (cost := result.costs.get(resource)) is not None:
            resources[shown] = ResourceCost(cost.awe, cost.awe, cost.waste / factor, cost.failures, unit)
    return SizerCost(name, result.tasks, result.attempts, result.impossible, resources)
