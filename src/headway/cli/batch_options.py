"""The options that say which queue is simulated with which jobs; and which options the user has given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, get_args

import click

from headway.api import queues

Function = TypeVar("Function", bound=Callable[..., Any])


def given(ctx: click.Context, *but: str) -> dict[str, Any]:
    """The options that the user has given, by name, for the api: the others keep its defaults."""
    default = click.core.ParameterSource.DEFAULT
    named = {name: value for name, value in ctx.params.items() if ctx.get_parameter_source(name) is not default}
    return {name: value for name, value in named.items() if name not in ("as_json", *but)}


def split_commas(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Callback of an option that lists names: `A,B`."""
    return None if value is None else tuple(name.strip() for name in value.split(",") if name.strip())


def choice(name: str, choices: Any, default: str, words: str) -> Callable[[Any], Any]:
    """An option with the values of a `Literal`, or with those listed."""
    names: Iterable[str] = get_args(choices) or choices
    return click.option(name, type=click.Choice(list(names)), default=default, show_default=True, help=words)


def batch_options(backfill: str) -> Callable[[Function], Function]:
    """Decorator that adds all of them; `backfill` is the default way of backfilling."""
    at_least_one = click.IntRange(min=1)
    options = [
        choice(
            "--backfill",
            queues.Backfill,
            backfill,
            "fcfs: no job overtakes another. easy: a job may overtake if the first waiting job is not delayed. "
            "conservative: a job may overtake if no waiting job is delayed.",
        ),
        click.option(
            "--depth",
            type=at_least_one,
            default=1,
            show_default=True,
            metavar="K",
            help="With easy: how many waiting jobs have a reservation that others may not delay.",
        ),
        choice(
            "--nodes",
            queues.Nodes,
            "counts",
            "Count free nodes, give each job certain nodes, or give each job neighbouring nodes.",
        ),
        choice("--rules", queues.Rules, "pyss", "The simulator whose order of simultaneous events is followed."),
        choice(
            "--requests",
            queues.Requests,
            "real",
            "Run times that the scheduler is told: those requested, or the actual ones.",
        ),
        choice("--cancelled", queues.Cancelled, "drop", "How jobs that never ran are simulated."),
        choice("--processors", queues.Processors, "requested", "The column that says how wide a job is."),
        choice(
            "--overrun",
            queues.Overrun,
            "extend",
            "Jobs that ran longer than requested: extend their request, or kill them at its end.",
        ),
        click.option("--machine", type=at_least_one, metavar="N", help="Nodes; by default the log's, lublin's 128."),
        click.option("--skip-bad", is_flag=True, help="Skip and count invalid lines and jobs."),
        click.option("--jobs", type=at_least_one, default=10_000, show_default=True, help="lublin: number of jobs."),
        click.option(
            "--load",
            type=float,
            default=0.8,
            show_default=True,
            help="lublin: the offered load, a share of the machine.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="For all random draws, and for lublin's jobs.",
        ),
    ]

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
