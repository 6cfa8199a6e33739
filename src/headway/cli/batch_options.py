"""Options made from the settings of the api; and those that say which queue is simulated with which jobs."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import click
from msgspec import Struct, structs

from headway.cli.options import Function, option

QUEUE_OPTIONS = {
    "--backfill": "fcfs: no job overtakes another. easy: a job may overtake if the first waiting job is not delayed. "
    "conservative: a job may overtake if no waiting job is delayed.",
    "--depth K": "With easy: how many waiting jobs have a reservation that others may not delay.",
    "--nodes": "Count free nodes, give each job certain nodes, or give each job neighbouring nodes.",
    "--rules": "The simulator whose order of simultaneous events is followed.",
    "--requests": "Run times that the scheduler is told: those requested, or the actual ones.",
    "--cancelled": "How jobs that never ran are simulated.",
    "--processors": "The column that says how wide a job is.",
    "--overrun": "Jobs that ran longer than requested: extend their request, or kill them at its end.",
    "--machine N": "Nodes; by default the log's, lublin's 128.",
    "--skip-bad": "Skip and count invalid lines and jobs.",
    "--jobs": "lublin: number of jobs.",
    "--load": "lublin: the offered load, a share of the machine.",
    "--seed": "For all random draws, and for lublin's jobs.",
}
NODE_OPTIONS = {
    "--nodes": "Count free nodes, give each job certain nodes, or give each job neighbouring nodes. whole, shared: the "
    "log's processors are cores, and the workflow's jobs ask for whole nodes or for shares of them.",
    "--node-cores N": "With whole and shared: the cores of a node.",
    "--node-memory SIZE": "With whole and shared: the memory of a node, as 256GB; by default memory does not count.",
}


def settings_options(kind: type[Struct], words: dict[str, str], **types: Any) -> Callable[[Function], Function]:
    """Return a decorator that adds an option for each entry of `words`: its flags and metavar, and its help.

    Type and default are those of the field of that name in `kind`; `types` replaces the types of some.
    """
    fields = {field.name: field for field in structs.fields(kind)}

    def decorate(function: Function) -> Function:
        for flags, text in reversed(words.items()):
            name = next(part for part in flags.split() if part.startswith("--"))[2:].replace("-", "_")
            more = {"type": types[name]} if name in types else _parameters(fields[name].type)
            function = option(flags, text, default=fields[name].default, **more)(function)
        return function

    return decorate


def _parameters(kind: Any) -> dict[str, Any]:
    """Return what makes an option of a field's type."""
    optional = NoneType in get_args(kind)
    if optional:
        kind = get_args(kind)[0]
    if get_origin(kind) is tuple:
        return {"callback": _split_commas} if optional else {"multiple": True}
    if get_origin(kind) is Literal:
        return {"type": click.Choice(get_args(kind))}
    if get_origin(kind) is Annotated:
        number, bounds = get_args(kind)
        return {"type": {int: click.IntRange, float: click.FloatRange}[number](bounds.ge, bounds.le)}
    return {"is_flag": True, "show_default": False} if kind is bool else {"type": kind if kind in (int, float) else str}


def _split_commas(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(name.strip() for name in value.split(",") if name.strip())


def given(*but: str) -> dict[str, Any]:
    """Return the options that the user has given, by name, for the api: the others keep its defaults."""
    ctx, default = click.get_current_context(), click.core.ParameterSource.DEFAULT
    named = {name: value for name, value in ctx.params.items() if ctx.get_parameter_source(name) is not default}
    return {name: value for name, value in named.items() if name not in ("as_json", *but)}
