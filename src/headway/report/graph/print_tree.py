"""A workflow's graph printed: its figures and critical path, then its categories or tasks along the flow."""

from __future__ import annotations

import io

from rich.console import Console

from headway.model.instance import Instance
from headway.report.graph.picture import By
from headway.report.graph.shape import GraphShape
from headway.report.graph.terminal import category_lines, headline, path_line, task_lines
from headway.report.saying import say, show

_PAGE_WIDTH = 100


def print_tree(console: Console, instance: Instance, shape: GraphShape, by: By | None) -> None:
    """Print the graph as wide as the console."""
    for line in [*headline(shape), path_line(instance, shape)]:
        say(console, line)
    console.print()
    lines = task_lines(instance, shape, console.width) if by == "task" else category_lines(shape, console.width)
    for line in lines:
        show(console, line)


def tree_text(instance: Instance, shape: GraphShape, by: By | None) -> list[str]:
    """The same as lines of plain text, for a file."""
    page = io.StringIO()
    console = Console(file=page, width=_PAGE_WIDTH, highlight=False, markup=False, emoji=False)
    print_tree(console, instance, shape, by)
    return page.getvalue().splitlines()
