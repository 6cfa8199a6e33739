"""The shape of a graph, against figures computed by hand and properties of any graph."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from headway.model.instance import Instance, Recorded
from headway.model.workflow import Workflow
from headway.report.graph.shape import shape_of
from tests.report.graphs import diamond, graph, graphs


def test_a_diamond_without_records_is_measured_in_tasks() -> None:
    shape = shape_of(diamond())
    assert (shape.tasks, shape.dependencies, shape.widths, shape.widest) == (6, 8, [1, 3, 1, 1], 1)
    assert shape.critical_path == ["a", "b.1", "c", "d"]
    assert (shape.work_s, shape.longest_s, shape.parallelism) == (None, None, 1.5)


def test_recorded_run_times_decide_the_critical_path() -> None:
    shape = shape_of(diamond(recorded=True))
    assert shape.critical_path == ["a", "b.2", "c", "d"]
    assert (shape.work_s, shape.longest_s, shape.timed) == (24, 20, 6)
    assert shape.parallelism == pytest.approx(1.2)


def test_categories_in_workflow_order() -> None:
    a, b, c, d = shape_of(diamond(recorded=True)).categories
    assert [each.name for each in (a, b, c, d)] == ["a", "b", "c", "d"]
    assert (a.feeds, b.feeds, c.feeds, d.feeds) == ({"b": 3, "d": 1}, {"c": 3}, {"d": 1}, {})
    assert (b.tasks, b.first_level, b.last_level, b.on_critical_path) == (3, 1, 1, 1)
    assert b.run_s is not None
    assert (b.run_s.least, b.run_s.median, b.run_s.most, b.run_s.tasks) == (1, 3, 5, 3)
    assert b.memory_bytes is None
    assert a.memory_bytes is not None
    assert a.memory_bytes.most == 10**9


def test_a_category_may_span_levels_and_feed_itself() -> None:
    shape = shape_of(graph({"s.1": "", "s.2": "s.1", "s.3": "s.2"}))
    (only,) = shape.categories
    assert (only.first_level, only.last_level, only.feeds) == (0, 2, {"s": 2})


def test_tasks_before_their_parents_in_the_file() -> None:
    shape = shape_of(graph({"late": "early", "early": ""}))
    assert [(each.name, each.tasks, each.first_level) for each in shape.categories] == [("early", 1, 0), ("late", 1, 1)]


def test_an_empty_workflow() -> None:
    shape = shape_of(Instance(Workflow("empty")))
    assert (shape.tasks, shape.widths, shape.critical_path, shape.parallelism) == (0, [], [], None)


def test_zero_run_times_have_no_parallelism() -> None:
    instance = graph({"a": "", "b": "a"}, took={"a": Recorded(run_s=0), "b": Recorded(run_s=0)})
    assert shape_of(instance).parallelism is None


@given(graphs())
def test_laws(instance: Instance) -> None:
    shape = shape_of(instance)
    assert sum(shape.widths) == shape.tasks == sum(each.tasks for each in shape.categories)
    assert sum(number for each in shape.categories for number in each.feeds.values()) == shape.dependencies
    for earlier, later in zip(shape.critical_path, shape.critical_path[1:], strict=False):
        assert earlier in instance.workflow.tasks[later].parents
    if shape.work_s is not None and shape.longest_s is not None:
        assert shape.longest_s <= shape.work_s or math.isclose(shape.longest_s, shape.work_s)
    else:
        assert len(shape.critical_path) == len(shape.widths), "a longest path touches every level"
