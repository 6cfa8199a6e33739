"""The options that say which queue is simulated with which jobs, and what they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.kernels.batch.queue import Scheduling
    from headway.model.batch_log import BatchJobs

Function = TypeVar("Function", bound=Callable[..., Any])

GENERATED = "lublin"
POLICY = ("backfill", "nodes", "rules", "depth")
_ONLY_GENERATED = ("jobs", "load", "seed")
_ONLY_LOGS = ("processors", "cancelled", "overrun", "skip_bad")

_BACKFILL = {
    "fcfs": "first come, first served",
    "easy": "EASY backfilling",
    "conservative": "conservative backfilling",
}
_NODES = {"counts": "nodes only counted", "ids": "nodes by name", "contiguous": "neighbouring nodes"}
_CANCELLED = {
    "full-request": "jobs that never ran take all they asked for",
    "one-second": "jobs that never ran take a second",
}


def batch_options(backfill: str) -> Callable[[Function], Function]:
    """Decorator: all of them; `backfill` is the default."""
    options = [
        _choice(
            "--backfill",
            _BACKFILL,
            backfill,
            "Who may overtake: nobody; who does not delay the first; who delays nobody.",
        ),
        click.option(
            "--depth",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            metavar="K",
            help="With easy: how many waiting jobs have a reservation that others may not delay.",
        ),
        _choice(
            "--nodes",
            _NODES,
            "counts",
            "Whether nodes are only counted, or each job holds certain ones, or neighbours.",
        ),
        _choice("--rules", ["pyss", "batsched"], "pyss", "Whose order of events at the same time."),
        _choice(
            "--requests",
            ["real", "accurate"],
            "real",
            "What the queue is told of run times: the requests, or the truth.",
        ),
        _choice("--cancelled", ["drop", *_CANCELLED], "drop", "What becomes of jobs that never ran."),
        _choice("--processors", ["requested", "allocated"], "requested", "What says how wide a job is."),
        _choice(
            "--overrun",
            ["extend", "kill"],
            "extend",
            "Who ran for longer than asked: asked for more, or ended in time.",
        ),
        click.option(
            "--machine", type=click.IntRange(min=1), metavar="N", help="Nodes; by default the log's, lublin's 128."
        ),
        click.option("--skip-bad", is_flag=True, help="Leave out, and count, lines and jobs that cannot be."),
        click.option("--jobs", type=click.IntRange(min=1), default=10_000, show_default=True, help="lublin: how many."),
        click.option(
            "--load", type=float, default=0.8, show_default=True, help="lublin: the share of the machine they want."
        ),
        click.option(
            "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For all draws, and lublin's jobs."
        ),
    ]

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _choice(name: str, choices: Iterable[str], default: str, words: str) -> Callable[[Any], Any]:
    return click.option(name, type=click.Choice(list(choices)), default=default, show_default=True, help=words)


def check_batch_options(ctx: click.Context, trace: str, options: dict[str, Any], also: Iterable[str] = ()) -> None:
    """Options that say nothing about such a trace are mistakes; `also` are those that do, for this verb."""
    generated = trace == GENERATED
    for name in set(_ONLY_LOGS if generated else _ONLY_GENERATED) - set(also):
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            whom = "logs, and lublin is none" if generated else "jobs that are made up (lublin), and this is a log"
            raise InputError(f"this is for {whom}", where=f"--{name.replace('_', '-')}", todo="leave it out")
    depth_given = ctx.get_parameter_source("depth") is click.core.ParameterSource.COMMANDLINE
    if depth_given and options["backfill"] != "easy":
        raise InputError("only --backfill easy has a depth", where="--depth", todo="leave it out")


def scheduling_of(options: dict[str, Any]) -> Scheduling:
    """How the queue works."""
    from headway.kernels.batch.queue import Scheduling

    return Scheduling(**{name: options[name] for name in POLICY})


def jobs_from(trace: str, options: dict[str, Any]) -> tuple[BatchJobs, dict[str, str], dict[str, Any]]:
    """The jobs, the log's header, and for the document where they come from."""
    requests = options["requests"]
    if trace == GENERATED:
        from headway.simulation.lublin import lublin

        model = {"machine": options["machine"] or 128, **{name: options[name] for name in _ONLY_GENERATED}}
        jobs = lublin(**model, requests="accurate" if requests == "accurate" else "estimated")
        return jobs, {}, {"generated": model | {"requests": requests}}
    from msgspec import to_builtins

    from headway.formats.read_batch_log import read_batch_log
    from headway.simulation.batch_jobs import Choices, jobs_of

    names = ("processors", "requests", "cancelled", "overrun", "machine", "skip_bad")
    choices = Choices(**{name: options[name] for name in names})
    log = read_batch_log(Path(trace), choices.skip_bad)
    return jobs_of(log, choices, trace), log.header, {"choices": to_builtins(choices)}


def settings_of(options: dict[str, Any], *, generated: bool) -> list[str]:
    """How it is simulated, in words; what is as usual is not said."""
    depth = options["depth"]
    requests = "requests estimated" if generated else "requests as logged"
    said = [
        _BACKFILL[options["backfill"]] + (f" with {depth} reservations" if depth > 1 else ""),
        f"rules of {options['rules']}",
        _NODES[options["nodes"]],
        requests if options["requests"] == "real" else "requests accurate",
        _CANCELLED.get(options["cancelled"], ""),
        "widths as allocated" if options["processors"] == "allocated" else "",
        "jobs end with their request" if options["overrun"] == "kill" else "",
    ]
    return [words for words in said if words]
