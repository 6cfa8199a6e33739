"""The page of all commands, with the help that each prints, and the man page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from headway.cli.main import cli

WIDTH = 84  # characters of a line of help: as many as the site's column has room for
_SETTINGS: dict[str, Any] = {**cli.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}


def page() -> str:
    """Return the page: one section for each command, in the order of `headway --help`."""
    lines = [
        "# Commands",
        "",
        "Every command with its own help, as `headway COMMAND --help` prints it.",
        "[The command line](../command-line.md) explains the commands and their JSON, and",
        "[the cheat sheet](../cheat-sheet.md) has the most used ones.",
        "`make docs` makes a [man page](man.md) of the same text.",
        "",
    ]
    for path, command, context in _commands():
        lines += [f"## {path}", "", *_help(command, context)]
    return "\n".join(lines)


def man_page() -> str:
    """Return the source of the man page, which Sphinx translates."""
    lines = [
        "---",
        "orphan: true",
        "---",
        "",
        "# The man page",
        "",
        "## Synopsis",
        "",
        "`headway` [*options*] *command* [*arguments*]",
        "",
        "## Description",
        "",
        "Headway runs scientific workflows on one machine or on a Slurm cluster. It measures and limits every task,",
        "learns what the next one needs, and loses nothing when it is killed. `headway docs` shows the documentation.",
        "",
    ]
    for path, command, context in _commands():
        lines += [f"## {path}", "", *_help(command, context)]
    files = {
        "workflow.yaml": "the workflow",
        "headway.toml": "settings of a directory",
        "~/.config/headway/config.toml": "settings of a user",
        ".headway/": "journals and logs of runs",
    }
    return "\n".join([*lines, "## Files", "", *(f"- `{name}`: {about}" for name, about in files.items()), ""])


def _commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield `headway` and every command below it with its path, such as `headway pool start`."""
    context = click.Context(cli, info_name="headway", **_SETTINGS)
    yield "headway", cli, context
    yield from _below(cli, context)


def _below(group: click.Group, parent: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        if command is None or command.hidden:
            continue
        context = click.Context(command, info_name=name, parent=parent, **_SETTINGS)
        yield context.command_path, command, context
        if isinstance(command, click.Group):
            yield from _below(command, context)


def _help(command: click.Command, context: click.Context) -> list[str]:
    return ["```text", command.get_help(context).rstrip(), "```", ""]
