"""Files that a command names: a warning if they are no inputs, and inputs by themselves with `inputs: auto`."""

from __future__ import annotations

from pathlib import Path

import pytest

import headway
from tests.end_to_end.project import Flow

SCRIPT = "print(open('data/ref.fa').read() + open('my reads.fq').read())\n"


def project(directory: Path, inputs: str) -> Flow:
    (directory / "align.py").write_text(SCRIPT)
    (directory / "data").mkdir()
    (directory / "data" / "ref.fa").write_text("ACGT")
    (directory / "my reads.fq").write_text("GT")
    (directory / "prefix").write_text("not made yet")
    return Flow(
        directory,
        f"""
name: align
tasks:
  first: {{run: echo head > prefix, outputs: prefix}}
  align:
    run: cat prefix > all.txt; python3 ./align.py data/ref.fa "my reads.fq" >> all.txt  # not notes.txt
    inputs: {inputs}
    outputs: all.txt
  count: {{run: wc -l all.txt > lines.txt, inputs: all.txt}}
""",
    )


def test_files_that_a_command_names_and_that_are_no_inputs_are_warned_about(tmp_path: Path) -> None:
    flow = project(tmp_path, "[prefix, data]")
    (tmp_path / "notes.txt").write_text("only in a comment")
    expected = [
        f"`{path}` is named in the command of task 'align' and is not an input; changes to it will not be noticed; "
        "add it to 'inputs' or write 'inputs: auto'"
        for path in ("align.py", "my reads.fq")
    ]
    dry = flow.headway("run", "--dry-run", "--json")
    assert [line for line in dry.stderr.splitlines() if "is named" in line] == [f"headway: {text}" for text in expected]
    assert flow.json("run", "--dry-run")["warnings"] == expected
    assert flow.json("run")["warnings"] == expected
    assert flow.json("status")["warnings"] == expected
    with pytest.warns(RuntimeWarning, match="align.py"):
        assert list(headway.preview(tmp_path / "workflow.yaml").warnings) == expected  # lines.txt is written, not read


def test_many_files_make_a_few_lines_and_a_count(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"s{number:02}.txt").touch()
    numbers = ", ".join(f"'{number:02}'" for number in range(20))
    flow = Flow(
        tmp_path,
        f"name: many\ntasks:\n  t: {{each: {{n: [{numbers}]}}, run: 'cat s{{n}}.txt > o', outputs: 'o{{n}}'}}\n",
    )
    warnings = flow.json("run", "--dry-run")["warnings"]
    assert len(warnings) == 4
    assert warnings[-1] == (
        "17 more files are named in commands and are not inputs: s03.txt, s04.txt, s05.txt, s06.txt, s07.txt, …"
    )


@pytest.mark.parametrize("inputs", ["auto", "[data, auto]"])
def test_with_auto_a_change_of_a_named_file_is_noticed(tmp_path: Path, inputs: str) -> None:
    flow = project(tmp_path, inputs)
    assert flow.json("run")["warnings"] == []
    assert "head" in (tmp_path / "all.txt").read_text()  # it waited for the task that makes `prefix`
    flow.headway("run")
    assert set(flow.reused()) == {"first", "align", "count"}
    (tmp_path / "align.py").write_text(SCRIPT + "# changed\n")
    (align,) = [task for task in flow.json("run", "--dry-run")["tasks"] if task["task"] == "align"]
    assert (align["verdict"], align["why"]) == ("runs", "input align.py changed")
    flow.headway("run")
    assert [launch.task for launch in flow.launches()] == ["align"]


def test_auto_takes_patterns_and_waits_for_what_they_match(tmp_path: Path) -> None:
    (tmp_path / "count_0").write_text("1\n")
    flow = Flow(
        tmp_path,
        """
name: patterns
tasks:
  one: {each: {n: [1, 2]}, run: "echo {n} > count_{n}", outputs: "count_{n}"}
  total: {run: cat count_* > total, inputs: auto, outputs: total}
""",
    )
    flow.headway("run")
    assert (tmp_path / "total").read_text().split() == ["1", "1", "2"]
    (tmp_path / "count_0").write_text("5\n")
    flow.headway("run")
    assert [launch.task for launch in flow.launches()] == ["total"]


def test_auto_in_python(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    flow = headway.Workflow("auto")
    flow.task("first", "echo b > b.txt", outputs=["b.txt"])
    second = flow.task("second", "cat a.txt b.txt > c.txt", inputs=["auto"], outputs=["c.txt"])
    assert (second.inputs, second.parents) == (("b.txt",), ("first",))
    result = headway.start(flow, tmp_path)
    assert (result.state, result.warnings) == ("succeeded", ())
    (tmp_path / "a.txt").write_text("A")
    assert [v.verdict for v in headway.preview(flow, tmp_path).verdicts] == ["stands", "runs"]
