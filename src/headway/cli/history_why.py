"""`headway history why CATEGORY`: what agents did, which allocations that led to, and which rewards they got."""

from __future__ import annotations

import click

from headway.cli.history_options import directory_of, history_location, json_option, location_option
from headway.cli.output import console_for, print_json


@click.command("why", short_help="Draw the agents that learn a category's cores and memory.")
@click.argument("category")
@click.option("--workflow", metavar="NAME", help="Only of this workflow.")
@click.option("--sizer", metavar="NAME", help="Only of this sizer, such as q-learning.")
@location_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, category: str, workflow: str | None, sizer: str | None, history: str, as_json: bool
) -> int:
    """Draw each agent that chose cores or memory for tasks of CATEGORY: its actions over time, the allocations that
    they led to, its rewards, and their sum. Sizers such as gradient-bandit and q-learning have agents; see
    docs/learning-allocators.md.

    \b
    Examples:
      headway history why search
      headway history why search --workflow match --sizer q-learning
    """
    from headway.api.history import explain_agents
    from headway.report.history.agent_picture import agent_lines
    from headway.report.saying import show

    location = history_location(history, directory_of(ctx))
    view = explain_agents(category, workflow=workflow, sizer=sizer, history=location)
    if as_json:
        print_json(view.document())
        return 0
    console = console_for()
    for number, each in enumerate(view.found):
        if number:
            console.print()
        show(console, f"{each.sizer}, {category} of {each.workflow}, on {each.site}", "bold")
        for trace in each.agents:
            for line in agent_lines(trace, console.width):
                show(console, line)
    return 0
