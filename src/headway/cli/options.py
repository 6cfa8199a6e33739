"""The options that several verbs share, and the types of their values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headway.api.amounts import parse_cores, parse_size
from headway.model.errors import InputError
from headway.model.units import parse_duration

Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING:
    _Type = click.ParamType[float]
else:
    _Type = click.ParamType  # older clicks have no type parameter here


class _Parsed(_Type):
    """A value that one of our own parsers reads; its error becomes one of click's."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return value
        try:
            return self._parse(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


CORES = _Parsed("NUMBER", parse_cores)
SIZE = _Parsed("SIZE", parse_size)
SPAN = _Parsed("TIME", parse_duration)


def json_option(function: Function) -> Function:
    """Add `--json`, which every verb has."""
    return click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")(function)


def directory_option(function: Function) -> Function:
    """Add `-C`, for verbs about the runs of a directory."""
    return click.option(
        "-C",
        "--directory",
        type=click.Path(path_type=Path),
        default=Path(),
        metavar="DIR",
        help="The workflow's directory; by default the current one.",
    )(function)


def quiet_option(function: Function) -> Function:
    """Add `--quiet`, for verbs that show progress."""
    return click.option(
        "-q",
        "--quiet",
        is_flag=True,
        envvar="HEADWAY_QUIET",
        help="No progress, no table: only errors and exit code.",
    )(function)
