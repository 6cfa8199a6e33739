"""`headway replay`: what each way of sizing tasks would have cost on a log."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.api.amounts import parse_cores, parse_size
from headway.cli.options import json_option
from headway.model.errors import InputError

if TYPE_CHECKING:
    from rich.text import Text

    from headway.model.task_log import TaskLog
    from headway.report.replay_table import SizerCost
    from headway.simulation.replay import Replay, TimeToFailure, World
    from headway.sizing.base import Sizer

    Answer = tuple[Path, TaskLog, World, list[SizerCost], SizerCost | None]
    Watch = Callable[[str, int], Callable[[int], None]]

_MACHINE = "write for example '16 cores, 64 GB, 64 GB'"
# What people call it, the unit of its waste, and how many amount-seconds that is.
_SHOWN = {
    "memory_bytes": ("memory", "GB·h", 3600e9),
    "disk_bytes": ("disk", "GB·h", 3600e9),
    "cores": ("cores", "core·h", 3600.0),
}


@click.command("replay", short_help="Show what each way of sizing tasks would have cost on a log.")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...", type=click.Path(path_type=Path))
@click.option("--sizers", metavar="A,B", help="Only these; by default all that `headway policies` lists.")
@click.option(
    "--machine",
    metavar="AMOUNTS",
    help="The most that a task can get, as '16 cores, 64 GB, 64 GB' (cores, memory, disk); by default the log's.",
)
@click.option(
    "--lag",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Tasks that are in flight before what happened to one becomes known.",
)
@click.option(
    "--ttf",
    default="end",
    show_default=True,
    metavar="end|observed|FRACTION",
    help="When an attempt with too little fails: at its end, as was observed, or after a fraction of its run time.",
)
@click.option("--category", "patterns", multiple=True, metavar="PATTERN", help="Only such categories: 'eager/*'.")
@click.option("--seed", type=int, default=0, show_default=True, help="For sizers that draw at random.")
@json_option
def command(
    logs: tuple[Path, ...],
    sizers: str | None,
    machine: str | None,
    lag: int,
    ttf: str,
    patterns: tuple[str, ...],
    seed: int,
    as_json: bool,
) -> int:
    """Walk through LOG in the order in which its tasks started, let each sizer say what every task gets before anything
    is known of it, and add up what that would have cost.

    When one resource runs out, all that the attempt had is wasted, and the task is sized again. AWE is what the
    successes used over all that was given, each times its run time; waste is the rest; failed counts the attempts that
    ran out of it. The line `asked` is what the log's own requests wasted.

    LOG is a Nextflow trace (raw or for people), a Work Queue transaction log or its attempts as CSV, k-Segments'
    tasks.csv, or records of the CCL; any of them also with .gz. docs/replay.md has the details.

    \b
    Examples:
      headway replay trace.txt
      headway replay trace.txt --sizers ladder,user --machine '32 cores, 256 GB'
      headway replay *_whole.csv.gz --lag 20 --ttf observed
      headway replay trace.txt --json | jq '.sizers[].memory.waste'
    """
    from headway.drivers.assemble import sizers as all_sizers
    from headway.simulation.replay import World

    chosen = _chosen(sizers, all_sizers())
    moment, amounts = _time_to_failure(ttf), _amounts(machine)
    found = [(path, _read(path, patterns, observed=moment == "observed")) for path in logs]
    answers = []
    with _progress() as watch:
        for path, log in found:
            world = World(log.machine.replace(**amounts), lag, moment, seed)
            answers.append((path, log, world, *_replay(log, chosen, world, watch)))
    if as_json:
        from headway.cli.output import print_json

        documents = [_document(*answer) for answer in answers]
        print_json(documents[0] if len(logs) == 1 else documents)
        return 0
    _print(answers)
    return 0


# --- what was asked for ---


def _chosen(names: str | None, table: dict[str, type[Sizer]]) -> dict[str, type[Sizer]]:
    if names is None:
        return dict(sorted(table.items()))
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in table:
            from headway.api.nearest import nearest

            todo = nearest(name, sorted(table), otherwise="there are")
            raise InputError(f"there is no sizer called {name!r}", where="--sizers", todo=todo)
    if not wanted:
        raise InputError("no sizer is named", where="--sizers", todo="write for example --sizers max-seen,user")
    return {name: table[name] for name in dict.fromkeys(wanted)}


def _time_to_failure(text: str) -> TimeToFailure:
    named: dict[str, TimeToFailure] = {"end": "end", "observed": "observed"}
    if text in named:
        return named[text]
    try:
        fraction = float(text)
    except ValueError:
        fraction = 0.0
    if not 0 < fraction <= 1:
        raise InputError(
            f"{text!r} is no time to failure", where="--ttf", todo="write end, observed or 0.5 for example"
        )
    return fraction


def _amounts(machine: str | None) -> dict[str, float | None]:
    """What `--machine` says; what it does not tell is as the log has it."""
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
    from fnmatch import fnmatchcase

    from headway.formats.read_task_log import failures_beside, read_task_log

    log = read_task_log(path)
    if patterns:
        categories = list(dict.fromkeys(task.category for task in log.tasks))
        wanted = {name for name in categories if any(fnmatchcase(name, pattern) for pattern in patterns)}
        log.tasks = [task for task in log.tasks if task.category in wanted]
        if not log.tasks:
            from headway.api.nearest import nearest

            todo = nearest(patterns[0], categories, otherwise="there are")
            raise InputError(f"no category is called {patterns[0]!r}", where=str(path), todo=todo)
    if observed and not log.failed_after_s and not any(task.profile for task in log.tasks):
        log.failed_after_s = failures_beside(path)
    return log


# --- the work ---


def _replay(
    log: TaskLog, chosen: dict[str, type[Sizer]], world: World, watch: Watch | None
) -> tuple[list[SizerCost], SizerCost | None]:
    from headway.report.replay_table import ASKED
    from headway.simulation.replay import as_asked, replay
    from headway.sizing.per_resource import PerResource

    costs = []
    for name, sizer in chosen.items():
        progress = watch(f"{log.name}: {name}", len(log.tasks)) if watch else None
        costs.append(_cost(name, replay(log, PerResource(sizer, world.seed, log.resources), world, progress)))
    asked = as_asked(log)
    return costs, _cost(ASKED, asked) if asked else None


def _cost(name: str, result: Replay) -> SizerCost:
    from headway.report.replay_table import ResourceCost, SizerCost

    resources = {
        shown: ResourceCost(cost.awe, cost.awe, cost.waste / factor, cost.failures, unit)
        for shown, unit, factor, cost in (
            (*_SHOWN[resource], result.costs[resource]) for resource in _SHOWN if resource in result.costs
        )
    }
    return SizerCost(name, result.tasks, result.attempts, result.impossible, resources)


@contextmanager
def _progress() -> Iterator[Watch | None]:
    """A bar on a terminal; nothing in a log."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    from headway.report.words import harmless

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def watch(title: str, total: int) -> Callable[[int], None]:
            bar.reset(task, description=escape(harmless(title)), total=total)
            return lambda done: bar.update(task, completed=done)

        yield watch


# --- the answer ---


def _document(
    path: Path, log: TaskLog, world: World, costs: list[SizerCost], asked: SizerCost | None
) -> dict[str, Any]:
    from msgspec import to_builtins

    from headway.report.replay_table import best_first

    every = [*best_first(costs), *([asked] if asked else [])]
    return {
        "log": str(path),
        "tasks": len(log.tasks),
        "left_out": log.left_out,
        "machine": {name: world.machine[name] for name in ("cores", "memory_bytes", "disk_bytes")},
        "lag": world.lag,
        "ttf": world.ttf,
        "seed": world.seed,
        "sizers": {cost.name: to_builtins(cost.resources) for cost in every},
        "attempts": {cost.name: cost.attempts for cost in every},
        "impossible": {cost.name: cost.impossible for cost in every},
    }


def _print(answers: list[Answer]) -> None:
    from headway.cli.output import console_for
    from headway.report.replay_table import replay_table, summary_table, verdict
    from headway.report.saying import say, show
    from headway.report.words import count

    console = console_for()
    for _, log, world, costs, asked in answers:
        say(console, _title(log, world))
        console.print()
        for line in replay_table(costs, asked, console.width):
            show(console, line)
        console.print()
        say(console, verdict(costs, asked))
        if asked and asked.tasks < len(log.tasks):
            say(console, f"asked: only {count(asked.tasks, 'task')} of {len(log.tasks):,} asked for something", "dim")
        console.print()
    if len(answers) > 1:
        say(console, f"all {len(answers)} logs", "bold")
        console.print()
        for line in summary_table([answer[3] for answer in answers], console.width):
            show(console, line)
        console.print()
        say(console, "to best: waste over the least of any sizer on the same log, geometric mean of all logs", "dim")


def _title(log: TaskLog, world: World) -> Text:
    """What is replayed, where and how."""
    from rich.text import Text

    from headway.model.units import format_duration
    from headway.report.words import count, harmless

    categories = len({task.category for task in log.tasks})
    title = Text.assemble((harmless(log.name), "bold"), f": {count(len(log.tasks), 'task')}")
    title.append(f" of {categories:,} categories" if categories > 1 else " of one category")
    if log.left_out:
        title.append(f", {log.left_out:,} left out")
    title.append(f"; up to {world.machine}; ")
    if world.ttf == "observed":
        when = [f"{_SHOWN[name][0]} after {format_duration(after)}" for name, after in log.failed_after_s.items()]
        title.append(f"attempts fail as observed ({', '.join(when) or 'where their memory over time says'})")
    else:
        title.append(
            "attempts fail at their end" if world.ttf == "end" else f"attempts fail after {world.ttf:g} of their time"
        )
    return title.append(f"; known after {count(world.lag, 'more task')}" if world.lag else "")
