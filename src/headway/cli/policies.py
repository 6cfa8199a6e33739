"""`headway policies`: the sizers, orders, plans and wait models, built in or from plugins."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headway.api.policies import PoliciesResult, policies
from headway.cli.options import answers


def _print(console: Console, result: PoliciesResult) -> None:
    width = max(len(name) for kind in result.kinds for name in kind.policies)
    for kind in result.kinds:
        console.print(Text.assemble((kind.name, "bold"), f": {kind.question}"))
        grid = Table.grid(padding=(0, 2))
        grid.add_column(min_width=width + 2)
        grid.add_column()
        default = kind.default
        for name, about in sorted(kind.policies.items(), key=lambda item: (item[0] != default, item[0])):
            mark = Text(" (default)", style="green") if name == default else Text()
            grid.add_row(Text(f"  {name}", style="cyan"), Text.assemble(about, mark))
        console.print(grid)


@click.command("policies", short_help="List the ways of sizing, ordering, planning and predicting waits.")
@answers(_print)
def command() -> PoliciesResult:
    """List every sizer (how much does a task get?), every order (which ready task goes first?), every plan (which jobs
    does a batch system get, and when?) and every model of waits (how long does a job wait in the queue?).

    \b
    Use one with
      headway run --sizer max-seen
    or for good with a line in headway.toml:
      sizer = "max-seen"
    compare plans with
      headway simulate TRACE --workflow W --plan one-job --plan one-job-per-task
    and models of waits with
      headway waits TRACE --models corrected-estimate,asa
    """
    return policies()
