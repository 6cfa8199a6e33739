"""The verbs of `headway`, and how an error becomes one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

import click

from headway.api.complaints import line_and_code
from headway.model.errors import HeadwayError
from headway.registry import WithPlugins
from headway.report.streams import silence

INTERRUPTED = 130
BROKEN_PIPE = 141

# Each verb is a module of this package, imported when it is used, so that `headway --help` is fast.
VERBS = {
    "run": "Run a workflow: what is new or has changed.",
    "resume": "Go on with a run that was stopped or killed.",
    "status": "Show how far a run is.",
    "attach": "Follow a run in the background until it ends.",
    "cancel": "Stop a run at once, resumable.",
    "runs": "List the runs of a directory.",
    "clean": "Delete old runs, sandboxes and environments that nothing needs.",
    "logs": "Show what a task wrote.",
    "why": "Explain what happened to a task, and why.",
    "usage": "Show what tasks asked for and what they used.",
    "history": "Show, export or prune what earlier runs taught.",
    "show": "Show a workflow's graph: levels, widths, critical path.",
    "convert": "Write a workflow, or a finished run, in another format.",
    "replay": "Show what each way of sizing tasks would have cost on a log.",
    "advise": "Say what to ask for, from a log, as configuration for its tool.",
    "plan": "Say how best to put a workflow through a batch queue.",
    "simulate": "Show what a batch queue would have done with a log of jobs.",
    "waits": "Show how well queue waits could have been predicted on a log of jobs.",
    "compare": "Compare plans on many workflows, queues and starts.",
    "generate": "Make up a workflow of a known family.",
    "policies": "List the ways of sizing, ordering, planning and predicting waits.",
    "doctor": "Check whether Headway can work here.",
    "docs": "Show the documentation.",
    "bundle": "Pack what a support request needs, without secrets.",
    "init": "Write a small workflow to start from.",
}

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
            added = ((name, str(plugin.short_help)) for name, plugin in PLUGINS.items())
            formatter.write_dl([*VERBS.items(), *added])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in VERBS and args[0] not in PLUGINS:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if near:
                hint = f"did you mean {near[0]!r}?"
            elif args[0].endswith((".yaml", ".yml")):
                hint = f"did you mean 'headway run {args[0]}'?"
            else:
                hint = f"there are {', '.join(self.list_commands(ctx))}"
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
        for name in ("prog_name", "standalone_mode"):
            extra.pop(name, None)
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
            told = isinstance(error, HeadwayError) or not os.environ.get("HEADWAY_DEBUG")
            if not told or isinstance(error.__cause__, KeyboardInterrupt):
                raise
            return _complain(*line_and_code(error))
        return answer if isinstance(answer, int) else 0


def _sentence(message: str) -> str:
    """Return a message of click in our style: no capital at the start, no full stop at the end."""
    return (text := " ".join(message.split()).rstrip("."))[:1].lower() + text[1:]


def _complain(message: str, exit_code: int) -> int:
    click.echo(f"headway: {message}", err=True)
    return exit_code
