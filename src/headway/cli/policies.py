"""`headway policies`: the ways of sizing and ordering tasks, of asking for jobs and of predicting how long they wait,
built in or brought by plugins."""

from __future__ import annotations

from collections.abc import Mapping

import click

from headway.cli.options import json_option


@click.command("policies", short_help="List the ways of sizing, ordering, planning and predicting waits.")
@json_option
def command(as_json: bool) -> int:
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
    from headway.cli.output import console_for, print_json
    from headway.drivers.assemble import orders, sizing_policies
    from headway.ordering import DEFAULT_ORDER
    from headway.planning import PLANS
    from headway.sizing import DEFAULT_SIZER
    from headway.waiting import WAITS

    kinds = (
        (
            "sizers",
            "how much does a task get? (--sizer)",
            {name: way.about for name, way in sizing_policies().items()},
            DEFAULT_SIZER,
        ),
        ("orders", "which ready task goes first? (--order)", _told(orders()), DEFAULT_ORDER),
        ("plans", "which jobs, and when? (simulate --plan)", {plan.name: plan.words for plan in PLANS.values()}, ""),
        ("waits", "how long does a job wait in the queue? (waits --models)", _told(WAITS), ""),
    )
    if as_json:
        print_json(
            {
                title: [
                    {"name": name, "default": name == default, "about": about} for name, about in sorted(table.items())
                ]
                for title, _, table, default in kinds
            }
        )
        return 0
    from rich.table import Table
    from rich.text import Text

    console = console_for()
    width = max(len(name) for _, _, table, _ in kinds for name in table)
    for title, question, table, default in kinds:
        console.print(Text.assemble((title, "bold"), f": {question}"))
        grid = Table.grid(padding=(0, 2))
        grid.add_column(min_width=width + 2)
        grid.add_column()
        for name, about in sorted(table.items(), key=lambda item: (item[0] != default, item[0])):
            mark = Text(" (default)", style="green") if name == default else Text()
            grid.add_row(Text(f"  {name}", style="cyan"), Text.assemble(about, mark))
        console.print(grid)
    return 0


def _told(table: Mapping[str, type]) -> dict[str, str]:
    """What each policy's docstring says first."""
    return {name: " ".join((policy.__doc__ or "").strip().split("\n\n")[0].split()) for name, policy in table.items()}
