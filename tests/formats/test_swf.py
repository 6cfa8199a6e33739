"""The Standard Workload Format: real logs, every kind of bad line, and arbitrary bytes."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.formats import swf
from headway.formats.read_batch_log import read_batch_log
from headway.model.batch_log import BatchLog
from headway.model.errors import InputError

COLUMNS = ("number", "submit_s", "run_s", "allocated", "requested", "requested_s")
HEADER = "; Version: 2.2\n; MaxProcs: 128\n; UnixStartTime: 1000000\n"


def job(number: object = 1, submit: object = 0, **fields: object) -> str:
    """A line with some fields replaced: `run=5`, or `f6=12.5` for the sixth."""
    words: list[object] = [number, submit, 10, 100, 4, -1, -1, 8, 3600, -1, 1, 7, 1, -1, 2, 1, -1, -1]
    names = {"wait": 3, "run": 4, "allocated": 5, "requested": 8, "asked": 9, "status": 11, "user": 12}
    for name, value in fields.items():
        words[(names[name] if name in names else int(name[1:])) - 1] = value
    return " ".join(map(str, words))


def read(text: str | bytes, skip_bad: bool = False) -> BatchLog:
    return swf.read(text if isinstance(text, bytes) else text.encode(), "log.swf", "log", skip_bad)


def same_table(one: BatchLog, other: BatchLog) -> bool:
    return all(
        np.array_equal(getattr(one, column), getattr(other, column))
        and getattr(one, column).dtype == getattr(other, column).dtype
        for column in COLUMNS
    )


# --- what is read ---


def test_columns_are_where_the_standard_says() -> None:
    log = read(HEADER + " ".join(str(100 + field) for field in range(1, 19)) + "\n")
    found = [getattr(log, column).tolist() for column in COLUMNS]
    assert found == [[101], [102], [104], [105], [108], [109]]
    assert (log.name, log.processors, log.started_at, log.line.tolist()) == ("log", 128, 1e6, [4])
    assert log.header == {"Version": "2.2", "MaxProcs": "128", "UnixStartTime": "1000000"}
    assert log.left_out == {}
    assert len(log) == 1
    for column in COLUMNS:
        assert getattr(log, column).dtype == (np.float64 if column.endswith("_s") else np.int64)


def test_fractions_and_unknowns() -> None:
    log = read(job(1, 0.5, run=12.25, f6=969.56, allocated="4.00", wait=-1, asked=-1.0, requested=-1, user=-1))
    assert (log.submit_s[0], log.run_s[0], log.requested_s[0]) == (0.5, 12.25, -1)
    assert (log.allocated[0], log.requested[0]) == (4, -1)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace(" ", "   \t "),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n", "   \n\n \t \n"),
        lambda text: "\n\n" + text,
        lambda text: "\ufeff" + text,
        lambda text: "".join(f"   {line}\n" for line in text.splitlines()),
        lambda text: text.replace("\n", "\n; a comment with 'words' | 1 2 3\n;\n"),
        lambda text: "\n".join(reversed(text.splitlines()[:3])) + "\n" + "\n".join(text.splitlines()[3:]),
        lambda text: "\n".join(text.splitlines()[3:] + text.splitlines()[:3]),  # the header after the jobs
    ],
    ids=[
        "crlf",
        "tabs",
        "many-blanks",
        "no-end",
        "blank-lines",
        "blank-first",
        "bom",
        "indented",
        "comments",
        "a",
        "b",
    ],
)
def test_variants_of_notation(change: Callable[[str], str]) -> None:
    text = HEADER + job(1, 0) + "\n" + job(2, 5, f6=12.5) + "\n" + job(9, 5, run=-1) + "\n"
    log, plain = read(change(text)), read(text)
    assert same_table(log, plain)
    assert (log.processors, log.started_at, log.header) == (128, 1e6, plain.header)
    lines = change(text).removeprefix("\ufeff").split("\n")
    assert [int(lines[line - 1].split()[0]) for line in log.line] == [1, 2, 9]


def test_comments_in_any_encoding() -> None:
    log = read("; Installation: Universität\n; Note: grün\n".encode("latin-1") + b"; \xff\x00\xfe\n" + job().encode())
    assert log.header == {"Installation": "Universität", "Note": "grün"}
    assert read(f"; Installation: Universität\n{job()}").header == {"Installation": "Universität"}


def test_repeated_header_keys() -> None:
    log = read(f"; Note: one\n;\tand more of it\n; Note: two\n;Note:three\n; see http://x.org: there\n{job()}\n")
    assert log.header == {"Note": "one\ntwo\nthree"}


@pytest.mark.parametrize(
    ("header", "processors"),
    [
        ("; MaxProcs: 1664 (72, 1368, 224)\n; MaxNodes: 184  ( 6,  171,   7)", 1664),
        ("; MaxNodes: 338 (batch partition; 512 total)", 338),
        ("; MaxNodes: 16\n; MaxProcs: 64", 64),
        ("; MaxProcs: -1\n; MaxNodes: 16", 16),
        ("; MaxProcs: 0\n; MaxNodes: 16", 16),
        ("; MaxProcs: unknown\n; MaxNodes:", 8),
        ("; MaxProcs: 93,312", 93312),
        ("; MaxProcs: 72, 1368", 72),
        ("; MAXPROCS: 5", 5),
        ("; MaxProcs: " + "9" * 5000, 8),
        ("; MaxProcs: 100\n; MaxProcs: 200", 100),
        ("; there is MaxProcs: 3", 8),
        ("", 8),
    ],
)
def test_the_size_of_the_machine(header: str, processors: int) -> None:
    assert read(f"{header}\n{job()}\n").processors == processors


def test_without_a_header_the_widest_job_counts() -> None:
    assert read(job(allocated=16, requested=2)).processors == 16
    assert read(job(allocated=-1, requested=-1)).processors == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("0", 0.0), ("843480031", 843480031.0), ("12.5", 12.5), ("-1", None), ("then", None), ("", None), ("1e999", None)],
)
def test_when_the_log_starts(value: str, seconds: float | None) -> None:
    assert read(f"; UnixStartTime: {value}\n{job()}").started_at == seconds


def test_parts_of_interrupted_jobs_are_left_out() -> None:
    lines = [job(1, 0), job(1, 0, status=2), job(1, -1, status=3), job(2, 4, status=4), job(3, 5)]
    log = read("\n".join(lines))
    assert log.number.tolist() == [1, 2, 3]  # nothing sums up the parts of job 2
    assert log.left_out == {"part of a job": 2}


# --- what is wrong ---

FEW = " ".join(job().split()[:17])
BAD = [
    (FEW, "not of 18 fields", "this line has 17 fields instead of 18; check that the file is complete"),
    ("5", "not of 18 fields", "this line has 1 field instead of 18"),
    (job() + " -1", "not of 18 fields", "this line has 19 fields instead of 18"),
    (job() + " ; a note", "not of 18 fields", "this line has 21 fields instead of 18"),
    (job(run="ten"), "not numbers", r"the run time \(field 4\) is 'ten', not a number; write -1 if unknown"),
    (job(f18="x"), "not numbers", r"the think time \(field 18\) is 'x', not a number"),
    (job(run="nan"), "not numbers", r"the run time \(field 4\) is 'nan', not a number"),
    (job(f7="inf"), "not numbers", r"the used memory \(field 7\) is 'inf', not a number"),
    (job(f7="-Infinity"), "not numbers", r"the used memory \(field 7\) is '-Infinity', not a number"),
    (job(f7="1e999"), "not numbers", r"the used memory \(field 7\) is '1e999', not a number"),
    (job(f7="1-2"), "not numbers", r"'1-2', not a number"),
    (job(f7="1.5.3"), "not numbers", r"'1\.5\.3', not a number"),
    (job(f7="0x10"), "not numbers", r"'0x10', not a number"),
    (job(f7="1_000"), "not numbers", r"'1_000', not a number"),
    (job(f7="1,5"), "not numbers", r"'1,5', not a number"),
    (job(f7="\x00"), "not numbers", r"'\\x00', not a number"),
    (job(f7="٣"), "not numbers", r"'٣', not a number"),
    (job(f7="z" * 1000), "not numbers", r"'z{57}'\.\.\., not a number"),
    (job(run="1e300"), "too large", r"the run time \(field 4\) is 1e\+300, which is out of range"),
    (job(number="9" * 30), "too large", r"the job number \(field 1\) is 1e\+30, which is out of range"),
    (job(user=-1e17), "too large", r"the user \(field 12\) is -1e\+17, which is out of range"),
    (job(allocated=2.5), "not whole numbers", r"the number of processors allocated \(field 5\) is 2\.5, not a whole"),
    (job(number=1.5), "not whole numbers", r"the job number \(field 1\) is 1\.5, not a whole number"),
    (job(run=-2), "below zero", r"the run time \(field 4\) is -2, less than zero; write -1"),
    (job(wait=-600), "below zero", r"the wait time \(field 3\) is -600, less than zero"),
    (job(asked=-0.5), "below zero", r"the requested time \(field 9\) is -0\.5, less than zero"),
    (job(allocated=-4), "below zero", r"processors allocated \(field 5\) is -4, less than zero"),
    (job(requested=-3), "below zero", r"processors requested \(field 8\) is -3, less than zero"),
    (job(submit=-1), "without a submit time", r"the submit time \(field 2\) is -1, but every job needs a submit time"),
    (
        job(submit=-700),
        "without a submit time",
        r"the submit time \(field 2\) is -700, but every job needs a submit",
    ),
    (job(submit=99), "out of order", r"the submit time \(field 2\) is 99, before that of a job above; sort the log"),
]


@pytest.mark.parametrize(("line", "kind", "sentence"), BAD, ids=[f"{kind}-{at}" for at, (_, kind, _) in enumerate(BAD)])
def test_bad_lines(line: str, kind: str, sentence: str) -> None:
    text = "\n".join([HEADER + job(1, 100), line, job(2, 200), line, job(3, 200), ""])
    with pytest.raises(InputError, match=rf"^log\.swf:5: .*{sentence}.*, or skip such lines with --skip-bad$"):
        read(text)
    log = read(text, skip_bad=True)
    assert log.left_out == {kind: 2}
    assert (log.number.tolist(), log.line.tolist()) == ([1, 2, 3], [4, 6, 8])
    assert same_table(log, read("\n".join([job(1, 100), job(2, 200), job(3, 200)])))


def test_a_cut_last_line() -> None:
    text = HEADER + job(1, 0) + "\n" + job(2, 5)
    cut = text[: text.index(" -1", text.index("\n2 5"))]
    with pytest.raises(InputError, match=r"^log\.swf:5: this line has 5 fields instead of 18"):
        read(cut)
    assert read(cut, skip_bad=True).left_out == {"not of 18 fields": 1}


def test_a_broken_line() -> None:
    text = "\n".join([job(1, 0), FEW, "-1 " + job(2, 1), job(3, 2)])
    with pytest.raises(InputError, match=r"^log\.swf:2: this line has 17 fields"):
        read(text)
    log = read(text, skip_bad=True)
    assert (log.number.tolist(), log.left_out) == ([1, 3], {"not of 18 fields": 2})


def test_the_first_bad_line_is_named_whatever_is_wrong_with_it() -> None:
    late = [job(1, 100), job(2, 50), job(3, 100, run=-9), "what is this", job(4, 100, run="x")]
    for start in range(1, 5):
        with pytest.raises(InputError, match=r"^log\.swf:2: "):
            read("\n".join([late[0], *late[start:]]))
    assert read("\n".join(late), skip_bad=True).left_out == {
        "not of 18 fields": 1,
        "not numbers": 1,
        "below zero": 1,
        "out of order": 1,
    }


def test_a_line_that_is_wrong_in_many_ways_counts_once() -> None:
    log = read("\n".join([job(1, 5), job(2.5, -9, run=-7, asked=1e300)]), skip_bad=True)
    assert log.left_out == {"too large": 1}


def test_a_bad_submit_time_does_not_affect_later_jobs() -> None:
    log = read("\n".join([job(1, 0), job(2, 10**6, run=-7), job(3, 5)]), skip_bad=True)
    assert log.number.tolist() == [1, 3]
    assert log.left_out == {"below zero": 1}


def test_unused_columns_may_have_any_value() -> None:
    log = read(job(f6=-77, f7="18446744073709551615", f10=1e300, f13=0.5, f17=-2, f18=-12.5))
    assert len(log) == 1


@pytest.mark.parametrize("text", ["", "\n \n", HEADER, HEADER + "\n;\n", "\ufeff"])
def test_a_log_without_a_job(text: str) -> None:
    for skip_bad in (False, True):
        with pytest.raises(InputError, match=r"^log\.swf: there is no job in this log; check that the file"):
            read(text, skip_bad)


def test_a_log_of_bad_lines_only() -> None:
    with pytest.raises(InputError, match="no job in this log that can be read: 1 not of 18 fields, 2 below zero"):
        read("\n".join([FEW, job(run=-5), job(run=-6)]), skip_bad=True)


# --- blocks: where they begin and end does not show ---


@pytest.mark.parametrize("size", [1, 20, 64, 1000])
def test_small_blocks(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [HEADER, *(job(number, number // 3) for number in range(50)), "; Note: end", FEW, job(50, 60), job(51, 2)]
    text = "\n".join(lines)
    whole = read(text, skip_bad=True)
    monkeypatch.setattr(swf, "_BLOCK_BYTES", size)
    log = read(text, skip_bad=True)
    assert same_table(log, whole)
    assert (log.line.tolist(), log.header, log.left_out) == (whole.line.tolist(), whole.header, whole.left_out)
    assert log.left_out == {"not of 18 fields": 1, "out of order": 1}
    with pytest.raises(InputError, match=r"^log\.swf:56: this line has 17 fields"):
        read(text)


# --- files ---


def test_files(tmp_path: Path) -> None:
    text = (HEADER + job()).encode()
    for name, data in (
        ("a.swf", text),
        ("a.SWF.gz", gzip.compress(text, mtime=0)),
        ("a.swf.gz", gzip.compress(text, mtime=0)),
    ):
        (tmp_path / name).write_bytes(data)
        assert same_table(read_batch_log(tmp_path / name), read(text))
    assert read_batch_log(tmp_path / "a.swf.gz").name == "a"
    (tmp_path / "no-header").write_text(job())
    assert len(read_batch_log(tmp_path / "no-header")) == 1
    (tmp_path / "bad.swf").write_text(FEW + "\n" + job())
    with pytest.raises(InputError, match=r"bad\.swf:1: this line has 17 fields"):
        read_batch_log(tmp_path / "bad.swf")
    assert len(read_batch_log(tmp_path / "bad.swf", skip_bad=True)) == 1


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("a.swf", b"", "this file is empty"),
        ("a.swf", b" \n\t\n", "this file is empty"),
        ("a.swf.gz", gzip.compress(b"", mtime=0), "this file is empty"),
        ("a.swf.gz", b"", "this file is empty"),
        ("a.swf.gz", gzip.compress((HEADER + job()).encode(), mtime=0)[:-9], "not a complete gzip file"),
        ("a.swf.gz", (HEADER + job()).encode(), "not a complete gzip file"),
        ("a.swf", gzip.compress(job().encode(), mtime=0), r"compressed with gzip; give it a name that ends in \.gz"),
        ("a.swf", b"hello there\n", "not a batch log in a known format; known are the Standard Workload"),
        ("a.swf", b"\x7fELF\x00\x00", "not a batch log in a known format"),
        ("a.swf", HEADER.encode(), "there is no job in this log"),
    ],
)
def test_files_in_unknown_formats(tmp_path: Path, name: str, data: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=f"{name}: .*{sentence}"):
        read_batch_log(tmp_path / name)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_batch_log(tmp_path / "none.swf")
    with pytest.raises(InputError, match="this is a directory"):
        read_batch_log(tmp_path)


# --- anything at all ---


def answer(data: bytes) -> None:
    """Check that reading gives a valid log or an error, and the same jobs with and without skipping bad lines."""
    try:
        log = read(data, skip_bad=True)
    except InputError as problem:
        assert str(problem).startswith("log.swf: there is no job")
        assert "\n" not in str(problem)
        with pytest.raises(InputError):
            read(data)
        return
    assert len(log)
    assert log.processors >= 1
    assert (np.diff(log.submit_s) >= 0).all()
    assert (np.diff(log.line) > 0).all()
    assert (log.submit_s >= 0).all()
    for column in (log.run_s, log.requested_s, log.allocated, log.requested):
        assert np.isfinite(column).all()
        assert ((column >= 0) | (column == -1)).all()
    bad = set(log.left_out) - {"part of a job"}
    if bad:
        with pytest.raises(InputError, match=r"^log\.swf:\d+: .*--skip-bad$") as problem:
            read(data)
        assert "\n" not in str(problem.value)
    else:
        assert same_table(read(data), log)


WORDS = [b"-1", b"0", b"7", b"1e5", b"1e999", b"nan", b"-2", b"2.5", b"x", b";", b"\n", b"\r\n", b" ", b"\t", b"\x00"]
words = st.sampled_from([*WORDS, b"\xff", b"1-2", b"\x0b", b"\xc2\xa0", b"+", b".", b"-"])


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    answer(data)
    answer(job().encode() + b"\n" + data)


@given(st.lists(st.one_of(words, st.just(job(5, 5).encode() + b"\n")), max_size=30).map(b" ".join))
def test_any_words(data: bytes) -> None:
    answer(data)


@settings(max_examples=300)
@given(st.randoms(use_true_random=False))
def test_bytes_changed(chance: random.Random) -> None:
    changed = bytearray((HEADER + "\n".join(job(number, number) for number in range(5))).encode())
    for _ in range(chance.randint(1, 4)):
        where = chance.randrange(len(changed))
        match chance.randrange(3):
            case 0:
                changed[where] = chance.randrange(256)
            case 1:
                del changed[where : where + chance.randint(1, 30)]
            case _:
                changed[where:where] = chance.choice(WORDS)
    answer(bytes(changed))


# --- the real ones ---

DATA = os.environ.get("HEADWAY_DATA")


@pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the real logs are")
@pytest.mark.parametrize(
    ("name", "jobs", "processors", "utilization", "days"),
    [
        ("KTH-SP2-1996-2.1-cln", 28_476, 100, 0.70, 333),
        ("SDSC-SP2-1998-4.2-cln", 59_715, 128, 0.83, 729),
        ("CTC-SP2-1996-3.1-cln", 77_222, 338, 0.84, 339),
        ("SDSC-DS-2004-2.1-cln", 96_069, 1664, 0.67, 366),
        ("CEA-Curie-2011-2.1-cln", 312_826, 93_312, 0.62, 254),
    ],
)
def test_real_logs(name: str, jobs: int, processors: int, utilization: float, days: int) -> None:
    """Published figures of these logs."""
    log = read_batch_log(Path(DATA or "", "pwa-swf", f"{name}.swf.gz"))
    assert (len(log), log.processors) == (jobs, processors)
    assert log.left_out == {}
    assert log.name == name
    span_s = log.submit_s[-1] - log.submit_s[0]
    assert span_s / 86400 == pytest.approx(days, abs=1)
    width = np.where(log.allocated > 0, log.allocated, np.maximum(log.requested, 0))
    used = float(width @ np.maximum(log.run_s, 0)) / (log.processors * span_s)
    assert used == pytest.approx(utilization, abs=0.01)
