"""`headway history why CATEGORY`: what an agent did, what that led to, and what it got for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.api.nearest import nearest
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.history.base import History
    from headway.report.history.agent_picture import AgentTrace


class _Found:
    """An agent that the history keeps."""

    def __init__(self, site: str, workflow: str, sizer: str, traces: list[AgentTrace]) -> None:
        self.site, self.workflow, self.sizer, self.traces = site, workflow, sizer, traces


@click.command("why", short_help="Draw the agents that learn a category's cores and memory.")
@click.argument("category")
@click.option("--workflow", metavar="NAME", help="Of this workflow only.")
@click.option("--sizer", metavar="NAME", help="Of this sizer only, such as q-learning.")
@click.option(
    "--file", "history", metavar="FILE", default="", envvar="HEADWAY_HISTORY", help="The history, if not yours."
)
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")
def command(category: str, workflow: str | None, sizer: str | None, history: str, as_json: bool) -> int:
    """Draw each agent that chose cores or memory for tasks of CATEGORY: its actions over time, the allocations that
    they led to, its rewards, and their sum. Sizers such as gradient-bandit and q-learning have agents; see
    docs/learning-allocators.md.

    \b
    Examples:
      headway history why search
      headway history why search --workflow match --sizer q-learning
    """
    from headway.cli.output import console_for, print_json
    from headway.history.location import find_history, history_location
    from headway.report.history.agent_picture import agent_lines
    from headway.report.saying import show

    place = history_location(history)
    opened = find_history(place) if place else None
    if opened is None:
        raise InputError("there is no history yet", where=place, todo="`headway run` begins one")
    try:
        found = _agents(opened, category, workflow, sizer)
    finally:
        opened.close()
    if as_json:
        print_json({"history": place, "category": category, "agents": [_document(each) for each in found]})
        return 0
    console = console_for()
    for number, each in enumerate(found):
        if number:
            console.print()
        show(console, f"{each.sizer}, {category} of {each.workflow}, on {each.site}", "bold")
        for trace in each.traces:
            for line in agent_lines(trace, console.width):
                show(console, line)
    return 0


def _agents(history: History, category: str, workflow: str | None, sizer: str | None) -> list[_Found]:
    from headway.drivers.assemble import allocators
    from headway.drivers.learned_state import state_name
    from headway.report.history.agent_picture import traces_of

    known = history.figures(workflow)
    if sizer is not None and sizer not in allocators():
        todo = nearest(sizer, sorted(allocators()), otherwise="there are")
        raise InputError(f"no sizer called {sizer!r} has agents", where="--sizer", todo=todo)
    found = []
    for site, name in dict.fromkeys((each.site, each.workflow) for each in known if each.category == category):
        for each in [sizer] if sizer else sorted(allocators()):
            traces = traces_of(history.state(site, state_name(each, name)) or {}, category)
            if traces:
                found.append(_Found(site, name, each, traces))
    if not found:
        near = nearest(category, [each.category for each in known], otherwise="there are")
        todo = "run it with --sizer gradient-bandit, q-learning or feedback-loop"
        seen = any(each.category == category for each in known)
        raise InputError(f"no agent has learned about {category!r}", todo=todo if seen else near)
    return found


def _document(found: _Found) -> dict[str, Any]:
    from msgspec import structs

    return {
        "site": found.site,
        "workflow": found.workflow,
        "sizer": found.sizer,
        "agents": [
            {
                "name": trace.name,
                "count": trace.count,
                "reward_sum": trace.reward_sum,
                "steps": [structs.asdict(step) for step in trace.steps],
            }
            for trace in found.traces
        ],
    }
