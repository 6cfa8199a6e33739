"""The options that several verbs share, and the types of their values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headway.model.errors import InputError
from headway.model.units import parse_bytes, parse_duration

Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING:
    _Type = click.ParamType[float]
else:
    _Type = click.ParamType  # older clicks have no type parameter here

METHODS = ("auto", "polling", "cgroup-v1", "cgroup-v2")


class _Parsed(_Type):
    """A value that one of our own parsers reads; its complaint becomes click's, and says which variable is wrong."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return value
        try:
            return self._parse(value)
        except InputError as error:
            variable = ""
            if param and ctx and param.name and param.envvar:
                source = ctx.get_parameter_source(param.name)
                variable = f" (from {param.envvar})" if source is click.core.ParameterSource.ENVIRONMENT else ""
            self.fail(f"{error}{variable}", param, ctx)


def parse_cores(text: str) -> float:
    """A number of cores, parts allowed."""
    try:
        cores = float(text)
    except ValueError:
        cores = 0.0
    if not 0 < cores < 2**31:
        raise InputError(f"{text!r} is not a number of cores", todo="write for example 4 or 0.5")
    return cores


def parse_size(text: str) -> float:
    """An amount of memory or disk, and not nothing."""
    size = parse_bytes(text)
    if size < 1:
        raise InputError(f"{text!r} is no memory or disk at all", todo="write for example 200 MB or 1.5 GiB")
    return size


CORES = _Parsed("NUMBER", parse_cores)
SIZE = _Parsed("SIZE", parse_size)
SPAN = _Parsed("TIME", parse_duration)


def json_option(function: Function) -> Function:
    """`--json`, which every verb has."""
    return click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")(function)


def directory_option(function: Function, **more: Any) -> Function:
    """`-C`, for verbs that look at what was run in a directory."""
    return click.option(
        "-C",
        "--directory",
        type=click.Path(path_type=Path),
        default=Path(),
        metavar="DIR",
        help="The workflow's directory; by default the current one.",
        **more,
    )(function)


def quiet_option(function: Function) -> Function:
    """`--quiet`, for verbs that show progress."""
    return click.option(
        "-q",
        "--quiet",
        is_flag=True,
        envvar="HEADWAY_QUIET",
        help="No progress, no table: only errors and exit code.",
    )(function)


def supervision_options(function: Function) -> Function:
    """How tasks are measured and stopped: asked when supervisors are started, so by `run` and by `resume`."""
    measure = click.option(
        "--measure",
        type=click.Choice(METHODS),
        default="auto",
        envvar="HEADWAY_MEASURE",
        show_default=True,
        help="How tasks are measured; `headway doctor` says what works here.",
    )
    grace = click.option(
        "--grace",
        type=SPAN,
        default="5s",
        envvar="HEADWAY_GRACE",
        show_default=True,
        help="What a task that must end has between SIGTERM and SIGKILL.",
    )
    return measure(grace(function))
