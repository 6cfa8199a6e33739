"""A workflow's graph as text for the terminal: its critical path, and categories in workflow order or single tasks."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from headway.model.instance import Instance
from headway.model.units import format_bytes, format_duration
from headway.report.bars import fitted
from headway.report.columns import one_line
from headway.report.graph.names import shared_prefix, shortened
from headway.report.graph.picture import TIMES, By, range_words, recorded_words
from headway.report.graph.shape import CategoryShape, GraphShape
from headway.report.saying import say, show
from headway.report.words import count

_MOST_CATEGORIES = 100
_MOST_STEPS = 12  # of the critical path that are listed
_MOST_IN_TREE = 200  # tasks; with more tasks or levels a list is clearer
_DEEPEST_TREE = 25
_MOST_PARENTS = 3
_NAME_AT_MOST = 40
_BLOCKS = " ▏▎▍▌▋▊▉█"
_ON_PATH = "●"


def headline(shape: GraphShape) -> list[Text]:
    """Two to four lines: the size of the graph, its levels and its critical path."""
    kinds = f"{len(shape.categories):,} categor{'y' if len(shape.categories) == 1 else 'ies'}"
    needs = f"{shape.dependencies:,} dependenc{'y' if shape.dependencies == 1 else 'ies'}"
    wide = f", at most {max(shape.widths):,} side by side (level {shape.widest})" if shape.widths else ""
    lines = [
        Text.assemble((one_line(shape.name), "bold"), f": {count(shape.tasks, 'task')} of {kinds}, {needs}"),
        Text(f"{count(len(shape.widths), 'level')}{wide}"),
        Text(f"critical path: {_critical(shape)}"),
    ]
    if shape.timed and shape.timed < shape.tasks:
        lines.append(Text(f"run times are recorded for {shape.timed:,} of the tasks; others count as 0", "yellow"))
    return lines


def subtitle(shape: GraphShape) -> str:
    """The headline in one line, for drawings."""
    wide = f", at most {max(shape.widths):,} side by side" if shape.widths else ""
    return (
        f"{count(shape.tasks, 'task')} on {count(len(shape.widths), 'level')}{wide}; critical path: {_critical(shape)}"
    )


def category_lines(shape: GraphShape, width: int) -> list[Text]:
    """One line per category in workflow order: level, number of tasks, run time, memory, and categories it feeds."""
    shown = shape.categories
    if len(shown) > _MOST_CATEGORIES:
        large = sorted(shown, key=lambda each: -each.tasks)[:_MOST_CATEGORIES]
        chosen = {each.name for each in large}
        shown = [each for each in shown if each.name in chosen]
    prefix = shared_prefix([each.name for each in shape.categories])
    longest = max(len("category"), *(cell_len(one_line(each.name[len(prefix) :])) for each in shown), 0)
    names = min(longest, max(12, min(_NAME_AT_MOST, width // 4)))
    levels = max(len("level"), *(len(_levels(each)) for each in shown), 0)
    numbers = max(len("tasks"), *(len(f"{each.tasks:,}") for each in shown), 0)
    columns = [("run time", [range_words(each.run_s, format_duration) for each in shown])]
    columns += [("memory", [range_words(each.memory_bytes, format_bytes) for each in shown])]
    columns = [(title, texts) for title, texts in columns if any(texts)]
    wide = [max(len(title), *(cell_len(text) for text in texts)) for title, texts in columns]
    fixed = levels + 2 + 2 + numbers + 2 + 2 + names + sum(cells + 2 for cells in wide)
    most = max((each.tasks for each in shown), default=1)
    bar = min(30, most, max(4, (width - fixed) // 3))
    titles = "".join(f"  {title:>{cells}}" for (title, _), cells in zip(columns, wide, strict=True))
    head = f"{'level':>{levels}}  {'':{bar}}  {'tasks':>{numbers}}    {'category':{names}}{titles}  feeds"
    lines = [Text(head, style="dim")]
    for index, each in enumerate(shown):
        on_path = bool(each.on_critical_path)
        line = Text(f"{_levels(each):>{levels}}  ")
        line.append(_bar(each.tasks, most, bar), style="cyan").append(f"  {each.tasks:>{numbers},}  ")
        line.append(f"{_ON_PATH} " if on_path else "  ", style="red")
        line.append(fitted(shortened(each.name[len(prefix) :], names), names), style="bold" if on_path else "")
        for (_, texts), cells in zip(columns, wide, strict=True):
            line.append(f"  {texts[index]:>{cells}}")
        line.append(_feeds(each, len(prefix), width - fixed - bar), style="dim")
        line.rstrip()
        lines.append(line)
    if len(shape.categories) > len(shown):
        hidden = len(shape.categories) - len(shown)
        lines.append(Text(f"… and {hidden:,} smaller categories (--json lists them all)", style="dim"))
    without = f"; all names begin with {one_line(prefix)}" if prefix else ""
    lines.append(Text(f"{_ON_PATH} on the critical path{without}", style="dim"))
    return lines


def task_lines(instance: Instance, shape: GraphShape, width: int) -> Iterator[Text]:
    """All tasks: a tree for a small workflow, a list for a large one."""
    if shape.tasks <= _MOST_IN_TREE and len(shape.widths) <= _DEEPEST_TREE:
        return _task_tree(instance, shape)
    return _task_list(instance, shape, width)


def _task_tree(instance: Instance, shape: GraphShape) -> Iterator[Text]:
    """Each task below its parent on the latest level, with the number of its other parents."""
    tasks, critical = instance.workflow.tasks, set(shape.critical_path)
    below: dict[str, list[str]] = {}
    roots = []
    for task in tasks.values():
        if task.parents:
            last = max(task.parents, key=lambda parent: (shape.levels[parent], parent in critical))
            below.setdefault(last, []).append(task.id)
        else:
            roots.append(task.id)
    todo = [(task_id, "", "") for task_id in reversed(roots)]
    while todo:
        task_id, before, indent = todo.pop()
        task = tasks[task_id]
        line = Text(before, style="dim")
        line.append(f"{_ON_PATH} " if task_id in critical else "", style="red")
        line.append(one_line(task_id), style="bold" if task_id in critical else "")
        others = f"and {count(len(task.parents) - 1, 'more parent')}" if len(task.parents) > 1 else ""
        notes = filter(None, [others, *recorded_words(instance.recorded.get(task_id))])
        line.append("".join(f"  {note}" for note in notes), style="dim")
        yield line
        children = below.get(task_id, [])
        for place, child in reversed(list(enumerate(children))):
            is_last = place == len(children) - 1
            todo.append((child, indent + ("└─ " if is_last else "├─ "), indent + ("   " if is_last else "│  ")))
    yield Text(f"{_ON_PATH} on the critical path", style="dim")


def _task_list(instance: Instance, shape: GraphShape, width: int) -> Iterator[Text]:
    tasks, critical = instance.workflow.tasks, set(shape.critical_path)
    ordered = sorted(tasks, key=shape.levels.__getitem__)
    names = min(max(10, min(_NAME_AT_MOST, width // 3)), max(cell_len(one_line(task_id)) for task_id in ordered))
    levels = max(5, len(str(len(shape.widths))))
    yield Text(f"{'level':>{levels}}    {fitted('task', names)}  needs", style="dim")
    for task_id in ordered:
        task = tasks[task_id]
        mark = f"{_ON_PATH} " if task_id in critical else "  "
        parents = ", ".join(one_line(parent) for parent in task.parents[:_MOST_PARENTS])
        more = f" and {len(task.parents) - _MOST_PARENTS:,} more" if len(task.parents) > _MOST_PARENTS else ""
        line = Text(f"{shape.levels[task_id]:>{levels}}  ").append(mark, style="red")
        line.append(fitted(one_line(task_id), names), style="bold" if task_id in critical else "")
        line.append("".join(f"  {words}" for words in recorded_words(instance.recorded.get(task_id)) if words))
        line.append(f"  {parents}{more}" if parents else "", style="dim")
        yield line


# --- text and bars ---


def _critical(shape: GraphShape) -> str:
    """The length of the critical path, the total work, and the parallelism."""
    steps = count(len(shape.critical_path), "task")
    average = shape.parallelism or 0.0
    parallel = f"; parallelism {average:.3g}" if average < 1000 else f"; parallelism {average:,.0f}"
    if shape.work_s is None or shape.longest_s is None:
        return f"{steps}{parallel}"
    work = f"{format_duration(shape.longest_s)} in {steps}, of {format_duration(shape.work_s)} of work"
    return f"{work}{parallel}"


def path_line(instance: Instance, shape: GraphShape) -> Text:
    """The critical path as a chain of categories; repeats in a row are counted."""
    tasks = instance.workflow.tasks
    cut = len(shared_prefix([each.name for each in shape.categories]))
    steps = []
    for name, group in groupby(tasks[task_id].category for task_id in shape.critical_path):
        times = sum(1 for _ in group)
        steps.append(shortened(name[cut:], _NAME_AT_MOST) + (f" {TIMES} {times:,}" if times > 1 else ""))
    if len(steps) > _MOST_STEPS:
        steps = [*steps[: _MOST_STEPS - 3], f"… {len(steps) - _MOST_STEPS + 1:,} more …", *steps[-2:]]
    return Text(f"  {' → '.join(steps)}", style="dim")


def _levels(each: CategoryShape) -> str:
    return f"{each.first_level}" if each.first_level == each.last_level else f"{each.first_level}-{each.last_level}"


def _bar(tasks: int, most: int, cells: int) -> str:
    """A bar in eighths of a cell, at least one eighth long."""
    eighths = max(1, round(8 * cells * tasks / most))
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_BLOCKS[rest] if rest else "")).ljust(cells)


def _feeds(each: CategoryShape, cut: int, room: int) -> str:
    """The categories that it feeds, as many as fit into `room` cells."""
    longest = max(12, room - 7)
    names = [shortened(name[cut:], longest) if name != each.name else "itself" for name in each.feeds]
    text = ""
    for place, name in enumerate(names):
        longer = f"{text}, {name}" if text else f"  → {name}"
        left = len(names) - place - 1
        if text and cell_len(longer) + (len(f" +{left}") if left else 0) > room:
            return f"{text} +{len(names) - place}"
        text = longer
    return text


_PAGE_WIDTH = 100


def print_tree(console: Console, instance: Instance, shape: GraphShape, by: By | None) -> None:
    """Print the graph as wide as the console."""
    say(console, *headline(shape), path_line(instance, shape), "")
    for line in task_lines(instance, shape, console.width) if by == "task" else category_lines(shape, console.width):
        show(console, line)


def tree_text(instance: Instance, shape: GraphShape, by: By | None) -> list[str]:
    """The same as lines of plain text, for a file."""
    page = io.StringIO()
    console = Console(file=page, width=_PAGE_WIDTH, highlight=False, markup=False, emoji=False)
    print_tree(console, instance, shape, by)
    return page.getvalue().splitlines()
