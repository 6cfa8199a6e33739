"""Options that the subverbs of `headway history` share; each may stand before or after the subverb."""

from __future__ import annotations

from pathlib import Path

import click

from headway.api.nearest import nearest
from headway.cli.options import option, or_before


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


location_option = option(
    "--file history LOCATION",
    "Where the history is; by default where your runs keep it.",
    default="",
    callback=or_before,
)


project_option = option(
    "--project DIR", "Only what was learned in this directory, or in a project of this name.", callback=or_before
)


def history_location(stated: str) -> str:
    """Return the location that `--file` states, else that of the environment and the settings files.

    `-C` before the subverb says in which directory these are.
    """
    from headway.api.settings import settings_for

    ctx = click.get_current_context()
    directory = ctx.params.get("directory") or (ctx.parent.params.get("directory") if ctx.parent else None)
    return stated or settings_for(directory or Path()).history


def say_if_missing(location: str) -> None:
    """Say on standard error that there is no history."""
    nothing = f"nothing has been learned yet: there is no history in {location}; `headway run` begins one"
    click.echo(nothing if location else "the settings say that no history is kept (none)", err=True)
