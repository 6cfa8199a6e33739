"""`headway reproduce`: a paper's experiments run again, the paper's figures beside ours."""

from __future__ import annotations

from importlib import import_module

import click

# Each study is a module of this package, imported when it is used.
_STUDIES = {
    "bucketing": "Phung and Thain 2024: seven allocators and ours on logs of tasks.",
    "asa": "Souza et al. 2020: a stage's job submitted ahead of time, in simulated queues.",
    "glume": "The GLUME thesis (2020): levels grouped into jobs, in the queues of KTH and SDSC.",
    "feedback": "Witt et al. 2019: which task first and how much memory, in a fixed pool.",
    "rl": "Zunker 2021: agents that choose cores and memory, simulated or on this machine.",
}


class _Studies(click.Group):
    """Lists the studies without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_STUDIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _STUDIES:
            return None
        found: click.Command = import_module(f"headway_papers.cli.{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Studies"):
            formatter.write_dl(list(_STUDIES.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _STUDIES and not args[0].startswith("-"):
            known = ", ".join(map(repr, _STUDIES))
            raise click.UsageError(f"there is no study {args[0]!r}; there are {known}", ctx)
        return super().resolve_command(ctx, args)


@click.group("reproduce", cls=_Studies, short_help="Run a paper's tables again, beside ours.")
def command() -> None:
    """Run a paper's experiments again with Headway's policies, and print the paper's figures beside ours.

    Each study has options of its own (headway reproduce glume --help). All of them print tables and verdicts, or one
    JSON document (--json); with --out they also write an HTML page. docs/reproduce.md says what differs from the
    papers, and why.

    \b
    Examples:
      headway reproduce bucketing
      headway reproduce glume --clean
      headway reproduce bucketing --json | jq '.verdicts[] | [.passed, .about]'
      headway reproduce asa --docs docs/reproduce-asa.md
    """
