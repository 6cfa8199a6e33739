"""Graphs in the terminal: small and large, on narrow screens, with names that need escaping."""

from __future__ import annotations

import doctest

import pytest
from rich.cells import cell_len

from headway.model.instance import Instance
from headway.model.workflow import Workflow
from headway.report.graph import names as graph_names
from headway.report.graph.names import shared_prefix, shortened
from headway.report.graph.shape import shape_of
from headway.report.graph.terminal import category_lines, headline, path_line, task_lines
from tests.report.graphs import diamond, graph, hostile


def glance(instance: Instance, width: int = 100) -> list[str]:
    shape = shape_of(instance)
    lines = [*headline(shape), path_line(instance, shape), *category_lines(shape, width)]
    return [line.plain for line in lines]


def tasks(instance: Instance, width: int = 100) -> list[str]:
    return [line.plain for line in task_lines(instance, shape_of(instance), width)]


def test_the_overview() -> None:
    assert glance(diamond(recorded=True)) == [
        "flow: 6 tasks of 4 categories, 8 dependencies",
        "4 levels, at most 3 side by side (level 1)",
        "critical path: 20 s in 4 tasks, of 24 s of work; parallelism 1.2",
        "  a → b → c → d",
        "level       tasks    category   run time  memory  feeds",
        "    0  █        1  ● a              10 s    1 GB  → b, d",
        "    1  ███      3  ● b         1 s - 5 s          → c",
        "    2  █        1  ● c               4 s          → d",
        "    3  █        1  ● d               1 s",
        "● on the critical path",
    ]


def test_a_single_task() -> None:
    found = glance(graph({"only": ""}))
    assert found[0] == "flow: 1 task of 1 category, 0 dependencies"
    assert found[2] == "critical path: 1 task; parallelism 1"


def test_an_empty_workflow() -> None:
    assert glance(Instance(Workflow("empty")))[0] == "empty: 0 tasks of 0 categories, 0 dependencies"
    assert tasks(Instance(Workflow("empty"))) == ["● on the critical path"]


def test_missing_run_times_are_mentioned() -> None:
    instance = diamond(recorded=True)
    del instance.recorded["c"]
    assert "run times are recorded for 5 of the tasks; others count as 0" in glance(instance)


def test_a_tree_of_tasks() -> None:
    assert tasks(diamond()) == [
        "● a",
        "├─ ● b.1",
        "│  └─ ● c  and 2 more parents",
        "│     └─ ● d  and 1 more parent",
        "├─ b.2",
        "└─ b.3",
        "● on the critical path",
    ]


def test_many_tasks_are_listed_completely() -> None:
    edges = {f"a.{place}": "" for place in range(300)} | {"end": " ".join(f"a.{place}" for place in range(300))}
    found = tasks(graph(edges))
    assert len(found) == 302
    assert found[-1] == "    1  ● end    a.0, a.1, a.2 and 297 more"
    assert max(map(len, found)) <= 100


def test_a_deep_chain_is_not_indented_off_the_screen() -> None:
    edges = {f"s.{place}": f"s.{place - 1}" if place else "" for place in range(100)}
    assert max(map(len, tasks(graph(edges)))) < 40
    assert glance(graph(edges))[3] == "  s \N{MULTIPLICATION SIGN} 100"


def test_a_long_critical_path_is_abbreviated() -> None:
    edges = {f"s{place}": f"s{place - 1}" if place else "" for place in range(1000)}
    assert glance(graph(edges))[3].endswith("s8 → … 989 more … → s998 → s999")


def test_at_most_a_hundred_categories_are_listed() -> None:
    edges = {f"c{place}": "" for place in range(5000)} | {"large.1": "", "large.2": ""}
    found = glance(graph(edges))
    assert len(found) < 110
    assert any("large" in line for line in found), "the largest are shown"
    assert "… and 4,901 smaller categories (--json lists them all)" in found


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_it_fits_the_screen(width: int) -> None:
    edges = {f"a-category-with-a-rather-long-name-{place}.1": "" for place in range(3)}
    edges |= {f"next-{place}.1": " ".join(edges) for place in range(10)}
    lines = glance(graph(edges), width)[4:]
    assert max(map(cell_len, lines)) <= max(width, 62), "below sixty columns something has to stay"


def test_names_are_escaped() -> None:
    for line in glance(hostile()) + tasks(hostile()):
        assert "\x1b" not in line
        assert "\n" not in line


def test_a_common_prefix_is_mentioned_once() -> None:
    edges = {"flow:sub:sort": "", "flow:sub:index": "flow:sub:sort"}
    found = glance(graph(edges))
    assert found[3] == "  sort → index"
    assert found[-1] == "● on the critical path; all names begin with flow:sub:"


@pytest.mark.parametrize(
    ("names", "shared"),
    [([], ""), (["a:b"], ""), (["a:b", "a:c"], "a:"), (["ab", "ac"], ""), (["a.b.c", "a.b.d", "a.x"], "a.")],
)
def test_common_prefixes(names: list[str], shared: str) -> None:
    assert shared_prefix(names) == shared


def test_docstring_examples_of_names() -> None:
    result = doctest.testmod(graph_names)
    assert result.attempted > 1
    assert result.failed == 0


@pytest.mark.parametrize("name", ["short", "a-name-that-is-much-too-long-for-it", "日本語の長い長い長い長い名前です"])
def test_shortened_names_fit(name: str) -> None:
    assert cell_len(shortened(name, 14)) <= 14
