"""Inputs that are the outputs of other tasks, one sheet for many entries, and entries that become tasks later."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from headway.formats.headway_yaml import expand_block, parse_workflow
from headway.model.errors import HeadwayError
from headway.model.workflow import Workflow

SHEET = "sample,tissue\ns3,liver\ns1,lung\ns2,liver\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "samples.csv").write_text(SHEET)
    return tmp_path


def parse(text: str, place: Path) -> Workflow:
    return parse_workflow(dedent(text).encode(), directory=place)


def complaint(text: str, place: Path) -> str:
    with pytest.raises(HeadwayError) as caught:
        parse(text, place)
    return str(caught.value)


CALL = """
name: w
samples: {sheet: samples.csv}
tasks:
  call:
    each: samples
    run: x > {outputs[0]}
    outputs: ["vcf/{sample}.vcf.gz", "vcf/{sample}.log"]
"""


def test_from_stands_for_all_outputs_in_the_order_of_the_sheet(place: Path) -> None:
    flow = parse(f"{CALL}  merge: {{run: 'm {{inputs}}', inputs: [{{from: call}}], outputs: all}}\n", place)
    files = [f"vcf/{sample}.{end}" for sample in ("s3", "s1", "s2") for end in ("vcf.gz", "log")]
    assert flow.tasks["merge"].inputs == tuple(files)
    assert flow.tasks["merge"].command == f"m {' '.join(files)}"
    assert flow.tasks["merge"].parents == ("call[s3]", "call[s1]", "call[s2]")


@pytest.mark.parametrize("choice", ["'*.vcf.gz'", "0", "'vcf/*.gz'"])
def test_outputs_chooses_among_them(place: Path, choice: str) -> None:
    merge = f"{{run: 'm {{inputs[1]}}', inputs: [ref.fa, {{from: call, outputs: {choice}}}], outputs: all}}"
    flow = parse(f"{CALL}  merge: {merge}\n", place)
    assert flow.tasks["merge"].inputs == ("ref.fa", "vcf/s3.vcf.gz", "vcf/s1.vcf.gz", "vcf/s2.vcf.gz")
    assert flow.tasks["merge"].command == "m vcf/s3.vcf.gz"


def test_from_may_name_the_task_of_the_same_row(place: Path) -> None:
    check = "{each: samples, run: 'c {inputs}', inputs: {from: 'call[{sample}]', outputs: 1}, outputs: 'ok/{sample}'}"
    flow = parse(f"{CALL}  check: {check}\n", place)
    assert flow.tasks["check[s1]"].inputs == ("vcf/s1.log",)
    assert flow.tasks["check[s1]"].parents == ("call[s1]",)


def test_samples_are_one_sheet_for_many_entries(place: Path) -> None:
    flow = parse(
        """
        name: w
        samples: {sheet: samples.csv, where: {tissue: liver}, id: sample}
        tasks:
          one: {each: samples, run: "a {sample} {tissue}"}
          two: {each: {sheet: samples, seed: 1..2}, run: "b {sample} {seed}"}
          three: {each: {sheet: samples, where: {sample: s2}}, run: "c {sample}"}
        """,
        place,
    )
    ids = ["one[s3]", "one[s2]", "two[s3,1]", "two[s3,2]", "two[s2,1]", "two[s2,2]", "three[s2]"]
    assert list(flow.tasks) == ids


@pytest.mark.parametrize(
    ("merge", "words"),
    [
        ("{run: m, inputs: {from: cal}}", ["'cal'", "did you mean 'call'?"]),
        ("{run: m, inputs: {from: merge}}", ["takes files from itself"]),
        ("{run: m, inputs: {from: call, outputs: '*.bam'}}", ["'*.bam'", "vcf/s3.vcf.gz"]),
        ("{run: m, inputs: {from: call, output: 0}}", ["'output'", "did you mean 'outputs'?"]),
        ("{run: m, inputs: {form: call}}", ["no 'from'"]),
        ("{run: m, each: {files: 'x/{part}', from: spilt}}", ["'spilt'"]),
        ("{run: m, each: {files: 'x/{part}', from: merge}}", ["names the task itself"]),
        ("{run: m, each: {part: [a, b], from: call}}", ["without a sheet"]),
    ],
)
def test_mistakes_are_named(place: Path, merge: str, words: list[str]) -> None:
    sentence = complaint(f"{CALL}  merge: {merge}\n", place)
    assert sentence.startswith("workflow.yaml:")
    for word in words:
        assert word in sentence


def test_samples_that_are_not_rows_are_refused(place: Path) -> None:
    assert "'samples' is not one sheet" in complaint(
        "name: w\nsamples: {a: b}\ntasks: {t: {each: samples, run: x}}", place
    )


LATER = """
name: w
config: {k: 5}
tasks:
  split: {run: s, outputs: parts}
  count:
    each: {files: "parts/{part}.txt", from: split}
    run: c {part} {k}
    inputs: "parts/{part}.txt"
    outputs: "counts/{part}.n"
    resources: {cores: 2}
  check: {each: samples.csv, run: "k {sample}", needs: count}
  total: {run: "t {inputs}", inputs: [{from: count}], outputs: total}
  by_pattern: {run: p, inputs: "counts/*.n", outputs: p}
  beside: {run: b, inputs: "parts/*.txt", outputs: beside}
"""


def test_entries_that_depend_on_what_tasks_make_are_deferred(place: Path) -> None:
    flow = parse(LATER, place)
    assert list(flow.tasks) == ["split", "beside"]
    found = {block.name: (block.of, block.after) for block in flow.deferred.blocks}
    assert found == {
        "count": (("split",), ()),
        "check": ((), ("count",)),
        "total": ((), ("count",)),
        "by_pattern": ((), ("count",)),
    }
    assert flow.deferred.blocks[0].hints == {"cores": 2.0}
    shown = flow.with_stand_ins()
    assert shown.tasks["total[…]"].parents == ("count[…]",)


def test_a_deferred_entry_becomes_tasks_as_the_file_said_when_it_was_read(place: Path) -> None:
    deferred = parse(LATER, place).deferred
    flow = parse(LATER, place)
    (place / "samples.csv").write_text("sample\nother\n")  # too late
    (place / "parts").mkdir()
    for name in ("b.txt", "a.txt", "x.log"):
        (place / "parts" / name).touch()
    flow.add(expand_block(deferred, "count", flow, place))
    assert [task.id for task in flow if task.category == "count"] == ["count[a]", "count[b]"]
    assert flow.tasks["count[a]"].command == "c a 5"
    assert flow.tasks["count[a]"].parents == ("split",)
    (total,) = expand_block(deferred, "total", flow, place)
    assert total.inputs == ("counts/a.n", "counts/b.n")
    checks = expand_block(deferred, "check", flow, place)
    assert [task.id for task in checks] == ["check[s3]", "check[s1]", "check[s2]"]
    assert checks[0].parents == ("count[a]", "count[b]")


def test_no_rows_are_no_tasks_and_no_error(place: Path) -> None:
    flow = parse(LATER, place)
    (place / "parts").mkdir()
    assert expand_block(flow.deferred, "count", flow, place) == []
    (total,) = expand_block(flow.deferred, "total", flow, place)
    assert (total.inputs, total.command) == ((), "t ")


@pytest.mark.parametrize("text", ["", "region,start\n", "region,start\nr1,5\nr2,7\n"])
def test_rows_of_a_sheet_that_a_task_makes(place: Path, text: str) -> None:
    flow = parse(
        """
        name: w
        samples: {sheet: regions.csv, from: find, where: {start: ">= 6"}}
        tasks:
          find: {run: f, outputs: regions.csv}
          call: {each: samples, run: "c {region} {start}", outputs: "calls/{region}"}
        """,
        place,
    )
    (place / "regions.csv").write_text(text)
    tasks = expand_block(flow.deferred, "call", flow, place)
    assert [task.command for task in tasks] == (["c r2 7"] if "r2" in text else [])


def test_entries_in_a_circle_are_refused(place: Path) -> None:
    text = """
    name: w
    tasks:
      a: {each: {files: "x/{p}", from: b}, run: a, outputs: "y/{p}"}
      b: {run: b, inputs: {from: a}, outputs: x}
    """
    assert "wait for each other in a circle: a, b" in complaint(text, place)


@pytest.mark.parametrize("each", ["{sheet: './{name}.tsv', from: make}", "samples"])
def test_a_sheet_that_a_task_makes_is_not_temporary(each: str, place: Path) -> None:
    """The next run would not know which tasks there are."""
    text = f"""
    name: w
    config: {{name: r}}
    samples: {{sheet: r.tsv, from: make}}
    tasks:
      make: {{run: x, temp: r.tsv}}
      t: {{each: {each}, run: x}}
      n: {{run: x, inputs: r.tsv, outputs: n}}
    """
    said = complaint(text, place)
    assert "'r.tsv', of which 'each' of task 't' makes tasks, is temporary" in said
    assert "list it under 'outputs' of task 'make', not under 'temp'" in said


def test_files_that_tasks_are_made_of_are_not_in_a_temporary_directory(place: Path) -> None:
    text = """
    name: w
    tasks:
      split: {run: x, temp: p}
      t: {each: {files: "p/{x}.txt", from: split}, run: x, inputs: "p/{x}.txt", outputs: "o/{x}"}
    """
    assert "'p', of which 'each' of task 't' makes tasks, is temporary" in complaint(text, place)


def test_temporary_files_count_although_they_are_gone(place: Path) -> None:
    text = """
    name: w
    tasks:
      make: {each: {s: [a, b]}, run: x, temp: "p/{s}.txt"}
      t: {each: {files: "p/{x}.txt", from: make}, run: x, inputs: "p/{x}.txt", outputs: "o/{x}"}
    """
    flow = parse(text, place)
    flow.check_temporary()
    (place / "p").mkdir()
    for name in ("a", "old"):
        (place / f"p/{name}.txt").touch()
    gone = ["p/a.txt", "p/b.txt", "q/c.txt"]
    tasks = expand_block(flow.deferred, "t", flow, place, lambda path: path == "p/old.txt", gone)
    assert [task.id for task in tasks] == ["t[a]", "t[b]"]
