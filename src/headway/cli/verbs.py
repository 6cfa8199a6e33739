"""The verbs of `headway`, and how an error becomes one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

import click

from headway.api.complaints import line_and_code
from headway.cli.verb_table import VERBS
from headway.model.damage import DamagedError
from headway.model.errors import HeadwayError, SiteError
from headway.registry import WithPlugins
from headway.report.streams import silence

INTERRUPTED, BROKEN_PIPE = 130, 141
_OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

Resolved = tuple[str | None, click.Command | None, list[str]]  # a verb's name, the verb, its words
PLUGINS = WithPlugins[click.Command]("headway.verbs", {})  # verbs that other distributions add


class Verbs(click.Group):
    """A group of commands whose modules are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*VERBS, *PLUGINS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return PLUGINS.get(cmd_name)
        command: click.Command = import_module(f"headway.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*VERBS.items(), *((name, _short_help(name)) for name in PLUGINS)])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Resolved:
        if args and not args[0].startswith("-") and args[0] not in VERBS and args[0] not in PLUGINS:
            hint = f"there are {', '.join(self.list_commands(ctx))}"
            if near := get_close_matches(args[0], self.list_commands(ctx), n=1):
                hint = f"did you mean {near[0]!r}?"
            elif args[0].endswith((".yaml", ".yml")):
                hint = f"did you mean 'headway run {args[0]}'?"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has closed the pipe
            silence(sys.stdout)
            return BROKEN_PIPE
        return answer

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> NoReturn:
        """Run the command line and exit; a verb's return value is its exit code."""
        extra = {name: value for name, value in extra.items() if name not in ("prog_name", "standalone_mode")}
        sys.exit(self._guarded(list(sys.argv[1:] if args is None else args), **extra))

    def _guarded(self, args: list[str], **extra: Any) -> int:
        try:
            answer = super().main(args, "headway", standalone_mode=False, **extra)
        except click.UsageError as error:
            where = f"; see `{error.ctx.command_path} --help`" if error.ctx else ""
            return _complain(f"{_sentence(error.format_message())}{where}", 2)
        except click.ClickException as error:
            return _complain(error.format_message(), 2)
        except (click.Abort, KeyboardInterrupt):
            return INTERRUPTED
        except Exception as error:
            if _output_fails(error):
                silence(sys.stdout)
                return _complain(f"the answer cannot be written: {error}", SiteError.exit_code)
            told = isinstance(error, HeadwayError) and not isinstance(error, DamagedError)
            if isinstance(error.__cause__, KeyboardInterrupt) or (not told and os.environ.get("HEADWAY_DEBUG")):
                raise
            return _complain(*line_and_code(error))
        return answer if isinstance(answer, int) else 0


def _short_help(plugin: str) -> str:
    try:
        return str(PLUGINS[plugin].short_help)
    except HeadwayError as error:
        return error.what


def _output_fails(error: Exception) -> bool:
    """Whether an error is standard output's, which does not take what is printed: its disk is full, for example."""
    if not isinstance(error, OSError) or error.errno not in _OF_WRITING or error.filename is not None:
        return False
    try:
        os.write(sys.stdout.fileno(), b"\n")
    except OSError:
        return True
    return False


def _sentence(message: str) -> str:
    """Return a message of click in our style: no capital at the start, no full stop at the end."""
    return (text := " ".join(message.split()).rstrip("."))[:1].lower() + text[1:]


def _complain(message: str, exit_code: int) -> int:
    with suppress(OSError):  # the exit code still tells
        click.echo(f"headway: {message}", err=True)
    return exit_code
