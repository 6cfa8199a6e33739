"""The SVG is well-formed, complete, and escapes names."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings

from headway.model.errors import InputError
from headway.model.instance import Instance
from headway.model.workflow import Workflow
from headway.report.graph.picture import MOST_TASKS, By, Picture, picture_of
from headway.report.graph.shape import shape_of
from headway.report.graph.svg import MOST_BOXES, svg_lines
from headway.report.graph.terminal import subtitle
from tests.report.graphs import diamond, graph, graphs, hostile

SVG = "{http://www.w3.org/2000/svg}"


def pictured(instance: Instance, by: By | None = None) -> Picture:
    return picture_of(instance, shape_of(instance), by)


def drawn(instance: Instance, by: By | None = None) -> ET.Element:
    shape = shape_of(instance)
    text = "\n".join(svg_lines(instance.workflow.name, subtitle(shape), pictured(instance, by)))
    text.encode()
    return ET.fromstring(text)


def words(root: ET.Element) -> list[str]:
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


def titles(root: ET.Element) -> list[str]:
    return [each.text or "" for group in root.iter(f"{SVG}g") for each in group.iter(f"{SVG}title")]


def wide(levels: int, width: int) -> Instance:
    return graph(
        {
            f"c{level}.{place}": f"c{level - 1}.{place}" if level else ""
            for level in range(levels)
            for place in range(width)
        }
    )


def test_a_small_graph_has_named_boxes() -> None:
    root = drawn(diamond(recorded=True))
    assert words(root)[0] == "flow"
    assert words(root)[1].startswith("6 tasks on 4 levels, at most 3 side by side; critical path: 20 s in 4 tasks")
    assert {"a", "b.1", "b.2", "b.3", "c", "d", "5 s"} <= set(words(root))
    assert "b.2\nb, level 1\nneeds 1 task, feeds 1 task\n5 s\non the critical path" in titles(root)


def test_many_tasks_are_dots_with_a_legend_beside_them() -> None:
    root = drawn(wide(3, 20))
    assert len(list(root.iter(f"{SVG}circle"))) == 60
    assert [each for each in words(root) if each.startswith("c")] == [
        *("critical path", "c0 \N{MULTIPLICATION SIGN} 20", "c1 \N{MULTIPLICATION SIGN} 20"),
        "c2 \N{MULTIPLICATION SIGN} 20",
    ]
    assert len([each for each in root.iter(f"{SVG}circle") if each.get("class") == "on-path"]) == 3


def test_large_workflows_are_drawn_by_category() -> None:
    assert pictured(wide(2, MOST_TASKS // 2)).by == "task"
    assert pictured(wide(2, MOST_TASKS // 2 + 1)).by == "category"
    root = drawn(wide(3, 1000))
    assert {"c0", "c1", "c2", "\N{MULTIPLICATION SIGN} 1,000"} <= set(words(root))
    assert not list(root.iter(f"{SVG}circle"))


def test_too_many_boxes_are_refused() -> None:
    with pytest.raises(InputError, match=r"2,000 tasks would be unreadable; draw it `--by category`, or"):
        drawn(wide(2, 1000), "task")
    many = graph({f"c{place}": "" for place in range(MOST_BOXES + 1)})
    with pytest.raises(InputError, match="1,501 categories would be unreadable; write it with `--format dot`"):
        drawn(many, "category")


@pytest.mark.parametrize("by", ["task", "category"])
def test_names_are_escaped(by: By) -> None:
    root = drawn(hostile(), by)
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "text", "tspan", "path", "g", "circle"}
    assert any("<script>" in each for each in titles(root)), "as words it may stand there"
    assert not any(name.lower().startswith(("on", "href", "src")) for each in root.iter() for name in each.attrib)


def test_cycles_of_categories_have_a_line_back() -> None:
    root = drawn(graph({"a.1": "", "b.1": "a.1", "a.2": "b.1", "b.2": "a.2"}), "category")
    assert len([each for each in root.iter(f"{SVG}path") if each.get("class") == "back"]) == 1
    assert "dashed lines lead back" in words(root)[1]


def test_an_empty_workflow_is_drawn() -> None:
    assert drawn(Instance(Workflow("empty"))).tag == f"{SVG}svg"


@settings(max_examples=20)
@given(graphs())
def test_any_graph_is_inside_its_frame(instance: Instance) -> None:
    for by in ("task", "category"):
        root = drawn(instance, by)
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        shapes = [*root.iter(f"{SVG}rect"), *root.iter(f"{SVG}circle")]
        for each in shapes:
            radius = float(each.get("r", 0))
            left = float(each.get("x", each.get("cx", 0))) - radius
            top = float(each.get("y", each.get("cy", 0))) - radius
            right = left + 2 * radius + float(each.get("width", 0))
            bottom = top + 2 * radius + float(each.get("height", 0))
            assert left >= 0
            assert top >= 0
            assert right <= width + 1
            assert bottom <= height + 1
        assert len(titles(root)) == len(pictured(instance, by).boxes)


@given(graphs())
def test_every_dependency_has_a_line(instance: Instance) -> None:
    shape = shape_of(instance)
    by_task = picture_of(instance, shape, "task")
    assert len(by_task.lines) == shape.dependencies
    assert all(by_task.boxes[line.source].layer < by_task.boxes[line.target].layer for line in by_task.lines)
    by_category = picture_of(instance, shape, "category")
    within = sum(each.feeds.get(each.name, 0) for each in shape.categories)
    assert sum(line.dependencies for line in by_category.lines) == shape.dependencies - within
    for line in by_category.lines:
        source, target = by_category.boxes[line.source], by_category.boxes[line.target]
        assert line.back or source.layer < target.layer
