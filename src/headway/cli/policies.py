"""`headway policies`: the ways of sizing and ordering tasks, built in or brought by plugins."""

from __future__ import annotations

import click

from headway.cli.options import json_option


@click.command("policies", short_help="List the ways of sizing and ordering tasks.")
@json_option
def command(as_json: bool) -> int:
    """List every sizer (how much does a task get?) and every order (which ready task goes first?).

    \b
    Use one with
      headway run --sizer max-seen
    or for good with a line in headway.toml:
      sizer = "max-seen"
    """
    from headway.cli.output import console_for, print_json
    from headway.drivers.assemble import orders, sizers
    from headway.ordering import DEFAULT_ORDER
    from headway.sizing import DEFAULT_SIZER

    kinds = (
        ("sizers", "how much does a task get? (--sizer)", sizers(), DEFAULT_SIZER),
        ("orders", "which ready task goes first? (--order)", orders(), DEFAULT_ORDER),
    )
    if as_json:
        print_json(
            {
                title: [
                    {"name": name, "default": name == default, "about": _first_line(policy)}
                    for name, policy in sorted(table.items())
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
        for name, policy in sorted(table.items(), key=lambda item: (item[0] != default, item[0])):
            mark = Text(" (default)", style="green") if name == default else Text()
            grid.add_row(Text(f"  {name}", style="cyan"), Text.assemble(_first_line(policy), mark))
        console.print(grid)
    return 0


def _first_line(policy: type) -> str:
    """What a policy's docstring says first."""
    words = (policy.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(words.split())
