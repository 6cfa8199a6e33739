"""`Picture`: the boxes and lines of a graph drawing, by task or by category, for SVG and Graphviz."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from headway.model.instance import Instance, Recorded
from headway.model.units import format_bytes, format_duration
from headway.report.graph.names import shared_prefix
from headway.report.graph.shape import CategoryShape, GraphShape, Spread
from headway.report.words import count

By = Literal["task", "category"]

TIMES = "\N{MULTIPLICATION SIGN}"
MOST_TASKS = 300  # workflows with more tasks are drawn by category

# Readable on white and on black; neighbouring colours differ strongly. Categories use them in workflow order.
_PALETTE = (
    "#4e79a7",
    "#f28e2b",
    "#59a14f",
    "#e15759",
    "#2fa8a0",
    "#b07aa1",
    "#c9a227",
    "#9c755f",
    "#3b8fd9",
    "#d6719a",
    "#7f9a3c",
    "#8576c9",
    "#d1693a",
    "#5f8f84",
)


class Box(Struct, frozen=True):
    """A task, or a category with its number of tasks, on one layer of the drawing."""

    name: str
    label: str  # the name without the common prefix
    category: str
    layer: int
    tasks: int
    critical: bool
    caption: str  # the second line of text; may be empty
    notes: tuple[str, ...]  # the tooltip


class Line(Struct, frozen=True):
    """A line between two boxes, for a number of dependencies; `back`: it leads to a box on an earlier layer."""

    source: int
    target: int
    dependencies: int
    critical: bool
    back: bool = False


class Picture(Struct, frozen=True):
    """All boxes and lines, and the colour and short label of each category."""

    by: By
    boxes: list[Box]
    lines: list[Line]
    colours: dict[str, str]
    labels: dict[str, str]


def picture_of(instance: Instance, shape: GraphShape, by: By | None) -> Picture:
    """The picture by task or category; with `by` None, by task if there are at most `MOST_TASKS`."""
    by = by or ("task" if shape.tasks <= MOST_TASKS else "category")
    colours = {each.name: _PALETTE[place % len(_PALETTE)] for place, each in enumerate(shape.categories)}
    boxes, lines = _of_tasks(instance, shape) if by == "task" else _of_categories(instance, shape)
    cut = len(shared_prefix(colours))
    return Picture(by, boxes, lines, colours, {name: name[cut:] for name in colours})


def _of_tasks(instance: Instance, shape: GraphShape) -> tuple[list[Box], list[Line]]:
    flow = instance.workflow
    place = {task_id: index for index, task_id in enumerate(flow.tasks)}
    critical = set(shape.critical_path)
    on_path = set(pairwise(shape.critical_path))
    cut = len(shared_prefix(flow.tasks))
    boxes = []
    for task in flow:
        run, memory = recorded_words(instance.recorded.get(task.id))
        links = f"needs {count(len(task.parents), 'task')}, feeds {count(len(flow.children[task.id]), 'task')}"
        notes = [f"{task.category}, level {shape.levels[task.id]}", links, *filter(None, (run, memory))]
        if task.id in critical:
            notes.append("on the critical path")
        layer = shape.levels[task.id]
        boxes.append(Box(task.id, task.id[cut:], task.category, layer, 1, task.id in critical, run, tuple(notes)))
    lines = [
        Line(place[parent], place[task.id], 1, (parent, task.id) in on_path) for task in flow for parent in task.parents
    ]
    return boxes, lines


def recorded_words(took: Recorded | None) -> tuple[str, str]:
    """Run time and peak memory; each is empty if it is not known."""
    run = format_duration(took.run_s) if took and took.run_s is not None else ""
    return run, format_bytes(took.memory_bytes) if took and took.memory_bytes is not None else ""


def _of_categories(instance: Instance, shape: GraphShape) -> tuple[list[Box], list[Line]]:
    tasks = instance.workflow.tasks
    path = [tasks[task_id].category for task_id in shape.critical_path]
    on_path = set(pairwise(path))
    order = _topological(shape.categories)
    place = {each.name: index for index, each in enumerate(order)}
    layer = dict.fromkeys(place, 0)
    lines = []
    for each in order:
        for fed, dependencies in each.feeds.items():
            if fed == each.name:
                continue
            back = place[fed] < place[each.name]
            critical = (each.name, fed) in on_path
            lines.append(Line(place[each.name], place[fed], dependencies, critical, back))
            if not back:
                layer[fed] = max(layer[fed], layer[each.name] + 1)
    cut = len(shared_prefix(place))
    boxes = []
    for each in order:
        name, critical = each.name, bool(each.on_critical_path)
        times = f"{TIMES} {each.tasks:,}" if each.tasks > 1 else ""
        caption = ", ".join(filter(None, [times, range_words(each.run_s, format_duration)]))
        boxes.append(Box(name, name[cut:], name, layer[name], each.tasks, critical, caption, _notes(each)))
    return boxes, lines


def _topological(categories: list[CategoryShape]) -> list[CategoryShape]:
    """Each category after those that feed it, otherwise in workflow order.

    Categories may form cycles although tasks do not; a cycle is opened at its first category in workflow order.
    """
    place = {each.name: index for index, each in enumerate(categories)}
    waits = [0] * len(categories)
    for each in categories:
        for fed in each.feeds:
            waits[place[fed]] += fed != each.name
    free = [index for index, number in enumerate(waits) if not number]
    first_left = 0
    done: set[int] = set()
    order: list[CategoryShape] = []
    while len(order) < len(categories):
        while first_left in done:
            first_left += 1
        index = heapq.heappop(free) if free else first_left
        if index in done:
            continue
        done.add(index)
        order.append(categories[index])
        for fed in categories[index].feeds:
            waits[place[fed]] -= 1
            if waits[place[fed]] == 0 and place[fed] not in done:
                heapq.heappush(free, place[fed])
    return order


def _notes(each: CategoryShape) -> tuple[str, ...]:
    level = f"level {each.first_level}" if each.first_level == each.last_level else ""
    notes = [f"{count(each.tasks, 'task')}, {level or f'levels {each.first_level} to {each.last_level}'}"]
    if each.run_s is not None:
        notes.append(f"run time {_words(each.run_s, format_duration)}")
    if each.memory_bytes is not None:
        notes.append(f"memory {_words(each.memory_bytes, format_bytes)}")
    if each.name in each.feeds:
        notes.append("some of these tasks feed others of this category")
    if each.on_critical_path:
        notes.append(f"{count(each.on_critical_path, 'task')} on the critical path")
    return tuple(notes)


def range_words(spread: Spread | None, words: Callable[[float], str]) -> str:
    """The least and the greatest value, or one of them if they read the same; empty if none is known."""
    if spread is None:
        return ""
    least, most = words(spread.least), words(spread.most)
    return least if least == most else f"{least} - {most}"


def _words(spread: Spread, words: Callable[[float], str]) -> str:
    return f"{words(spread.least)} to {words(spread.most)}, median {words(spread.median)}"
