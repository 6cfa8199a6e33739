"""Graphviz output, read by a parser of its grammar and by Graphviz itself if it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from headway.model.instance import Instance
from headway.report.graph.graphviz import dot_lines
from headway.report.graph.picture import By, picture_of
from headway.report.graph.shape import shape_of
from tests.report.graphs import HOSTILE, diamond, graph, hostile

TOKEN = re.compile(r'\s*(?:("(?:[^"\\\n]|\\.)*")|(->|[{}\[\]=,;])|([A-Za-z_][A-Za-z_0-9]*|-?[0-9.]+))')


def dot(instance: Instance, by: By | None = None) -> str:
    return "\n".join(dot_lines(instance.workflow.name, picture_of(instance, shape_of(instance), by)))


def unquoted(token: str) -> str:
    return token[1:-1].replace('\\"', '"') if token.startswith('"') else token


class Reader:
    """A parser of the part of the grammar that we write: `digraph ID { (ID | ID -> ID) [attributes]; … }`."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        place = 0
        while text[place:].strip():
            match = TOKEN.match(text, place)
            assert match, text[place : place + 80]
            self.tokens.append(match[0].strip())
            place = match.end()
        self.nodes: dict[str, dict[str, str]] = {}
        self.edges: list[tuple[str, str]] = []
        assert self.tokens.pop(0) == "digraph"
        self.name = unquoted(self.tokens.pop(0))
        assert self.tokens.pop(0) == "{"
        while self.tokens[0] != "}":
            self._statement()
        assert self.tokens == ["}"]

    def _statement(self) -> None:
        first = unquoted(self.tokens.pop(0))
        target = None
        if self.tokens[0] == "->":
            self.tokens.pop(0)
            target = unquoted(self.tokens.pop(0))
        attributes = {}
        if self.tokens[0] == "[":
            self.tokens.pop(0)
            while self.tokens[0] != "]":
                key = self.tokens.pop(0)
                assert self.tokens.pop(0) == "="
                attributes[key] = unquoted(self.tokens.pop(0))
                if self.tokens[0] == ",":
                    self.tokens.pop(0)
            self.tokens.pop(0)
        assert self.tokens.pop(0) == ";"
        if target is not None:
            self.edges.append((first, target))
        elif first not in ("graph", "node", "edge"):
            self.nodes[first] = attributes


def test_tasks_and_dependencies() -> None:
    found = Reader(dot(diamond()))
    assert set(found.nodes) == {"a", "b.1", "b.2", "b.3", "c", "d"}
    assert ("a", "b.1") in found.edges
    assert len(found.edges) == 8


def test_categories_with_task_counts() -> None:
    found = Reader(dot(diamond(recorded=True), "category"))
    assert found.nodes["b"]["label"] == "b\\n\N{MULTIPLICATION SIGN} 3, 1 s - 5 s"
    assert set(found.edges) == {("a", "b"), ("a", "d"), ("b", "c"), ("c", "d")}


@pytest.mark.parametrize("by", ["task", "category"])
def test_names_are_escaped(by: By) -> None:
    found = Reader(dot(hostile(), by))
    assert len(found.nodes) == len(HOSTILE)
    assert all(source in found.nodes and target in found.nodes for source, target in found.edges)
    assert "\x1b" not in dot(hostile(), by)


def test_names_that_differ_in_unprintable_characters() -> None:
    found = Reader(dot(graph({"a\x01": "", "a\x02": "a\x01"})))
    assert len(found.nodes) == 2
    assert len(found.edges) == 1


def test_keywords_as_names() -> None:
    assert '"node" [' in dot(graph({"node": "", "edge": "node"}))


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("instance", [diamond(), hostile()], ids=["diamond", "hostile"])
def test_graphviz_reads_it(instance: Instance) -> None:
    done = subprocess.run(
        ["dot", "-Tplain"], input=dot(instance), capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\nnode ") == len(instance.workflow)
