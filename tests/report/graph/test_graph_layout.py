"""Layered layout: no overlaps, no lost nodes, and simple drawings of simple graphs."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.model.instance import Instance
from headway.report.graph.layout import Layout, lay_out
from headway.report.graph.shape import shape_of
from tests.report.graphs import graphs

GAP = 10.0


def crossings(layout: Layout) -> int:
    """The number of crossing segments between the same layers."""
    pairs = {pair for route in layout.routes.values() for pair in pairwise(route)}
    found = 0
    for upper, lower in pairs:
        for other_upper, other_lower in pairs:
            if layout.layer[upper] == layout.layer[other_upper]:
                left_above = layout.x[upper] < layout.x[other_upper] - 1e-9
                found += left_above and layout.x[lower] > layout.x[other_lower] + 1e-9
    return found


@settings(max_examples=40)
@given(graphs(), st.data())
def test_layers_keep_their_gaps_and_edges_their_ends(instance: Instance, data: st.DataObject) -> None:
    flow = instance.workflow
    levels = shape_of(instance).levels
    place = {task: index for index, task in enumerate(flow.tasks)}
    edges = [(place[parent], place[task.id]) for task in flow for parent in task.parents]
    widths = data.draw(st.lists(st.floats(1, 200), min_size=len(place), max_size=len(place)))
    layout = lay_out([levels[task] for task in place], edges, widths, GAP, 4.0)
    wide = [*widths, *([4.0] * (len(layout.x) - len(widths)))]
    for layer in set(layout.layer):
        row = sorted((node for node, each in enumerate(layout.layer) if each == layer), key=layout.x.__getitem__)
        for left, right in pairwise(row):
            free = layout.x[right] - layout.x[left] - (wide[left] + wide[right]) / 2
            assert free >= GAP - 1e-6
    assert all(x - w / 2 >= -1e-6 and x + w / 2 <= layout.width + 1e-6 for x, w in zip(layout.x, wide, strict=True))
    assert set(layout.routes) == set(edges)
    for (source, target), route in layout.routes.items():
        assert (route[0], route[-1]) == (source, target)
        assert [layout.layer[node] for node in route] == list(range(layout.layer[source], layout.layer[target] + 1))


def test_a_chain_is_straight() -> None:
    layout = lay_out([0, 1, 2, 3], [(0, 1), (1, 2), (2, 3)], [10, 80, 20, 40], GAP, 4.0)
    assert layout.x == pytest.approx([layout.x[0]] * 4)


def test_separate_subgraphs_are_drawn_without_crossings() -> None:
    children = [(0, 5), (0, 8), (1, 3), (1, 7), (2, 4), (2, 6)]
    layout = lay_out([0] * 3 + [1] * 6, children, [10] * 9, GAP, 4.0)
    assert crossings(layout) == 0
    for parent in range(3):
        own = [layout.x[child] for each, child in children if each == parent]
        assert layout.x[parent] == pytest.approx(sum(own) / 2), "a parent stands in the middle"


def test_long_edges_of_one_node_share_waypoints() -> None:
    layout = lay_out([0, 1, 2, 3, 3], [(0, 1), (1, 2), (2, 3), (0, 3), (0, 4)], [10] * 5, GAP, 4.0)
    assert layout.routes[0, 3][:-1] == layout.routes[0, 4][:-1]
    assert len(layout.x) == 5 + 2


def test_the_backbone_is_straight() -> None:
    edges = [(0, 1), (1, 2), (0, 3), (0, 4), (3, 5), (4, 5)]
    layout = lay_out([0, 1, 2, 1, 1, 2], edges, [40] * 6, GAP, 4.0, backbone={(0, 1), (1, 2)})
    assert layout.x[:3] == pytest.approx([layout.x[0]] * 3, abs=0.5)


def test_an_empty_graph_has_no_width() -> None:
    assert lay_out([], [], [], GAP, 4.0).width == 0
