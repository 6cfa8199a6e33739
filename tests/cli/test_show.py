"""`show`: the graph of a workflow in the terminal, as a picture, for Graphviz and for programs."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.bench import Bench
from tests.cli.test_command_line_docs import TEXT, keys

FLOW = """
    name: words
    tasks:
      split:
        run: "true"
        outputs: [a, b, c]
      count:
        each: {part: [a, b, c]}
        run: "true"
        inputs: ["{part}"]
        outputs: ["count_{part}"]
      total:
        run: "true"
        inputs: ["count_*"]
"""
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def words(bench: Bench) -> Bench:
    bench.write(FLOW)
    return bench


def test_the_categories_of_a_workflow(words: Bench) -> None:
    assert words.succeeds("show").splitlines() == [
        "words: 5 tasks of 3 categories, 6 dependencies",
        "3 levels, at most 3 side by side (level 1)",
        "critical path: 3 tasks; parallelism 1.67",
        "  split → count → total",
        "",
        "level       tasks    category  feeds",
        "    0  █        1  ● split     → count",
        "    1  ███      3  ● count     → total",
        "    2  █        1  ● total",
        "● on the critical path",
    ]


def test_single_tasks(words: Bench) -> None:
    text = words.succeeds("show", "--tasks")
    assert "├─ ● count[a]\n" in text
    assert "└─ count[c]\n" in text
    assert text == words.succeeds("show", "--by", "task")


def test_a_directory_means_the_workflow_in_it() -> None:
    bench = Bench(EXAMPLES, EXAMPLES)
    assert bench.succeeds("show", "mosaic").startswith("mosaic: 62 tasks of 13 categories, 141 dependencies\n")


def test_the_picture_of_the_example_is_what_the_command_makes() -> None:
    bench = Bench(EXAMPLES, EXAMPLES)
    picture = EXAMPLES / "mosaic" / "pictures" / "graph.svg"
    assert bench.succeeds("show", "mosaic", "--format", "svg") == picture.read_text()


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("g.svg", "<svg"),
        ("g.dot", 'digraph "words"'),
        ("g.GV", "digraph"),
        ("g.json", "{"),
        ("g.txt", "words: 5 tasks"),
    ],
)
def test_the_suffix_says_the_format(words: Bench, name: str, begins: str) -> None:
    words.succeeds("show", "-o", name)
    written = (words.directory / name).read_text()
    assert written.startswith(begins)
    if name.endswith("svg"):
        ET.fromstring(written)


def test_an_existing_file_is_not_overwritten_unless_forced(words: Bench) -> None:
    words.write("precious", "g.svg")
    assert "g.svg: this file exists; --force overwrites it" in words.fails(2, "show", "-o", "g.svg")
    assert (words.directory / "g.svg").read_text() == "precious"
    words.succeeds("show", "-o", "g.svg", "--force")
    assert (words.directory / "g.svg").read_text().startswith("<svg")


def test_an_invalid_workflow_leaves_the_file_unchanged(bench: Bench) -> None:
    numbers = ", ".join(map(str, range(1600)))
    bench.write(f"name: many\ntasks:\n  t:\n    each: {{n: [{numbers}]}}\n    run: echo {{n}}\n")
    bench.write("precious", "g.svg")
    assert "would be unreadable" in bench.fails(2, "show", "--tasks", "-o", "g.svg", "--force")
    assert (bench.directory / "g.svg").read_text() == "precious"
    assert "1,600" in bench.succeeds("show", "--format", "svg")


def test_the_document(words: Bench) -> None:
    found = words.json("show", "--tasks")
    assert (found["tasks"], found["levels"], found["widths"], found["widest_level"]) == (5, 3, [1, 3, 1], 1)
    assert found["critical_path"] == ["split", "count[a]", "total"]
    assert found["categories"][1]["feeds"] == [{"category": "total", "dependencies": 3}]
    assert found["graph"][4]["needs"] == ["count[a]", "count[b]", "count[c]"]
    assert "graph" not in words.json("show")
    assert json.loads(words.succeeds("show", "--format", "json")) == words.json("show")
    assert {key for key in keys(found) if f"`{key}`" not in TEXT} == set()


@pytest.mark.skipif("HEADWAY_DATA" not in os.environ, reason="HEADWAY_DATA does not say where real logs are")
@pytest.mark.parametrize(
    ("file", "tasks"),
    [
        ("wfinstances/pegasus/1000genome-chameleon-22ch-250k-001.json.gz", 902),
        ("wfinstances/nextflow/viralrecon-dirt02-001.json.gz", 203),
        ("glume-dax/CYBERSHAKE_50_360000.dax.gz", 50),
    ],
)
def test_real_executions(bench: Bench, file: str, tasks: int) -> None:
    path = str(Path(os.environ["HEADWAY_DATA"]) / file)
    found = bench.json("show", path)
    assert found["tasks"] == sum(found["widths"]) == tasks
    assert found["work_s"] / found["critical_path_s"] == pytest.approx(found["parallelism"])
    assert "of work; parallelism" in bench.succeeds("show", path)
    ET.fromstring(bench.succeeds("show", path, "--format", "svg"))


def test_mistakes_are_one_sentence(words: Bench, tmp_path: Path) -> None:
    assert "there is no such file" in words.fails(2, "show", "missing.yaml")
    assert "contradict" in words.fails(2, "show", "--json", "--format", "svg")
    assert "contradict" in words.fails(2, "show", "--tasks", "--by", "category")
    assert "does not say which format; add --format" in words.fails(2, "show", "-o", "graph")
    assert "cannot write this" in words.fails(3, "show", "-o", "nowhere/graph.svg")
    (tmp_path / "empty").mkdir()
    assert "directory" in words.fails(2, "show", str(tmp_path / "empty"))


def test_a_hostile_workflow_is_harmless(bench: Bench) -> None:
    bench.write(
        """
        name: "</title></svg><script>alert(1)</script>"
        tasks:
          "a\\"b<c>&'":
            run: "true"
        """
    )
    picture = bench.succeeds("show", "--format", "svg")
    root = ET.fromstring(picture)
    assert "<script" not in picture
    assert [each.text for each in root if each.tag.endswith("title")] == ["</title></svg><script>alert(1)</script>"]
    assert 'a"b<c>&' in bench.succeeds("show")
