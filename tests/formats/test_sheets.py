"""`each` from data: sample sheets, names of files and ranges."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from headway.formats.headway_yaml import parse_workflow
from headway.formats.sheets import found_files, parse_sheet
from headway.model.errors import HeadwayError
from headway.model.workflow import Workflow

SHEET = "sample,tissue,size\na,liver,10\nb,lung,9.5\nc,liver,\n"


def flow(each: str, directory: Path, run: str = "echo {sample}") -> Workflow:
    text = f"name: w\ntasks:\n  t:\n    each: {each}\n    run: {run}\n"
    return parse_workflow(text.encode(), "workflow.yaml", directory)


def complaint(each: str, directory: Path, run: str = "echo") -> str:
    with pytest.raises(HeadwayError) as caught:
        flow(each, directory, run)
    sentence = str(caught.value).replace(f"{directory}/", "")
    assert "\n" not in sentence and len(sentence) < 400
    return sentence


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "s.csv").write_text(SHEET)
    return tmp_path


def test_tasks_know_their_row_and_blocks_share_it(place: Path) -> None:
    text = "name: w\ntasks:\n" + "".join(
        f"  {name}:\n    each: {{sheet: s.csv, n: 1..2}}\n    run: echo {{sample}}\n" for name in ("t", "u")
    )
    tasks = parse_workflow(text.encode(), "workflow.yaml", place).tasks
    assert tasks["t[c,2]"].columns == {"sample": "c", "tissue": "liver", "size": "", "n": "2"}
    assert tasks["t[c,2]"].row is tasks["u[c,2]"].row
    assert tasks["t[a,1]"].recipe() == structs.replace(tasks["t[a,1]"], row="").recipe()
    assert flow("{n: ['x=y', '']}", place, "echo {n}").tasks["t[x=y]"].columns == {"n": "x=y"}


def test_one_task_per_row(place: Path) -> None:
    tasks = flow("s.csv", place, "echo {sample} {tissue} '{size}'").tasks
    assert {task.id: task.command for task in tasks.values()} == {
        "t[a]": "echo a liver '10'",
        "t[b]": "echo b lung '9.5'",
        "t[c]": "echo c liver ''",
    }


@pytest.mark.parametrize(
    ("each", "ids"),
    [
        ("{sheet: s.csv, where: {tissue: liver}}", ["a", "c"]),
        ("{sheet: s.csv, where: {tissue: [liver, lung], sample: '!= a'}}", ["b", "c"]),
        ("{sheet: s.csv, where: {size: ''}}", ["c"]),
        ("{sheet: s.csv, where: {size: '!='}}", ["a", "b"]),
        ("{sheet: s.csv, default: {size: 1}, where: {size: '>= 9.5'}}", ["a", "b"]),
        ("{sheet: s.csv, default: {size: 1}, where: {size: < 9.5}}", ["c"]),
        ("{sheet: s.csv, default: {batch: x}, where: {batch: x}}", ["a", "b", "c"]),
        ("{sheet: s.csv, seed: 1..2, where: {sample: == a}}", ["a,1", "a,2"]),
        ("{seed: [x], sheet: s.csv}", ["x,a", "x,b", "x,c"]),
        ("{sheet: s.csv, id: '{tissue}/{sample}'}", ["liver/a", "lung/b", "liver/c"]),
        ("{sheet: s.csv, id: size}", ["10", "9.5", ""]),
        ("{sheet: [1, 2], files: [a], id: 1..2, where: [x], default: 7..7}", ["1,a,1,x,7", "1,a,2,x,7"]),
    ],
)
def test_ids(each: str, ids: list[str], place: Path) -> None:
    assert list(flow(each, place).tasks)[: len(ids)] == [f"t[{i}]" for i in ids]


def test_the_fewest_first_columns_that_differ_name_the_tasks(tmp_path: Path) -> None:
    (tmp_path / "s.tsv").write_text("sample\tlane\tx\na\t1\t7\na\t2\t7\nb\t1\t7\n")
    assert list(flow("s.tsv", tmp_path).tasks) == ["t[a,1]", "t[a,2]", "t[b,1]"]


@pytest.mark.parametrize(
    ("data", "names", "rows"),
    [
        (b"\xef\xbb\xbfa;b\r\n1;2\r\n", ("a", "b"), [("1", "2")]),
        (b"a\tb\n1, x\t2\n", ("a", "b"), [("1, x", "2")]),
        (b'a, b\n"1,1", "say ""x"""\n\n ,\n', ("a", "b"), [("1,1", 'say "x"')]),
        ("größe,Sample ID,#n,2nd\r\nä,é,1,2".encode(), ("größe", "Sample_ID", "n", "_2nd"), [("ä", "é", "1", "2")]),
        (b"a,b,,\n1,2,,\n3,4\n", ("a", "b"), None),
        (b"a,b\n1,2,,\n3,,\n", ("a", "b"), [("1", "2"), ("3", "")]),
        (b"\na\n\n x \n", ("a",), [("x",)]),
        (b"a,b\r1,2\r3,4\r", ("a", "b"), [("1", "2"), ("3", "4")]),
    ],
)
def test_tables_as_people_write_them(data: bytes, names: tuple[str, ...], rows: list[tuple[str, ...]] | None) -> None:
    if rows is None:
        with pytest.raises(HeadwayError, match=r"^s:3: this row has 2 cells, and the first line names 4 columns"):
            parse_sheet(data, "s")
    else:
        sheet = parse_sheet(data, "s")
        assert (sheet.names, sheet.rows) == (names, rows)


CELL = st.text(st.characters(blacklist_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=8).map(str.strip)


@given(
    st.lists(st.tuples(CELL, CELL, CELL).filter(any), min_size=1, max_size=6),
    st.sampled_from(",;\t"),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_pythons_writer_writes_is_read(rows: list[tuple[str, ...]], delimiter: str, end: str) -> None:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator=end).writerows([("a", "b", "c"), *rows])
    assert parse_sheet(file.getvalue().encode(), "s").rows == rows


@given(st.binary(max_size=80) | st.text(',;"\t\r\nab\ufeff\0', max_size=40).map(str.encode))
def test_any_bytes_are_a_sheet_or_one_sentence(data: bytes) -> None:
    try:
        sheet = parse_sheet(data, "s")
    except HeadwayError as problem:
        assert re.match(r"s:\d+: ", str(problem)) and "\n" not in str(problem)
    else:
        assert sheet.rows and all(len(row) == len(sheet.names) for row in sheet.rows)
        assert all(name.isidentifier() for name in sheet.names)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["s.csv:1: the sheet is empty"]),
        ("a,b\n", ["s.csv:1: the sheet has no rows"]),
        ("a,b\n1,2\n1\n", ["s.csv:3: this row has 1 cells", "2 columns"]),
        ("a,b\n1,2,3\n", ["s.csv:2: this row has 3 cells", "quotes"]),
        ("a,b,a\n1,2,3\n", ["s.csv:1: columns 1 and 3 are both called a"]),
        ("Sample ID,Sample-ID\n1,2\n", ["columns 1 and 2 are both called Sample_ID"]),
        (",b\n1,2\n", ["s.csv:1: column 1 has no name"]),
        ('a,b\n1,"2\n', ["s.csv:", "this is not a table", "close the quotes"]),
        ('a,b\n1,"2\n3"\n', ["s.csv:3: a cell holds a line break"]),
        ("a,b\n1,2\n1,2\n", ["s.csv:3: this row and that of line 2 cannot be told apart: both are '1,2'"]),
        (b"a\n\xff\n", ["s.csv:2: byte 0xff is not UTF-8"]),
    ],
)
def test_a_bad_sheet_is_one_sentence(content: str | bytes, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    sentence = complaint("s.csv", tmp_path)
    for word in words:
        assert word in sentence


@pytest.mark.parametrize(
    ("each", "words"),
    [
        (
            "none.csv",
            "workflow.yaml:4: the sheet 'none.csv' in 'each' of task 't' cannot be used: this file does not exist",
        ),
        ("samples", "is the text 'samples', not a mapping; write for example"),
        ("{sheet: .}", "this is a directory"),
        ("{sheet: s.csv, files: '{a}.txt'}", "both 'sheet' and 'files'"),
        ("{where: {a: b}, part: [a]}", "'where' in 'each' of task 't' is without a sheet"),
        ("{sheet: s.csv, where: {tisue: liver}}", "'tisue', which is no column of s.csv; did you mean 'tissue'?"),
        ("{sheet: s.csv, where: {tissue: heart}}", "leaves no row of s.csv: none has tissue 'heart'"),
        ("{sheet: s.csv, where: {tissue: []}}", "lists no values"),
        ("{sheet: s.csv, where: {size: '>= many'}}", "write a number after >="),
        ("{sheet: s.csv, where: {size: ['>= 1', '< 3']}}", "write just one condition"),
        ("{sheet: s.csv, where: {size: '> 1'}}", "s.csv:4: size is '', and 'where' compares numbers"),
        ("{sheet: s.csv, where: tissue}", "'where' in 'each' of task 't' is the text 'tissue', not a mapping"),
        ("{sheet: s.csv, default: {a-b: 1}}", "'a-b' in 'each' of task 't' is not a word"),
        ("{sheet: s.csv, id: name}", "'name', which is no column"),
        ("{sheet: s.csv, id: tissue}", "s.csv:4: this row and that of line 2 cannot be told apart: both are 'liver'"),
        ("{sheet: s.csv, id: '{sample}{lane}'}", "'lane', which is no column"),
        ("{sheet: s.csv, tissue: [x]}", "has the name 'tissue' twice"),
        ("{files: reads}", "without a name in braces; write for example 'reads/{sample}.fq'"),
        ("{files: '{x}.fq'}", "no file fits '{x}.fq' in 'each' of task 't'"),
        ("{seed: 1..}", "is the text '1..', not a list or a range"),
        ("{seed: 1..5..0}", "with a step of 0"),
        ("{seed: 1..999999999}", "more than 1,000,000 values"),
        ("{seed: {a: b}}", "is a mapping, not a list"),
    ],
)
def test_a_bad_each_is_one_sentence(each: str, words: str, place: Path) -> None:
    assert words in complaint(each, place)


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("1..3", "1 2 3"),
        ("01..10..4", "01 05 09"),
        ("3..1", "3 2 1"),
        ("-1..1", "-1 0 1"),
        ("1..10..-5", "1 6"),
        ("-01..1", "-01 000 001"),
        ("7..7", "7"),
        ("8..010", "008 009 010"),
    ],
)
def test_ranges_are_those_of_bash(written: str, values: str, tmp_path: Path) -> None:
    tasks = flow(f"{{n: {written}}}", tmp_path, "echo {n}")
    assert " ".join(task.command.removeprefix("echo ") for task in tasks) == values


def test_names_of_files(tmp_path: Path) -> None:
    for name in ("b_x_1.fq", "b_x_2.fq", "a_1.fq", ".c_1.fq", "a_1.txt", "sub[1]/d_1.fq"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert found_files("{sample}_{read}.fq", tmp_path).rows == [("a", "1"), ("b_x", "1"), ("b_x", "2")]
    assert found_files("{sample}_*.fq", tmp_path).rows == [("a",), ("b_x",)]
    assert found_files("sub[1]/{s}_{s}.fq", tmp_path).rows == []
    assert found_files(f"{tmp_path}/sub[1]/{{s}}_?.fq", Path()).rows == [("d",)]
    tasks = flow('"{sample}_{read}.fq"', tmp_path, "cat {sample}_{read}.fq")
    assert list(tasks.tasks) == ["t[a,1]", "t[b_x,1]", "t[b_x,2]"]
    assert list(flow('{files: "{sample}_{read}.fq", where: {read: 1}, k: 1..1}', tmp_path).tasks) == [
        "t[a,1]",
        "t[b_x,1]",
    ]


def test_a_task_must_not_make_what_files_finds(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    text = b"name: w\ntasks:\n  t: {each: '{x}.txt', run: 'echo {x}'}\n  all: {run: touch all.txt, outputs: all.txt}\n"
    with pytest.raises(HeadwayError, match=r"^w.yaml:3: 'all.txt', which task 'all' makes, fits '{x}.txt'"):
        parse_workflow(text, "w.yaml", tmp_path)


def test_a_hundred_thousand_rows(tmp_path: Path) -> None:
    rows = "".join(f"s{number},{number % 7},{number}\n" for number in range(100_000))
    (tmp_path / "s.csv").write_text(f"sample,kind,size\n{rows}")
    tasks = flow("{sheet: s.csv, where: {kind: '< 6'}, default: {a: b}}", tmp_path, "x {sample} {a}")
    assert len(tasks) == 85_715
    assert tasks.tasks["t[s99999]"].command == "x s99999 b"
    assert len(flow("{n: 1..20000}", tmp_path, "x {n}")) == 20_000


def test_a_sheet_is_read_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headway.formats import read_each

    read: list[str] = []
    monkeypatch.setattr(
        read_each, "parse_sheet", lambda data, file, **how: read.append(file) or parse_sheet(data, file)
    )
    text = b"name: w\ntasks:\n  t: {each: s.csv, run: 'a {sample}'}\n  u: {each: {sheet: s.csv}, run: 'b {sample}'}\n"
    assert len(parse_workflow(text, directory=place)) == 6
    assert len(read) == 1
