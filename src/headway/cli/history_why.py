"""`headway history why CATEGORY`: what agents did, which allocations that led to, and which rewards they got."""

from __future__ import annotations

import click
from rich.console import Console

from headway.api.history import AgentsView, explain_agents
from headway.cli.history_options import history_location, location_option
from headway.cli.options import answers, option
from headway.report.history.agent_picture import agent_lines
from headway.report.saying import show


def _print(console: Console, view: AgentsView) -> None:
    for number, each in enumerate(view.found):
        if number:
            console.print()
        show(console, f"{each.sizer}, {view.category} of {each.workflow}, on {each.site}", style="bold")
        for trace in each.agents:
            show(console, *agent_lines(trace, console.width))


@click.command("why", short_help="Draw the agents that learn a category's cores and memory.")
@click.argument("category")
@option("--workflow NAME", "Only of this workflow.")
@option("--sizer NAME", "Only of this sizer, such as q-learning.")
@location_option
@answers(_print)
def command(category: str, workflow: str | None, sizer: str | None, history: str) -> AgentsView:
    """Draw each agent that chose cores or memory for tasks of CATEGORY: its actions over time, the allocations that
    they led to, its rewards, and their sum. Sizers such as gradient-bandit and q-learning have agents; see
    `headway docs learning-allocators`.

    \b
    Examples:
      headway history why search
      headway history why search --workflow match --sizer q-learning
    """
    return explain_agents(category, workflow=workflow, sizer=sizer, history=history_location(history))
