"""Dumps of Slurm's accounting, written by hand according to sacct(1)."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.formats import sacct
from headway.formats.read_batch_log import read_batch_log
from headway.model.batch_log import BatchLog
from headway.model.errors import InputError

DUMP = """\
JobIDRaw|User|Submit|Start|End|State|AllocCPUS|ReqCPUS|NNodes|Timelimit
101|ada|2024-03-01T12:00:00|2024-03-01T12:00:10|2024-03-01T12:30:10|COMPLETED|8|4|1|1-02:03:04
101.batch||2024-03-01T12:00:10|2024-03-01T12:00:10|2024-03-01T12:30:10|COMPLETED|8|8|1|
101.0||2024-03-01T12:00:10|2024-03-01T12:00:10|2024-03-01T12:30:10|COMPLETED|8|8|1|
102|bob|2024-03-01T11:59:00|2024-03-01T12:10:00|2024-03-01T12:40:00|TIMEOUT|16|16|2|30:00
103|ada|2024-03-01T12:01:00|None|2024-03-01T12:02:00|CANCELLED by 1000|0|4|1|01:00:00
104|eve|2024-03-01T12:03:00|2024-03-01T12:50:00|Unknown|RUNNING|2|2|1|UNLIMITED
105|eve|2024-03-01T12:04:00|Unknown|Unknown|PENDING|0|32|4|Partition_Limit
106|bob|2024-03-01T12:05:00|2024-03-01T12:05:00|2024-03-01T12:05:03|OUT_OF_MEMORY|1|1|1|10:00
107|bob|2024-03-01T12:06:00|2024-03-01T12:41:00|2024-03-01T12:42:00|NODE_FAIL|4|4|1|10:00
108||2024-03-01T12:06:00|2024-03-01T12:41:00|2024-03-01T12:41:00|FAILED|4|4|1|10:00
"""
COLUMNS = ("number", "submit_s", "run_s", "allocated", "requested", "requested_s")


def read(text: str | bytes, skip_bad: bool = False) -> BatchLog:
    return sacct.read(text if isinstance(text, bytes) else text.encode(), "dump", "dump", skip_bad)


def same(one: BatchLog, other: BatchLog) -> bool:
    return all(np.array_equal(getattr(one, column), getattr(other, column)) for column in COLUMNS)


def dump(*rows: dict[str, object]) -> str:
    """A dump of jobs that differ from a default job in the given columns."""
    plain: dict[str, object] = {
        "JobIDRaw": 1,
        "User": "ada",
        "Submit": 1000,
        "Start": 1000,
        "End": 1060,
        "State": "COMPLETED",
        "AllocCPUS": 4,
        "ReqCPUS": 4,
        "Timelimit": "10:00",
    }
    names = list(dict.fromkeys([*plain, *(name for row in rows for name in row)]))
    whole = [{"JobIDRaw": number} | row for number, row in enumerate(rows, start=1)]
    lines = ["|".join(str((plain | row).get(name, "")) for name in names) for row in whole]
    return "\n".join(["|".join(names), *lines, ""])


# --- what is read ---


def test_a_dump() -> None:
    log = read(DUMP)
    assert log.number.tolist() == [102, 101, 103, 104, 105, 106, 107, 108]  # by submission
    assert log.submit_s.tolist() == [0, 60, 120, 240, 300, 360, 420, 420]
    assert log.run_s.tolist() == [1800, 1800, -1, -1, -1, 3, 60, 0]
    assert log.allocated.tolist() == [16, 8, 0, 2, 0, 1, 4, 4]
    assert log.requested.tolist() == [16, 4, 4, 2, 32, 1, 4, 4]
    assert log.requested_s.tolist() == [1800, 93784, 3600, -1, -1, 600, 600, 600]
    assert log.line.tolist() == [5, 2, 6, 7, 8, 9, 10, 11]
    assert log.started_at == 1709294340.0  # 2024-03-01T11:59:00, taken for UTC
    assert (log.name, log.left_out) == ("dump", {})
    assert log.processors == 32  # the widest; 25 were busy at once
    for column in COLUMNS:
        assert getattr(log, column).dtype == (np.float64 if column.endswith("_s") else np.int64)


@pytest.mark.parametrize("seed", range(5))
def test_columns_in_any_order(seed: int) -> None:
    chance = random.Random(seed)
    rows = [line.split("|") for line in DUMP.splitlines()]
    order = chance.sample(range(10), 10)
    shuffled = "\n".join("|".join([*(row[place] for place in order), "x"]) for row in rows)
    assert same(read(shuffled), read(DUMP))


@pytest.mark.parametrize(
    "text",
    [
        DUMP.replace("\n", "|\n"),  # --parsable
        DUMP.replace("\n", "\r\n"),
        DUMP.replace("\n", "|\r\n"),
        DUMP.rstrip("\n"),
        DUMP.replace("\n", "\n\n"),
        "\n" + DUMP,
        "\ufeff" + DUMP,
        DUMP.replace("JobIDRaw", "JobID"),
        DUMP.replace("AllocCPUS", "NCPUS"),
        DUMP.replace("User", "UID"),
        DUMP.replace("Submit|Start", "SUBMIT|start"),
        DUMP.replace("|", " | "),
        DUMP.replace("Unknown", "None"),
        DUMP.replace("CANCELLED by 1000", "CANCELLED+"),
    ],
    ids=[
        *("parsable", "crlf", "both", "no-end", "blank", "blank-first", "bom"),
        *("id", "ncpus", "uid", "case", "blanks", "none", "cut-state"),
    ],
)
def test_variants_of_notation(text: str) -> None:
    log = read(text)
    assert same(log, read(DUMP))
    assert log.processors == 32
    assert log.left_out == {}


def test_parsable_where_the_last_cell_is_empty() -> None:
    log = read("JobID|Submit|Start|End|AllocCPUS|Timelimit\n1|100|100|200|1|\n2|100|100|200|1|5:00\n")
    assert log.requested_s.tolist() == [-1, 300]
    log = read("JobID|Submit|Start|End|AllocCPUS|Timelimit|\n1|100|100|200|1||\n2|100|100|200|1|5:00|\n")
    assert log.requested_s.tolist() == [-1, 300]


def test_times_since_the_epoch_and_with_a_zone() -> None:
    log = read(dump({"Submit": 1709294400, "Start": 1709294410, "End": 1709294470}))
    assert (log.started_at, log.run_s[0]) == (1709294400.0, 60)
    log = read(dump({"Submit": "2024-03-01T13:00:00+0100", "Start": "2024-03-01T12:00:10Z", "End": 1709294470}))
    assert (log.started_at, log.run_s[0]) == (1709294400.0, 60)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-02:03:04", 93784),
        ("30:00", 1800),
        ("00:30:00", 1800),
        ("10-00:00:00", 864000),
        ("UNLIMITED", -1),
        ("Partition_Limit", -1),
        ("INVALID", -1),
        ("", -1),
    ],
)
def test_time_limits(text: str, seconds: float) -> None:
    assert read(dump({"Timelimit": text})).requested_s[0] == seconds


def test_time_limits_in_minutes() -> None:
    for text, seconds in (("90", 5400), ("UNLIMITED", -1), ("Partition_Limit", -1)):
        assert read(dump({"Timelimit": text}).replace("Timelimit", "TimelimitRaw")).requested_s[0] == seconds


@pytest.mark.parametrize(
    ("state", "runs"),
    [
        ("COMPLETED", True),
        ("CANCELLED", True),
        ("CANCELLED by 1000", True),
        ("FAILED", True),
        ("TIMEOUT", True),
        ("PREEMPTED", True),
        ("DEADLINE", True),
        ("BOOT_FAIL", True),
        ("OUT_OF_MEMORY", True),
        ("NODE_FAIL", True),
        ("RUNNING", False),
        ("SUSPENDED", False),
        ("COMPLETING", False),
        ("PENDING", False),
        ("", True),
    ],
)
def test_states(state: str, runs: bool) -> None:
    """`sacct --truncate` sets End for running jobs too."""
    log = read(dump({"State": state}))
    assert log.run_s[0] == (60 if runs else -1)


def test_elapsed_takes_precedence_over_start_and_end() -> None:
    night = {"Submit": "2024-10-27T02:50:00", "Start": "2024-10-27T02:55:00", "End": "2024-10-27T02:05:00"}
    assert read(dump(night | {"Elapsed": "00:10:00"})).run_s[0] == 600
    assert read(dump(night | {"ElapsedRaw": 600, "Elapsed": "1-00:00:00"})).run_s[0] == 600
    with pytest.raises(InputError, match=r"^dump:2: this job ended 3000 s before it started; dump with ElapsedRaw or"):
        read(dump(night))
    assert read(dump({"Elapsed": "INVALID"})).run_s[0] == 60


def test_array_tasks_and_heterogeneous_jobs() -> None:
    rows = [{"JobIDRaw": text} for text in ("7_1", "7_2", "7_[3-9%2]", "8+0", "8+1", "9.extern", "9_1.batch", "9")]
    log = read(dump(*rows).replace("JobIDRaw", "JobID"))
    assert log.number.tolist() == [7, 7, 7, 8, 8, 9]


def test_jobidraw_takes_precedence() -> None:
    assert read(dump({"JobIDRaw": 12, "JobID": "7_1"})).number.tolist() == [12]


def test_jobs_submitted_together_stay_in_the_order_of_the_file() -> None:
    log = read(dump(*({"JobIDRaw": number, "Submit": number % 2 + 100} for number in (9, 4, 7, 2, 5))))
    assert log.number.tolist() == [4, 2, 9, 7, 5]


def test_concatenated_dumps() -> None:
    early = dump({"JobIDRaw": 1}, {"JobIDRaw": 2, "Start": "Unknown", "End": "Unknown", "State": "PENDING"})
    late = dump({"JobIDRaw": 2, "Start": 2000, "End": 2100}, {"JobIDRaw": 3})
    log = read(early + late)
    assert log.number.tolist() == [1, 2, 3]
    assert log.run_s.tolist() == [60, 100, 60]
    assert log.left_out == {"the same job again": 1}
    requeued = read(
        dump({"JobIDRaw": 2, "State": "NODE_FAIL"}, {"JobIDRaw": 2, "Submit": 1070, "Start": 1070, "End": 1100})
    )
    assert requeued.number.tolist() == [2, 2]  # sacct --duplicates: it was submitted again


def test_names_in_any_encoding() -> None:
    data = dump({"User": "J\u00f6rg"}, {"User": "ada"}, {"User": "J\u00f6rg"})
    assert len(read(data.encode("latin-1"))) == len(read(data)) == 3


# --- how large the machine is ---


@pytest.mark.parametrize(
    ("rows", "processors"),
    [
        ([{"Start": 1000, "End": 1100, "AllocCPUS": 4}, {"Start": 1050, "End": 1200, "AllocCPUS": 5}], 9),
        ([{"Start": 1000, "End": 1100, "AllocCPUS": 4}, {"Start": 1100, "End": 1200, "AllocCPUS": 5}], 5),
        ([{"Start": 1100, "End": 1200, "AllocCPUS": 5}, {"Start": 1000, "End": 1100, "AllocCPUS": 4}], 5),
        ([{"Start": 1000, "End": "Unknown", "State": "RUNNING"}, {"Start": 9000, "End": 9001}], 8),
        ([{"Start": "Unknown", "End": "Unknown", "State": "PENDING"}, {}], 4),
        ([{"AllocCPUS": 1, "ReqCPUS": 77}, {}], 77),
        ([{"AllocCPUS": 0, "ReqCPUS": 3}, {"AllocCPUS": 2, "ReqCPUS": 1}], 5),
        ([{"Start": 1000, "End": 1000, "AllocCPUS": 3}, {"Start": 1000, "End": 1000, "AllocCPUS": 3}], 4),
        ([{"AllocCPUS": "", "ReqCPUS": ""}], 1),
    ],
)
def test_the_size_of_the_machine(rows: list[dict[str, object]], processors: int) -> None:
    assert read(dump(*rows)).processors == processors


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30), st.integers(1, 9)), min_size=1, max_size=15))
def test_the_machine_has_the_largest_number_busy_at_once(jobs: list[tuple[int, int, int]]) -> None:
    rows = [{"Submit": 1, "Start": at, "End": at + run, "AllocCPUS": n, "ReqCPUS": 1} for at, run, n in jobs]
    busy = [sum(n for at, run, n in jobs if at <= second < at + run) for second in range(61)]
    assert read(dump(*rows)).processors == max(*busy, *(n for _, _, n in jobs))


def test_nodes_without_processor_columns() -> None:
    head = "JobIDRaw|Submit|Start|End|{}\n"
    log = read(head.format("NNodes") + "1|100|100|200|3\n2|100|150|200|4\n")
    assert (log.allocated.tolist(), log.requested.tolist(), log.processors) == ([3, 4], [3, 4], 7)
    log = read(head.format("ReqNodes|AllocNodes") + "1|100|100|200|3|4\n")
    assert (log.allocated.tolist(), log.requested.tolist(), log.processors) == ([4], [3], 4)
    log = read(head.format("ReqCPUS|AllocNodes") + "1|100|100|200|3|4\n")
    assert (log.allocated.tolist(), log.requested.tolist(), log.processors) == ([-1], [3], 3)
    log = read(head.format("NNodes") + "1|100|100|200|2K\n2|100|150|200|1.50K\n")
    assert log.allocated.tolist() == [2048, 1536]


# --- what is wrong ---

BAD = [
    ({"JobIDRaw": "x"}, "without a job number", "'x' is not a job number"),
    ({"JobIDRaw": ""}, "without a job number", "'' is not a job number"),
    ({"JobIDRaw": "9" * 40}, "without a job number", "'9+' is not a job number"),
    ({"Submit": "Unknown"}, "without a submit time", "this job has no submit time"),
    ({"Submit": "0"}, "without a submit time", "this job has no submit time"),
    ({"Submit": "yesterday"}, "not readable", "'yesterday' is not a time; unset SLURM_TIME_FORMAT"),
    ({"Start": "Mon 12:34:56"}, "not readable", "'Mon 12:34:56' is not a time"),
    ({"End": "2024-13-01T00:00:00"}, "not readable", "'2024-13-01T00:00:00' is not a time"),
    ({"End": "1" * 400}, "not readable", r"'1{57}'\.\.\. is not a time"),
    ({"AllocCPUS": "many"}, "not readable", "'many' is not a number of processors"),
    ({"ReqCPUS": "-4"}, "not readable", "'-4' is not a number of processors"),
    ({"ReqCPUS": "18446744073709551614"}, "not readable", "'18446744073709551614' is not a number of processors"),
    ({"Timelimit": "soon"}, "not readable", "'soon' is not a length of time"),
    ({"Timelimit": "-1:00"}, "not readable", "'-1:00' is not a length of time"),
    ({"Start": 2000, "End": 1000}, "ended before they started", "this job ended 1000 s before it started"),
    ({"Start": 2000, "End": 1999}, "ended before they started", "this job ended 1 s before it started"),
    ({"User": "a|b"}, "of another width", "this line has 10 fields, but the header has 9; leave out columns"),
]


@pytest.mark.parametrize(("row", "kind", "sentence"), BAD, ids=[f"{kind}-{at}" for at, (_, kind, _) in enumerate(BAD)])
def test_bad_lines(row: dict[str, object], kind: str, sentence: str) -> None:
    text = dump({"JobIDRaw": 5}, row, {"JobIDRaw": 7}, row)
    with pytest.raises(InputError, match=rf"^dump:3: {sentence}.*, or skip such lines with --skip-bad$"):
        read(text)
    log = read(text, skip_bad=True)
    assert log.left_out == {kind: 2}
    assert (log.number.tolist(), log.line.tolist()) == ([5, 7], [2, 4])


def test_a_cut_last_line() -> None:
    text = dump({}, {})
    with pytest.raises(InputError, match=r"^dump:3: this line has 4 fields, but the header has 9"):
        read(text[: text.rindex("|1060")])
    assert len(read(text[: text.rindex("|1060")], skip_bad=True)) == 1


def test_a_dump_without_a_job() -> None:
    for text in (DUMP.splitlines()[0], "\n".join(DUMP.splitlines()[:1] + DUMP.splitlines()[2:4])):
        for skip_bad in (False, True):
            with pytest.raises(
                InputError, match=r"^dump: there is no job in this dump; make it with: .*sacct -a -X -P"
            ):
                read(text, skip_bad)
    with pytest.raises(InputError, match="no job in this dump that can be read: 1 without a submit time"):
        read(dump({"Submit": "Unknown"}), skip_bad=True)


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        ("JobIDRaw|User", "Submit, Start, End, AllocCPUS or ReqCPUS"),
        ("JobIDRaw|Submit|Start|End|State|Timelimit", "AllocCPUS or ReqCPUS"),
        ("User|Submit|Start|End|AllocCPUS", "JobIDRaw"),
    ],
)
def test_columns_that_are_missing(header: str, missing: str) -> None:
    with pytest.raises(InputError, match=rf"^dump:2: there is no column {missing}; make it with: .*sacct"):
        read(f"\n{header}\n", skip_bad=True)


def test_a_dump_that_is_not_parsable() -> None:
    text = "JobID           JobName      State ExitCode \n------------ ---------- ---------- -------- \n2 a b 0:0\n"
    with pytest.raises(InputError, match=r"^dump:1: the columns are not separated by \|; make it with: .*-P"):
        read(text)
    with pytest.raises(InputError, match="not separated"):
        read("")


# --- files, and anything at all ---


def test_files(tmp_path: Path) -> None:
    for name, data in (("a.txt", DUMP.encode()), ("a.txt.gz", gzip.compress(DUMP.encode()))):
        (tmp_path / name).write_bytes(data)
        assert same(read_batch_log(tmp_path / name), read(DUMP))
        assert read_batch_log(tmp_path / name).name == "a"
    (tmp_path / "people.txt").write_text("JobID    State\n-----  ------\n")
    with pytest.raises(InputError, match=r"people\.txt:1: the columns are not separated by"):
        read_batch_log(tmp_path / "people.txt")


def answer(data: bytes) -> None:
    """Check that reading gives a valid log or an error of one sentence."""
    try:
        log = read(data, skip_bad=True)
    except InputError as problem:
        assert str(problem).startswith("dump:")
        assert "\n" not in str(problem)
        return
    assert len(log)
    assert log.submit_s[0] == 0
    assert (np.diff(log.submit_s) >= 0).all()
    for column in (log.run_s, log.requested_s, log.allocated, log.requested):
        assert np.isfinite(column).all()
        assert ((column >= 0) | (column == -1)).all()
    assert log.processors >= max(1, log.allocated.max(), log.requested.max())


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    answer(data)
    answer(DUMP.splitlines()[0].encode() + b"\n" + data)


CELLS = ["", "-", "0", "-5", "1e30", "nan", "9" * 15, "9" * 16, "0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59"]
CELLS += ["Unknown", "1-00", "99999999999-00:00:00", "2K", "999999G", "\x00", "\u0663", "|", "\n", "123.batch", "0:0:0"]


@settings(max_examples=300)
@given(st.data())
def test_cells_changed(data: st.DataObject) -> None:
    lines = DUMP.splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(lines) - 1))
        row = lines[place].split("|")
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(st.sampled_from(CELLS))
        lines[place] = "|".join(row)
    answer("\n".join(lines).encode())
