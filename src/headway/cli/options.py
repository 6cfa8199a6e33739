"""The options that several verbs share, and the types of their values."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.console import Console

from headway.api.amounts import parse_budget, parse_cores, parse_preference, parse_share, parse_size
from headway.cli.completion import complete_run
from headway.cli.output import console_for, print_json
from headway.model.errors import InputError
from headway.model.units import parse_duration

Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING:
    _Type = click.ParamType[float | str]
else:
    _Type = click.ParamType  # older clicks have no type parameter here


class _Parsed(_Type):
    """A value that one of our own parsers reads; its error becomes one of click's."""

    def __init__(self, name: str, parse: Callable[[str], float | str]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        if isinstance(value, int | float):
            return value
        try:
            return self._parse(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


CORES = _Parsed("NUMBER", parse_cores)
SIZE = _Parsed("SIZE", parse_size)
SPAN = _Parsed("TIME", parse_duration)
SHARE = _Parsed("SHARE", parse_share)
PREFERENCE = _Parsed("PREFERENCE", parse_preference)
BUDGET = _Parsed("CORE-HOURS", parse_budget)


COUNT = click.IntRange(min=1)
FILE = click.Path(dir_okay=False)


def option(flags: str, words: str, **more: Any) -> Callable[[Function], Function]:
    """Return an option: flags, parameter name and METAVAR in one text (`-o --output FILE`), and the help in `words`.

    A default is shown, unless it is empty.
    """
    *_, last = parts = flags.split()
    metavar = None if last.startswith("-") or (last.isidentifier() and last.islower()) else last
    usual = {"metavar": metavar, "show_default": more.get("default") not in (None, "", ())}
    return click.option(*(part for part in parts if part != metavar), help=words, **(usual | more))


def _set_values(ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    for text in given:
        if not text.partition("=")[0].strip() or "=" not in text:
            todo = "write for example --set genome=hg38"
            raise InputError(f"{text!r} is not a name with a value", where="--set", todo=todo)
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InputError(f"{text!r} is not text in UTF-8", where="--set", todo="write it in UTF-8")
    return {name.strip(): value for name, _, value in (text.partition("=") for text in given)}


def set_option(name: str = "set") -> Callable[[Function], Function]:
    """Return the option `--set`, whose parameter is called `name`: values by name."""
    words = "Use this value instead of that under `config` in the workflow file; may be repeated."
    return option(f"--set {name} KEY=VALUE", words, multiple=True, callback=_set_values)


def or_before(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Take the value of an option that stands before a subverb, if it does not stand after it."""
    return value or (ctx.parent.params.get(str(parameter.name), value) if ctx.parent else value)


json_option = option("--json as_json", "Answer with one JSON document.", is_flag=True, callback=or_before)
directory_option = option(
    "-C --directory DIR",
    "The workflow's directory; by default the current one.",
    type=click.Path(path_type=Path),
    default=Path(),
    show_default=False,
)
quiet_option = option(
    "-q --quiet", "No progress, no table: only failures and exit code.", is_flag=True, envvar="HEADWAY_QUIET"
)
run_option = option("--run RUN", "The run; by default the newest.", shell_complete=complete_run)
run_argument = click.argument("run", required=False, shell_complete=complete_run)


def answers(
    show: Callable[[Console, Any], None], exit_code: Callable[[Any], int] = lambda answer: 0
) -> Callable[[Callable[..., Any]], Callable[..., int]]:
    """Return a decorator that adds `--json`: the answer of the function is printed as one document, or by `show`.

    Files that were written are named on standard error.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., int]:
        @json_option
        @wraps(function)
        def call(as_json: bool, **values: Any) -> int:
            answer = function(**values)
            for file in getattr(answer, "files", ()):
                click.echo(f"wrote {file}", err=True)
            if as_json:
                print_json(answer.document())
            else:
                show(console_for(), answer)
            return exit_code(answer)

        return call

    return decorate
