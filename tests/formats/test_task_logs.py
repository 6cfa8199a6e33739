"""Task logs in every format: what is read, what is left out, and errors of one sentence."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.formats import unpacked
from headway.formats.read_task_log import failures_beside, read_task_log
from headway.model.errors import InputError
from headway.model.resources import Resources
from headway.model.task_log import LoggedTask, TaskLog

GIB = 1024**3

NEXTFLOW_RAW = """\
task_id,process,tag,name,status,exit,memory,attempt,submit,start,complete,duration,realtime,%cpu,peak_rss,rchar
3,W:ALIGN,s2,W:ALIGN (s2),COMPLETED,0,4294967296,1,1000,30000,90000,89000,60000,95.3,1073741824,99
1,W:ALIGN,s1,W:ALIGN (s1),COMPLETED,0,4294967296,1,1000,10000,15500,14500,5000,95.3,536870912,77
2,W:QC,"a,b",W:QC (a),COMPLETED,0,-,1,1000,20000,20000,19000,0,1.0,1000000,5
4,W:QC,c,W:QC (c),FAILED,1,1000,1,1000,40000,41000,19000,0,1.0,1000000,5
5,W:QC,d,W:QC (d),COMPLETED,0,1000,1,1000,50000,51000,19000,7,1.0,-,5
6,W:QC,d,W:QC (d),COMPLETED,0,1000,1,1000,50000,51000,19000,7,1.0,0,5
"""
NEXTFLOW_HUMAN = (
    "task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu\tpeak_rss\tpeak_vmem\trchar\twchar\n"
    "2\tab/cd\t17\tW:SORT (s 1)\tCOMPLETED\t0\t2024-03-01 10:00:05.000\t2h 4s\t1h 2m 3s\t95.3%\t1.5 GB\t2 GB\t1 MB\t0\n"
    "1\tab/ce\t18\tW:SORT\tCACHED\t0\t2024-03-01 10:00:04.123\t4.1s\t950ms\t95.3%\t512 KB\t2 GB\t1 MB\t0\n"
    "7\tab/cf\t19\tW:SORT (x)\tABORTED\t-\t-\t-\t-\t-\t-\t-\t-\t-\n"
)
WORK_QUEUE_CSV = """\
task_id,category,attempt,request_mode,result,exit_code,limits_exceeded,t_submit_us,t_run_us,t_end_us,alloc_cores,alloc_memory_mb,alloc_disk_mb,used_cores,cores_avg,used_memory_mb,used_disk_mb,wall_time_s
2,fit,1,FIRST_RESOURCES,RESOURCE_EXHAUSTION,143,memory=100;disk=5;,0,7000000,8000000,1,100,500,1,1,180,10,4
3,fit,1,FIRST_RESOURCES,RESOURCE_EXHAUSTION,143,memory=100,0,7500000,8000000,1,100,500,1,1,180,10,6
2,fit,2,MAX_RESOURCES,SUCCESS,0,,0,9000000,9900000,2,200,500,1.5,1.2,190,20,5.5
1,plot,1,FIRST_RESOURCES,LOST,,,0,5000000,6000000,1,100,500,,,,,
1,plot,2,FIRST_RESOURCES,SUCCESS,0,,0,8000000,9000000,1,100,500,0,0,90,0,2
4,plot,1,FIRST_RESOURCES,SUCCESS,0,,0,4000000,9000000,1,300,500,1,1,95,3,2.5
"""
WORK_QUEUE_LOG = """\
# time manager_pid MANAGER START|END
# time manager_pid TASK taskid WAITING category_name (FIRST_RESOURCES|MAX_RESOURCES) {resources_requested}

1000000 77 MANAGER START
1000000 77 CATEGORY fit MAX {}
1000001 77 TASK 1 WAITING fit FIRST_RESOURCES {}
1000002 77 TASK 2 WAITING fit FIRST_RESOURCES {"memory":[100,"MB"]}
1000003 77 TASK 3 WAITING plot FIRST_RESOURCES {}
2000000 77 WORKER w-1 h:1 CONNECTION
2000000 77 WORKER w-1 RESOURCES {"memory":[8000,"MB"],"disk":[9400,"MB"],"cores":[4,"cores"]}
2000000 77 WORKER w-2 RESOURCES {"memory":[8000,"MB"],"disk":[9100,"MB"],"cores":[4,"cores"]}
2000000 77 WORKER w-3 RESOURCES {"memory":[100,"MB"],"disk":[100,"MB"],"cores":[1,"cores"]}
3000000 77 TASK 2 RUNNING h:1  FIRST_RESOURCES {"memory":[100,"MB"],"disk":[50,"MB"],"cores":[1,"cores"]}
3500000 77 TASK 1 RUNNING h:1  FIRST_RESOURCES {"memory":[100,"MB"],"disk":[50,"MB"],"cores":[1,"cores"]}
3600000 77 TRANSFER INPUT 1 0 0.1 0.2 file
4000000 77 TASK 2 WAITING_RETRIEVAL h:1
4000001 77 TASK 2 RETRIEVED RESOURCE_EXHAUSTION  143  {"memory":[100,"MB"]} {"wall_time":[3,"s"],"swaps":[3,"switches"]}
4000002 77 TASK 2 WAITING fit MAX_RESOURCES {}
4000003 77 TASK 2 RUNNING h:1  MAX_RESOURCES {"memory":[8000,"MB"],"disk":[9000,"MB"],"cores":[4,"cores"]}
500000 77 TASK 2 RETRIEVED SUCCESS 0 {} {"wall_time":[8e6,"us"],"memory":[120,"MB"],"disk":[3,"MB"],"cores":[2,"cores"]}
5000001 77 TASK 2 DONE SUCCESS  0  {} {"wall_time":[8,"s"],"memory":[120,"MB"],"swaps":[3,"switches"]}
6000000 77 TASK 1 RETRIEVED SUCCESS 0 {} {"wall_time":[4.5,"s"],"memory":[60,"MB"],"disk":[0,"MB"],"cores":[1,"cores"]}
7000000 77 TASK 3 RETRIEVED SIGNAL  9  {} {}
9000000 77 MANAGER END
"""
KSEGMENTS = """\
workflow,process,name,task_id,input_files,input_bytes,output_files,output_bytes,max_cpus,max_mem_bytes,first_sample,n_samples,duration_s,peak_mb
eager,bwa,bwa (a),7,2,5000,1,10,8,1000000000,200.5,9,16.0,100.25
sarek,bwa,bwa (a),7,2,,1,10,8,,100.5,9,0.0,10
eager,bwa,bwa (a),7,2,6000,1,10,8,1000000000,200.5,9,16.0,900
eager,qc,qc (a),8,2,6000,1,10,8,1000000000,300.5,9,,
"""
SERIES = """\
{"workflow":"eager","process":"bwa","task_id":"7","dur":16.0,"mb":[10,100,50,20]}
{"workflow":"eager","process":"qc","task_id":"8","dur":1.0,"mb":[]}
"""
CCL_CSV = "category,cores,memory,disk,cpu_time,wall_time\nA,2,277,670,0,0\nB,1,0,5,1,1\nA,1,5,0,3.5,4.5\n"
CCL_TEXT = (
    "taskid -- core -- memory -- virtual_memory -- disk -- time -- average_cores -- 1\n"
    "28 -- 2 -- 6202 -- 358792 -- 5 -- 256.5 -- 1.554 -- 1\n"
    "7 -- 3 -- 6 -- 358792 -- 5 -- 0.5 -- 1.554 -- 2\n"
)
EVERY = {
    "raw Nextflow": NEXTFLOW_RAW,
    "Nextflow": NEXTFLOW_HUMAN,
    "Work Queue CSV": WORK_QUEUE_CSV,
    "Work Queue": WORK_QUEUE_LOG,
    "k-Segments": KSEGMENTS,
    "CCL CSV": CCL_CSV,
    "CCL text": CCL_TEXT,
}


def read(directory: Path, text: str, name: str = "log.txt") -> TaskLog:
    (directory / name).write_text(text)
    return read_task_log(directory / name)


# --- what each format says ---


def test_nextflow_raw(tmp_path: Path) -> None:
    log = read(tmp_path, NEXTFLOW_RAW, "trace_x.csv")
    asked = {"memory_bytes": 4.0 * GIB}
    assert log == TaskLog(
        "trace_x",
        [
            LoggedTask("1", "W:ALIGN", 5.0, {"memory_bytes": GIB / 2, "cores": 0.953}, asked, started_at=10.0),
            LoggedTask("2", "W:QC", 0.0, {"memory_bytes": 1e6, "cores": 0.01}, started_at=20.0),
            LoggedTask("3", "W:ALIGN", 60.0, {"memory_bytes": 1.0 * GIB, "cores": 0.953}, asked, started_at=30.0),
        ],
        ("memory_bytes",),
        Resources(cores=32, memory_bytes=128_000_000_000),
        ("memory_bytes",),
        left_out=3,
        format="nextflow",
    )
    assert all(task.input_bytes is None for task in log.tasks), "what a task read is known too late"


def test_nextflow_with_units(tmp_path: Path) -> None:
    log = read(tmp_path, NEXTFLOW_HUMAN)
    first, second = log.tasks
    assert (first.id, first.category, first.used["memory_bytes"]) == ("1", "W:SORT", 512 * 1024)
    assert first.run_s == pytest.approx(0.95)
    assert (second.category, second.run_s, second.used["memory_bytes"]) == ("W:SORT", 3723, 1.5 * GIB)
    assert second.started_at - first.started_at == pytest.approx(0.877)
    assert log.left_out == 1


@pytest.mark.parametrize("separator", [";", "\t", ",", "|", "~", " | ", "::"])
def test_nextflow_with_any_separator(tmp_path: Path, separator: str) -> None:
    plain = NEXTFLOW_RAW.replace('"a,b"', "ab")
    assert read(tmp_path, plain.replace(",", separator)).tasks == read(tmp_path, plain).tasks


@pytest.mark.parametrize("separator", [";", "\t", ",", "|"])
def test_nextflow_with_quotes(tmp_path: Path, separator: str) -> None:
    plain = NEXTFLOW_RAW.replace('"a,b"', "ab")
    rows = [separator.join(f'"{cell}"' for cell in line.split(",")) for line in plain.splitlines()]
    quoted = "\n".join(rows).replace('"s2"', f'"s{separator}2"')
    assert read(tmp_path, quoted).tasks == read(tmp_path, plain).tasks


def test_a_trace_that_other_programs_have_saved(tmp_path: Path) -> None:
    """pandas adds a column without a name; spreadsheets write large numbers with an exponent."""
    log = read(tmp_path, ",process,realtime,peak_rss\n0,P,5000,1.5E+09\n1,P,6000,8\n")
    assert [task.used["memory_bytes"] for task in log.tasks] == [1.5e9, 8]


def test_a_tag_with_the_separator_in_it(tmp_path: Path) -> None:
    """Nextflow quotes nothing: the tag is in two columns, each with the separator."""
    header = "task_id;process;tag;name;status;realtime;peak_rss\n"
    log = read(tmp_path, header + "1;P;a;b;c;P (a;b;c);COMPLETED;5000;7\n2;P;x;P (x);COMPLETED;6000;8\n")
    assert [(task.id, task.run_s, task.used) for task in log.tasks] == [
        ("1", 5.0, {"memory_bytes": 7}),
        ("2", 6.0, {"memory_bytes": 8}),
    ]


def test_requests_and_busy_cores(tmp_path: Path) -> None:
    header = "process,cpus,time,memory,realtime,%cpu,peak_rss\n"
    (raw,) = read(tmp_path, header + "a,4,3600000,1024,5000,250.5,7\n").tasks
    (human,) = read(tmp_path, header + "b,4,1h,1 KB,5s,50%,7\n").tasks
    assert raw.asked == {"memory_bytes": 1024, "cores": 4, "walltime_s": 3600}
    assert raw.used == {"memory_bytes": 7, "cores": 2.505}
    assert (human.asked, human.used["cores"]) == (raw.asked, 0.5)


def test_nextflow_without_realtime(tmp_path: Path) -> None:
    header = "process,start,complete,duration,realtime,peak_rss\n"
    log = read(tmp_path, header + "a,1000,3500,9000,-,5\nb,2000,-,9000,-,5\nc,3000,-,-,-,5\n")
    assert [(task.category, task.run_s) for task in log.tasks] == [("a", 2.5), ("b", 9.0)]
    assert log.left_out == 1


def test_the_machine_fits_the_largest_task(tmp_path: Path) -> None:
    header = "process,start,realtime,peak_rss,memory\n"
    assert read(tmp_path, header + "a,1,1,200 GB,1 GB\n").machine.memory_bytes == 200 * GIB
    assert read(tmp_path, header + "a,1,1,1 GB,300 GB\n").machine.memory_bytes == 300 * GIB


def test_work_queue_csv(tmp_path: Path) -> None:
    log = read(tmp_path, WORK_QUEUE_CSV)
    fit_wish = {"cores": 1.0, "memory_bytes": 100e6, "disk_bytes": 500e6}
    assert log.tasks == [
        # The two tasks of `plot` were given different amounts: an algorithm chose them, not a user.
        LoggedTask("4", "plot", 2.5, {"cores": 1, "memory_bytes": 95e6, "disk_bytes": 3e6}, started_at=4.0),
        LoggedTask("1", "plot", 2.0, {"memory_bytes": 90e6}, started_at=5.0),
        LoggedTask(
            "2", "fit", 5.5, {"cores": 1.5, "memory_bytes": 190e6, "disk_bytes": 20e6}, fit_wish, started_at=7.0
        ),
    ]
    assert log.machine == Resources(cores=16, memory_bytes=64 * 10**9, disk_bytes=64 * 10**9)
    assert log.kills == ("memory_bytes", "disk_bytes", "cores")
    assert log.failed_after_s == {"memory_bytes": 5.0, "disk_bytes": 4.0}
    assert log.left_out == 1, "task 3 never succeeded"


def test_work_queue_log(tmp_path: Path) -> None:
    log = read(tmp_path, WORK_QUEUE_LOG, "w.txn.log")
    wish = {"cores": 1.0, "memory_bytes": 100e6, "disk_bytes": 50e6}
    assert log == TaskLog(
        "w",
        [
            LoggedTask("2", "fit", 8.0, {"cores": 2, "memory_bytes": 120e6, "disk_bytes": 3e6}, wish, started_at=3.0),
            LoggedTask("1", "fit", 4.5, {"cores": 1, "memory_bytes": 60e6}, wish, started_at=3.5),
        ],
        ("cores", "memory_bytes", "disk_bytes"),
        Resources(cores=4, memory_bytes=8 * 10**9, disk_bytes=9 * 10**9),
        ("memory_bytes", "disk_bytes", "cores"),
        {"memory_bytes": 3.0},
        left_out=1,
        format="work-queue-log",
    )


def test_a_line_that_is_still_being_written(tmp_path: Path) -> None:
    log = read(tmp_path, WORK_QUEUE_LOG[: WORK_QUEUE_LOG.index('"disk":[0')])
    assert ([task.id for task in log.tasks], log.left_out) == (["2"], 2)


def test_a_whole_worker_is_not_a_request(tmp_path: Path) -> None:
    whole = WORK_QUEUE_CSV.replace(",1,100,500,", ",16,64000,500,").replace(",2,200,500,", ",16,64000,500,")
    assert [task.asked for task in read(tmp_path, whole).tasks] == [{}, {}, {}]


def test_ksegments(tmp_path: Path) -> None:
    (tmp_path / "memory_series64.jsonl.gz").write_bytes(gzip.compress(SERIES.encode()))
    log = read(tmp_path, KSEGMENTS, "tasks.csv")
    assert log == TaskLog(
        "k-segments",
        [
            LoggedTask("sarek/7", "sarek/bwa", 0.0, {"memory_bytes": 10 * 2**20}, started_at=100.5),
            LoggedTask(
                "eager/7",
                "eager/bwa",
                16.0,
                {"memory_bytes": 100.25 * 2**20},
                {"memory_bytes": 1e9},
                5000,
                200.5,
                (10 * 2**20, 100.25 * 2**20, 50 * 2**20, 20 * 2**20),  # the greatest is the peak, which is not rounded
            ),
        ],
        ("memory_bytes",),
        Resources(cores=32, memory_bytes=128_000_000_000),
        ("memory_bytes",),
        left_out=2,
        format="k-segments",
    )


def test_ksegments_without_its_series(tmp_path: Path) -> None:
    assert [task.profile for task in read(tmp_path, KSEGMENTS).tasks] == [(), ()]


def test_ccl_csv(tmp_path: Path) -> None:
    log = read(tmp_path, CCL_CSV)
    assert log.tasks == [
        LoggedTask("1", "A", 0.0, {"cores": 2, "memory_bytes": 277e6, "disk_bytes": 670e6}),
        LoggedTask("3", "A", 4.5, {"cores": 1, "memory_bytes": 5e6}),
    ]
    assert log.left_out == 1


def test_ccl_text(tmp_path: Path) -> None:
    log = read(tmp_path, CCL_TEXT)
    assert log.tasks == [
        LoggedTask("28", "1", 256.5, {"cores": 2, "memory_bytes": 6202e6, "disk_bytes": 5e6}),
        LoggedTask("7", "2", 0.5, {"cores": 3, "memory_bytes": 6e6, "disk_bytes": 5e6}),
    ]


@pytest.mark.parametrize("text", EVERY.values(), ids=EVERY)
def test_compression_and_line_ends(tmp_path: Path, text: str) -> None:
    plain = read(tmp_path, text, "a.csv")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert read_task_log(tmp_path / "a.csv.gz") == plain
    (tmp_path / "a").write_bytes(gzip.compress(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()))
    assert read_task_log(tmp_path / "a") == plain


def test_failure_times_from_other_logs(tmp_path: Path) -> None:
    whole = WORK_QUEUE_CSV.replace("RESOURCE_EXHAUSTION", "LOST")
    assert read(tmp_path, whole, "my_flow_whole.csv").failed_after_s == {}
    assert failures_beside(tmp_path / "my_flow_whole.csv") == {}
    read(tmp_path, WORK_QUEUE_CSV, "my_flow_greedy.csv")
    (tmp_path / "my_flow_notes.csv").write_text("nothing of the kind\n")
    read(tmp_path, WORK_QUEUE_CSV.replace(",6\n", ",60\n"), "your_flow_greedy.csv")
    assert failures_beside(tmp_path / "my_flow_whole.csv") == {"memory_bytes": 5.0, "disk_bytes": 4.0}


# --- what is wrong ---

WRONG: dict[str, tuple[str, str]] = {
    "nothing": ("", ": this file is empty"),
    "something else": (
        "root:x:0:0\n",
        ": this is not a task log in a known format: it begins with 'root:x:0:0'; known are Nextflow's",
    ),
    "only a header": (NEXTFLOW_RAW.splitlines()[0], ": no task in this log succeeded"),
    "a number": (NEXTFLOW_RAW.replace("1073741824", "lots"), ":2: peak_rss is 'lots', not an amount of memory"),
    "a date": (NEXTFLOW_HUMAN.replace("2024-03-01", "yesterday"), ":2: submit is 'yesterday 10:00:05.000', not a date"),
    "a time": (NEXTFLOW_HUMAN.replace("1h 2m 3s", "1h 2x"), ":2: realtime is '1h 2x', not a length of time"),
    "no peaks": (
        "task_id\thash\tnative_id\tname\tstatus\trealtime\n",
        ":1: this trace has no column peak_rss; set in next",
    ),
    "no times": (
        "process;tag;peak_rss;rchar\n",
        ":1: this trace has no column realtime; set in nextflow.config: trace.",
    ),
    "a decimal comma": (
        NEXTFLOW_HUMAN.replace("1.5 GB", "1,5 GB"),
        ":2: peak_rss is '1,5 GB', not an amount of memory; w",
    ),
    "mixed units": (
        NEXTFLOW_HUMAN.replace("512 KB", "5120"),
        ":3: peak_rss is '5120' here and '1.5 GB' above: one has a",
    ),
    "negative": (
        NEXTFLOW_RAW.replace("1073741824", "-3"),
        ":2: peak_rss is '-3', not an amount of memory: it is negat",
    ),
    "absurd": (
        NEXTFLOW_RAW.replace("1073741824", "9" * 17),
        ":2: peak_rss is '99999999999999999', more memory than any",
    ),
    "a wrong guess": (
        "name,realtime,hash\nx,1,2\n",
        "it was read as Nextflow's trace, since its first line names columns",
    ),
    "cut off": (
        NEXTFLOW_RAW[:-30],
        ":7: this line has 9 fields, but the header has 16; check that the file is complete",
    ),
    "a row too short": (WORK_QUEUE_CSV + "5,fit\n", ":8: this line has 2 fields, but the header has 18"),
    "not finite": (CCL_CSV + "A,1,nan,1,1,1\n", ":5: memory is 'nan', not a number"),
    "endless": (CCL_CSV + f"A,1,{'9' * 400},1,1,1\n", ":5: memory is '9999"),
    "blank lines": ("\n \n\n", ": this file is empty"),
    "a field without end": (NEXTFLOW_RAW + '1,"' + "x" * 200_000, ":8: this is not a table (field larger"),
    "foreign line": (WORK_QUEUE_LOG + "hello\n", ":25: this line does not belong to a Work Queue log"),
    "foreign unit": (WORK_QUEUE_LOG.replace('[60,"MB"]', '[60,"QB"]'), ":22: 'QB' is not a unit"),
    "foreign amount": (WORK_QUEUE_LOG.replace('[60,"MB"]', "60"), ":22: these are not amounts"),
    "text between dashes": (CCL_TEXT + "1 -- 2\n", ":4: this line has 2 fields, but the header has 8"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_errors_are_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as problem:
        read(tmp_path, text)
    sentence = str(problem.value)
    assert words in sentence
    assert sentence.startswith(str(tmp_path / "log.txt"))
    assert "\n" not in sentence
    assert len(sentence) < 400


def test_an_invalid_memory_series(tmp_path: Path) -> None:
    (tmp_path / "memory_series64.jsonl").write_text(SERIES + "{}\n")
    with pytest.raises(InputError, match=r"memory_series64\.jsonl:3: this line is not a memory series"):
        read(tmp_path, KSEGMENTS)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_task_log(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="directory"):
        read_task_log(tmp_path)
    (tmp_path / "latin.csv").write_bytes(CCL_CSV.encode() + b"\xff\n")
    with pytest.raises(InputError, match=r"latin\.csv:5: this is not text in UTF-8"):
        read_task_log(tmp_path / "latin.csv")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(CCL_CSV.encode())[:-9])
    with pytest.raises(InputError, match="not a complete gzip file"):
        read_task_log(tmp_path / "cut.csv.gz")


def test_files_that_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "MAX_LINE_BYTES", 200)
    (tmp_path / "long.csv.gz").write_bytes(gzip.compress(CCL_CSV.encode() + b"x" * 1_000_000))
    with pytest.raises(InputError, match=r"long\.csv\.gz:5: this line is longer than 200 B"):
        read_task_log(tmp_path / "long.csv.gz")
    monkeypatch.setattr(unpacked, "MAX_BYTES", 1000)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(CCL_CSV.encode() + b"A,1,1,1,1,1\n" * 1_000_000))
    with pytest.raises(InputError, match=r"bomb\.csv\.gz: this file is larger than 1 kB"):
        read_task_log(tmp_path / "bomb.csv.gz")


# --- anything at all ---


def answer(path: Path, data: bytes) -> None:
    """Check that reading gives a log or an error of one sentence; any other exception is a bug."""
    path.write_bytes(data)
    try:
        log = read_task_log(path)
    except InputError as problem:
        assert str(problem).startswith(str(path))
        assert "\n" not in str(problem)
        return
    assert log.tasks
    for task in log.tasks:
        assert task.run_s >= 0
        assert 0 < task.used["memory_bytes"] < float("inf")
        assert all(amount > 0 for amount in (*task.used.values(), *task.asked.values()))
    assert [task.started_at for task in log.tasks] == sorted(task.started_at for task in log.tasks)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs") / "log"


@given(st.binary(max_size=200), st.sampled_from(sorted(EVERY)))
def test_any_bytes(place: Path, data: bytes, seed: str) -> None:
    answer(place, data)
    answer(place, EVERY[seed].splitlines(keepends=True)[0].encode() + data)


@settings(max_examples=400)
@given(st.sampled_from(sorted(EVERY)), st.randoms(use_true_random=False))
def test_bytes_changed(place: Path, seed: str, chance: random.Random) -> None:
    changed = bytearray(EVERY[seed].encode())
    for _ in range(chance.randint(1, 4)):
        where = chance.randrange(len(changed))
        match chance.randrange(3):
            case 0:
                changed[where] = chance.randrange(256)
            case 1:
                del changed[where : where + chance.randint(1, 30)]
            case _:
                changed[where:where] = chance.choice([b",", b"\t", b"-1", b"1e300", b"{", b'"', b"\n", b" -- ", b"nan"])
        if not changed:
            break
    answer(place, bytes(changed))


CELLS = st.sampled_from(
    ["", "-", "0", "-5", "1e30", "1e-30", "inf", "1 GB", "3m 2s", "SUCCESS", "x", "2024-01-01", '"']
)


@given(st.sampled_from([NEXTFLOW_RAW, NEXTFLOW_HUMAN, WORK_QUEUE_CSV, KSEGMENTS, CCL_CSV]), st.data())
def test_cells_changed(place: Path, text: str, data: st.DataObject) -> None:
    lines = text.splitlines()
    mark = "\t" if "\t" in lines[0] else ","
    row = lines[1].split(mark)
    for _ in range(data.draw(st.integers(1, 3))):
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(CELLS)
    answer(place, "\n".join([lines[0], mark.join(row), *lines[2:]]).encode())


# --- the real ones ---

DATA = os.environ.get("HEADWAY_DATA")
real = pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the real logs are")


@real
@pytest.mark.parametrize(
    ("name", "tasks", "left_out", "categories"),
    [
        ("sizey-nextflow-traces/trace_chipseq.csv.gz", 2937, 1, 48),
        ("sizey-nextflow-traces/trace_eager.csv.gz", 1576, 0, 19),
        ("sizey-nextflow-traces/trace_methylseq.csv.gz", 1011, 72, 13),
        ("sizey-nextflow-traces/trace_rnaseq.csv.gz", 1308, 0, 54),
        ("ksegments-traces/tasks.csv.gz", 7102, 37, 45),
        ("ipdps2024-bucketing/colmena-xtb_whole.csv.gz", 1228, 0, 2),
        ("ipdps2024-bucketing/synthetic_exponential_max-xput.csv.gz", 999, 1, 1),
        ("ccl-task-resources/coffea_2021_txn.log.gz", 1884, 0, 3),
        ("ccl-task-resources/lobsterCMSsimulation.csv.gz", 30630, 0, 3),
        ("ccl-task-resources/bioblast.csv.gz", 7754, 0, 3),
        ("ccl-task-resources/colmena_2021_resources_all.txt.gz", 228, 0, 1),
    ],
)
def test_real_logs(name: str, tasks: int, left_out: int, categories: int) -> None:
    log = read_task_log(Path(DATA or "", name))
    assert (len(log.tasks), log.left_out) == (tasks, left_out)
    assert len({task.category for task in log.tasks}) == categories


@real
@pytest.mark.parametrize(
    ("table", "raw"),
    [
        ("colmena-xtb_whole", "colmena-xtb_whole.log"),
        ("colmena-xtb_max-seen", "colmena-xtb_max-seen.log"),
        *((f"synthetic_{name}_whole", f"synthetic_{name}_whole.txn.log") for name in ("normal", "trimodal")),
    ],
)
def test_a_raw_log_agrees_with_its_table(table: str, raw: str) -> None:
    folder = Path(DATA or "", "ipdps2024-bucketing")
    from_table, from_log = read_task_log(folder / f"{table}.csv.gz"), read_task_log(folder / "raw" / f"{raw}.gz")
    from_log.format = from_table.format
    assert from_log == from_table


@real
def test_figures_published_with_the_logs() -> None:
    """Figures in each log's SOURCE.md, computed from what was read."""
    folder = Path(DATA or "")
    bimodal = read_task_log(folder / "ipdps2024-bucketing/synthetic_bimodal_whole.csv.gz")
    assert max(task.used["memory_bytes"] for task in bimodal.tasks) == 18_443e6
    assert not any(task.asked for task in bimodal.tasks)
    coffea = read_task_log(folder / "ccl-task-resources/coffea_2021_attempts.csv.gz")
    wish = {"cores": 1.0, "memory_bytes": 4000e6, "disk_bytes": 5000e6}
    assert all(task.asked == wish for task in coffea.tasks)
    chipseq = read_task_log(folder / "sizey-nextflow-traces/trace_chipseq.csv.gz")
    allocated = sum(task.asked["memory_bytes"] * task.run_s for task in chipseq.tasks) / GIB / 3600
    assert allocated == pytest.approx(838, abs=1)
    assert sum(task.run_s == 0 for task in chipseq.tasks) == pytest.approx(322, abs=1)
    segments = read_task_log(folder / "ksegments-traces/tasks.csv.gz")
    assert all(
        max(task.profile, default=task.used["memory_bytes"]) == task.used["memory_bytes"] for task in segments.tasks
    )
