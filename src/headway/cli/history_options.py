"""Options that the subverbs of `headway history` share; each may stand before or after the subverb."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headway.api.nearest import nearest


class Subverbs(click.Group):
    """What can be done with a history. A workflow's name in place of a subverb gets a better answer than click's."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            near = nearest(args[0], self.commands) or f"did you mean 'headway history show {args[0]}'?"
            raise click.UsageError(f"there is no command {args[0]!r}; {near}", ctx)
        return super().resolve_command(ctx, args)


def _or_before(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Take the value of an option that stands before the subverb, if it does not stand after it."""
    return value or (ctx.parent.params.get(str(parameter.name)) if ctx.parent else value)


location_option = click.option(
    "--file",
    "history",
    metavar="LOCATION",
    default="",
    callback=_or_before,
    help="Where the history is; by default where your runs keep it.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, callback=_or_before, help="Answer with one JSON document."
)


def directory_of(ctx: click.Context) -> Path:
    """Return the directory that `-C` before the subverb names."""
    named = ctx.parent.params.get("directory") if ctx.parent else None
    return named or Path()


def history_location(stated: str | None, directory: Path) -> str:
    """Return the location that `--file` states, else that of the environment and the settings files."""
    from headway.api.settings import settings_for

    return stated or settings_for(directory).history


def say_if_missing(location: str) -> None:
    """Say on standard error that there is no history."""
    nothing = f"nothing has been learned yet: there is no history in {location}; `headway run` begins one"
    click.echo(nothing if location else "the settings say that no history is kept (none)", err=True)
