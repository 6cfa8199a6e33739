"""Logs that other tools write: what is read of them, what they are taken for, and sentences for what is wrong."""

from __future__ import annotations

import gzip
import json
import os
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.formats import sacct_json
from headway.formats.base import TaskLogFormat
from headway.formats.read_task_log import FORMATS, categorise, read_task_log, read_task_logs
from headway.model.errors import InputError
from headway.model.task_log import LoggedTask, TaskLog
from headway.testing import TaskLogFormatContract

MIB = 2.0**20
GIB = 2.0**30

BENCHMARK = """\
s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time
12.5\t0:00:12\t128.5\t134.88\t121.42\t121.86\t0.00\t0.00\t95.00\t11.9
0.1\t0:00:00\tNA\tNA\tNA\tNA\tNA\tNA\tNA\tNA
90061\t1 day, 1:01:01\t64\t134.88\t121.42\t121.86\t0.00\t0.00\t95.00\t11.9
"""
EXTENDED = (
    "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\tjobid\trule_name\twildcards\t"
    "params\tthreads\tcpu_usage\tresources\tinput_size_mb\n"
    "1.25\t0:00:01\t130.80\t134.88\t121.42\t121.86\t0.00\t0.00\t150.0\t0.10\t0\talign\t{'i': '0'}\t{}\t2\t0.00\t"
    "{'tmpdir': '/tmp', 'mem_mb': 60, 'runtime': 5, 'mem': '60 MB'}\t{'a': 1.5, 'b': 0.5}\n"
)
JSON_LINES = (
    '{"cpu_time": 0.06, "h:m:s": "0:00:01", "max_rss": 64.0, "mean_load": 80.0, "rule_name": "sort", "s": 1.5,'
    ' "threads": 4, "resources": {"mem_mb": 500}, "input_size_mb": {"x": 2}}\n'
)
SACCT = """\
JobID|JobName|Comment|State|Start|ElapsedRaw|Timelimit|TotalCPU|NNodes|NCPUS|NTasks|ReqMem|MaxRSS
7|nf-ALIGN_(s_1)||COMPLETED|2026-11-15T19:15:09|100|01:00:00|00:03:20|1|4||8Gn|
7.batch|batch||COMPLETED|2026-11-15T19:15:09|100||00:00.009|1|4|1||10956K
7.extern|extern||COMPLETED|2026-11-15T19:15:09|100||00:00.009|1|4|1||0
7.0|python3||COMPLETED|2026-11-15T19:15:09|100||00:00.149|1|4|1||1.5G
8|x|rule_sort_wildcards_a|COMPLETED|2026-11-15T19:15:08|50|UNLIMITED|00:10:00|2|8||1Gc|
8.0|mpi||COMPLETED|2026-11-15T19:15:08|50||00:10:00|2|8|4||100M
9|plain|rule|CANCELLED by 1000|2026-11-15T19:15:08|50|1-00:00:00|00:10|1|1||4G|
9.batch|batch||CANCELLED|2026-11-15T19:15:08|50||00:10|1|1|1||100M
10_3|array||COMPLETED|Unknown|5|INVALID|00:10|1|1||0|
10_3.batch|batch||COMPLETED|Unknown|5||00:10|1|1|1||3000K
"""
REPORTSEFF = """\
         JobID      State       Elapsed  TimeEff   CPUEff   MemEff    JobName   ReqMem
      24371789  COMPLETED      03:08:03   71.2%    98.4%     50.0%      align       4G
      24371790     FAILED      00:00:03   71.2%    98.4%     10.0%      align       4G
      24371791  COMPLETED      00:10:00   71.2%    98.4%       ---      align       4G
"""
SEFF = """\
Job ID: 12347496
Cluster: teton
User/Group: u/g
State: COMPLETED (exit code 0)
Nodes: 1
Cores per node: 40
CPU Utilized: 3-23:17:34
CPU Efficiency: 99.25% of 4-00:00:40 core-walltime
Job Wall-clock time: 02:24:01
Memory Utilized: 102.99 MB
Memory Efficiency: 0.13% of 80.00 GB

Job ID: 12347497
State: FAILED (exit code 1)
Job Wall-clock time: 00:00:01
Memory Utilized: 1.00 GB
Memory Efficiency: 25.00% of 4.00 GB (4.00 GB/node)
"""
REPORT = (
    ",JobID,JobName,RuleName,Elapsed,TotalCPU,NNodes,NCPUS,MaxRSS,ReqMem,Elapsed_sec,TotalCPU_sec,MaxRSS_MB,"
    "RequestedMem_MB,MainJobID,CPU Efficiency (%),Memory Usage (%)\n"
    "2,1.0,python3,rule_align,00:00:04,00:00.149,1,2,72036K,,4.0,2.0,70.5,600.0,1,3.72,11.72\n"
    "3,1.1,python3,rule_align,00:00:02,00:00.149,1,2,72036K,,2.0,1.0,80.5,600.0,1,3.72,11.72\n"
    "5,2.0,python3,,00:00:04,00:00.209,1,1,130796K,,4.0,0.2,127.5,600.0,2,5.225,21.29\n"
)


def sacct_document(**changes: Any) -> dict[str, Any]:
    """A document as Slurm 23.11 writes it: states are lists, numbers are objects."""
    job = {
        "job_id": 5,
        "name": "align",
        "comment": {"job": ""},
        "allocation_nodes": 1,
        "state": {"current": ["COMPLETED"]},
        "required": {
            "CPUs": 2,
            "memory_per_cpu": {"set": True, "infinite": False, "number": 512},
            "memory_per_node": {"set": False, "infinite": False, "number": 0},
        },
        "time": {"elapsed": 60, "start": 1794770108, "limit": {"set": True, "infinite": False, "number": 10}},
        "steps": [
            {
                "tasks": {"count": 1},
                "time": {"total": {"seconds": 90, "microseconds": 0}},
                "tres": {"requested": {"max": [{"type": "cpu", "count": 1}, {"type": "mem", "count": 3_000_000}]}},
            }
        ],
    } | changes
    return {"jobs": [job], "meta": {"slurm": {}}, "errors": []}


SACCT_JSON = json.dumps(sacct_document(), indent=2)
EVERY = {
    "snakemake-benchmark": (EXTENDED, JSON_LINES, BENCHMARK),
    "sacct": (SACCT, REPORTSEFF),
    "sacct-json": (SACCT_JSON,),
    "seff": (SEFF,),
    "snakemake-slurm": (REPORT,),
}


def read(directory: Path, text: str, name: str = "log.txt") -> TaskLog:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return read_task_log(path)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in EVERY.items() for text in texts])
def test_content_says_which_format_a_file_has(tmp_path: Path, name: str, text: str) -> None:
    assert read(tmp_path, text, "anything").format == name
    (tmp_path / "packed").write_bytes(gzip.compress(b"\xef\xbb\xbf\n \n" + text.replace("\n", "\r\n").encode()))
    assert read_task_log(tmp_path / "packed").format == name


# --- Snakemake ---


def test_a_short_benchmark_file(tmp_path: Path) -> None:
    log = read(tmp_path, BENCHMARK, "benchmarks/align/s1.tsv")
    first, second = log.tasks
    assert (first.category, first.run_s) == ("align", 12.5), "the directory names the rule"
    assert first.used == {"memory_bytes": 128.5 * MIB, "cores": 0.95}
    assert second.run_s == 90061
    assert log.left_out == 1, "a job that was too short to be measured"
    assert read(tmp_path, BENCHMARK, "benchmarks/s1.align.benchmark.txt").tasks[0].category == "s1.align"


def test_an_extended_benchmark_file(tmp_path: Path) -> None:
    (task,) = read(tmp_path, EXTENDED).tasks
    assert task.category == "align"
    assert task.used == {"memory_bytes": pytest.approx(130.8 * MIB), "cores": 1.5}
    assert task.asked == {"memory_bytes": 60e6, "cores": 2.0, "walltime_s": 300.0}
    assert task.input_bytes == 2 * MIB


def test_benchmark_files_as_json(tmp_path: Path) -> None:
    (task,) = read(tmp_path, JSON_LINES).tasks
    assert (task.category, task.run_s) == ("sort", 1.5)
    assert task.used == {"memory_bytes": 64 * MIB, "cores": 0.8}
    assert task.asked == {"memory_bytes": 500e6, "cores": 4.0}


def test_a_directory_of_benchmark_files_is_one_log(tmp_path: Path) -> None:
    for rule in ("sort", "align"):
        for sample in ("s1", "s2"):
            read(tmp_path, BENCHMARK, f"bench/{rule}/{sample}.tsv")
    (tmp_path / "bench" / "notes").write_text("nothing of the kind")
    (tmp_path / "bench" / "binary").write_bytes(b"\xff\xfe")
    log = read_task_log(tmp_path / "bench")
    assert [task.category for task in log.tasks] == ["align"] * 4 + ["sort"] * 4
    assert (log.name, log.format, log.left_out) == ("bench", "snakemake-benchmark", 4)


def test_the_report_of_the_slurm_plugin(tmp_path: Path) -> None:
    first, second = read(tmp_path, REPORT).tasks
    assert (first.category, first.run_s) == ("align", 4.0)
    assert first.used == {"memory_bytes": 80.5 * MIB, "cores": 0.75}, "of several steps the highest peak"
    assert first.asked == {"memory_bytes": 600 * MIB, "cores": 2.0}
    assert second.category == "python3", "a job of no rule"


# --- Slurm ---


def test_sacct(tmp_path: Path) -> None:
    log = read(tmp_path, SACCT)
    array, sort, align = log.tasks
    assert (align.id, align.category, align.name, align.run_s) == ("7", "ALIGN", "nf-ALIGN_(s_1)", 100)
    assert align.used == {"memory_bytes": 1.5 * GIB, "cores": 2.0}, "the peak of the largest step"
    assert align.asked == {"memory_bytes": 8 * GIB, "cores": 4.0, "walltime_s": 3600.0}
    assert (sort.category, sort.name) == ("sort", "rule_sort_wildcards_a")
    assert sort.used["memory_bytes"] == 2 * 100 * MIB, "two of its four tasks were on a node"
    assert sort.asked == {"memory_bytes": 4 * GIB, "cores": 4.0}, "a GB for each of four cores of a node"
    assert (array.category, array.asked) == ("array", {"cores": 1.0}), "0 is all memory of the node"
    assert log.left_out == 1


def test_sacct_with_a_mark_at_the_end_of_lines(tmp_path: Path) -> None:
    plain = read(tmp_path, SACCT)
    assert read(tmp_path, SACCT.replace("\n", "|\n")) == plain
    assert read(tmp_path, SACCT + SACCT).tasks == plain.tasks, "two dumps in one file"


def test_reportseff(tmp_path: Path) -> None:
    log = read(tmp_path, REPORTSEFF)
    (task,) = log.tasks
    assert (task.category, task.run_s, log.left_out) == ("align", 11283.0, 2)
    assert task.used["memory_bytes"] == 2 * GIB, "half of what it asked for"


def test_seff(tmp_path: Path) -> None:
    log = read(tmp_path, SEFF)
    (task,) = log.tasks
    assert (task.id, task.category, task.run_s, log.left_out) == ("12347496", "job", 8641.0, 1)
    assert task.used["memory_bytes"] == pytest.approx(102.99 * MIB)
    assert task.asked == {"memory_bytes": 80 * GIB, "cores": 40.0}


def test_sacct_as_json(tmp_path: Path) -> None:
    (task,) = read(tmp_path, SACCT_JSON).tasks
    assert task == LoggedTask(
        "5",
        "align",
        60.0,
        {"memory_bytes": 3e6, "cores": 1.5},
        {"memory_bytes": 2 * 512 * MIB, "cores": 2.0, "walltime_s": 600.0},
        started_at=1794770108.0,
    )
    old = sacct_document(required={"CPUs": 2, "memory": 2**63 + 512}, state={"current": "COMPLETED"})
    assert read(tmp_path, json.dumps(old)).tasks[0].asked["memory_bytes"] == 2 * 512 * MIB
    node = sacct_document(required={"CPUs": 2, "memory": 600})
    assert read(tmp_path, json.dumps(node, indent=1)).tasks[0].asked["memory_bytes"] == 600 * MIB


def test_json_is_read_job_by_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sacct_json, "_BLOCK", 50)
    document = sacct_document()
    document["jobs"] = [document["jobs"][0] | {"job_id": number} for number in range(1, 21)]
    log = read(tmp_path, json.dumps(document, indent=1))
    assert [task.id for task in log.tasks] == [str(number) for number in range(1, 21)]


def test_a_large_json_document_is_not_held() -> None:
    """Held are the tasks, and one job of the document at a time."""
    entry = json.dumps(sacct_document()["jobs"][0] | {"filler": "x" * 16_000}, indent=1)
    jobs = 300

    def lines() -> Iterator[str]:
        yield '{ "jobs": ['
        for number in range(1, jobs + 1):
            yield from entry.replace('"job_id": 5', f'"job_id": {number}').splitlines(keepends=True)
            yield "," if number < jobs else "]}"

    tracemalloc.start()
    log = sacct_json.read(lines(), "x", "x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(log.tasks) == jobs
    assert peak < 2e6 < jobs * len(entry) / 2


def test_json_that_is_cut_off(tmp_path: Path) -> None:
    cut = SACCT_JSON[: SACCT_JSON.index('"tres"')]
    with pytest.raises(InputError, match=r'log\.txt:3: this entry of "jobs" is cut off or no JSON'):
        read(tmp_path, cut)
    with pytest.raises(InputError, match=r'there is no list "jobs"; make it with: sacct --json; it was read as'):
        read(tmp_path, '{\n"meta": {"Slurm": 1}\n}\n')


# --- categories ---


def test_categories_by_a_pattern(tmp_path: Path) -> None:
    log = read(tmp_path, SACCT)
    categorise(log, re.compile(r"_\((\w)_(\d)\)|wildcards_(.*)"))
    assert [task.category for task in log.tasks] == ["array", "a", "s 1"], "without a match it is as it was"
    categorise(log, re.compile(r"ALIGN|array"))
    assert [task.category for task in log.tasks] == ["array", "a", "ALIGN"]


def test_several_logs_as_one(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt"):
        read(tmp_path, SACCT, name)
    read(tmp_path, JSON_LINES, "c.txt")
    log = read_task_logs([tmp_path / "b.txt", tmp_path / "a.txt"])
    assert [task.id for task in log.tasks] == ["10_3", "8", "7"] * 2
    assert (log.name, log.left_out, log.format) == ("b and 1 more", 2, "sacct")
    assert read_task_logs([tmp_path / "a.txt", tmp_path / "c.txt"]).format == ""


# --- what is wrong ---

WRONG: dict[str, tuple[str, str]] = {
    "no peaks": (
        "JobID|JobName|State|ElapsedRaw\n1|a|COMPLETED|5\n",
        "log.txt:1: this dump of sacct has no column MaxRSS; make it with: sacct -P --format=JobID,",
    ),
    "no times": ("JobID|JobName|State|MaxRSS\n1|a|COMPLETED|5K\n", "no column ElapsedRaw; make it with: sacct -P"),
    "without steps": (
        "JobID|JobName|State|ElapsedRaw|MaxRSS\n1|a|COMPLETED|5|\n",
        "no job in this dump has a memory measurement; the peaks are on the lines of job steps, which -X leaves out",
    ),
    "no header": ("12_3.batch|a|COMPLETED\n", "log.txt:1: this dump of sacct has no line that names its columns"),
    "blanks": ("       JobID    JobName\n------------ ----------\n1  a\n", "log.txt:1: the columns are not separated"),
    "no requests": ("JobID State Elapsed MemEff\n1 COMPLETED 00:01 5%\n", "has no column ReqMem; make it with: "),
    "a name with |": (SACCT.replace("array", "ar|ray"), "log.txt:10: this line has 14 fields, but the header has 13"),
    "negative memory": (SACCT.replace("|1.5G", "|-5K"), "log.txt:5: MaxRSS is '-5K', not an amount of memory: it is"),
    "negative time": (BENCHMARK.replace("12.5", "-1"), "log.txt:2: s is '-1', not a length of time: it is negative"),
    "absurd memory": (BENCHMARK.replace("128.5", "9e30"), "log.txt:2: max_rss is '9e30', more memory than any machine"),
    "a petabyte": (SACCT.replace("1.5G", "5000T"), "MaxRSS is '5000T', more memory than any machine has"),
    "a long time": (BENCHMARK.replace("12.5", "9" * 12), "log.txt:2: s is '999999999999', longer than ten years"),
    "a comma": (BENCHMARK.replace("128.5", "128,5"), "max_rss is '128,5', not an amount of memory; write it with"),
    "cut off": (JSON_LINES + JSON_LINES[:50], "log.txt:2: this line is no JSON"),
    "in JSON": (json.dumps(sacct_document(time={"elapsed": -3})), "log.txt:1: time.elapsed is -3, which cannot be"),
    "no state": (SACCT.replace("COMPLETED", "FAILED"), "no task in this log succeeded and has a memory measurement"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_errors_are_one_sentence_that_says_what_the_file_was_taken_for(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as problem:
        read(tmp_path, text)
    sentence = str(problem.value)
    assert words in sentence
    assert "it was read as" in sentence
    assert "since its first line " in sentence or "since it begins as JSON" in sentence
    assert "\n" not in sentence


def test_few_bad_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    header, row = BENCHMARK.splitlines(keepends=True)[:2]
    log = read(tmp_path, header + row * 50 + row.replace("128.5", "-1") + row[:9])
    assert (len(log.tasks), log.left_out, log.bad_rows) == (50, 2, 2), "one is negative, one is cut off"
    assert log.first_bad.startswith(f"{tmp_path / 'log.txt'}:52: max_rss is '-1', not an amount of memory")


class _Contract(TaskLogFormatContract):
    format: str

    def make(self) -> TaskLogFormat:
        return FORMATS[self.format]

    def example(self) -> str:
        return EVERY[self.format][0]


class TestSnakemakeBenchmark(_Contract):
    format = "snakemake-benchmark"


class TestSacct(_Contract):
    format = "sacct"


class TestSeff(_Contract):
    format = "seff"


class TestSlurmReport(_Contract):
    format = "snakemake-slurm"


class TestSacctJson(_Contract):
    format = "sacct-json"

    def example(self) -> str:
        return json.dumps(sacct_document())


CELLS = st.sampled_from(
    ["", "-", "0", "-5", "1e30", "inf", "nan", "1 GB", "3m 2s", "COMPLETED", "x", '"', "4Gc", "1,5"]
)


@given(st.sampled_from([BENCHMARK, EXTENDED, SACCT, REPORT]), st.data())
def test_cells_changed(tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject) -> None:
    lines = text.splitlines()
    mark = next(mark for mark in ("\t", "|", ",") if mark in lines[0])
    row = lines[1].split(mark)
    for _ in range(data.draw(st.integers(1, 3))):
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(CELLS)
    path = tmp_path_factory.getbasetemp() / "changed"
    path.write_text("\n".join([lines[0], mark.join(row), *lines[2:]]))
    try:
        log = read_task_log(path)
    except InputError as problem:
        assert "\n" not in str(problem)
        return
    for task in log.tasks:
        assert task.run_s >= 0
        assert all(0 < amount < float("inf") for amount in (*task.used.values(), *task.asked.values()))


KEYS = st.sampled_from(["jobs", "time", "elapsed", "steps", "tres", "number", "set"])
VALUES = st.none() | st.integers() | st.text(max_size=3)


@given(st.recursive(VALUES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner)))
def test_any_json(value: Any) -> None:
    for document in ({"jobs": value}, {"jobs": [value]}, sacct_document(time=value), sacct_document(steps=[value])):
        try:
            sacct_json.read(json.dumps(document, indent=1).splitlines(keepends=True), "x", "x")
        except InputError as problem:
            assert "\n" not in str(problem)


# --- the real ones ---

DATA = os.environ.get("HEADWAY_DATA")
real = pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the real logs are")


@real
@pytest.mark.parametrize(
    ("name", "kind", "tasks", "left_out", "categories"),
    [
        ("nextflow-trace-human.txt", "nextflow", 5, 7, ["ALIGN"]),
        ("snakemake-benchmark-extended.tsv", "snakemake-benchmark", 1, 0, ["part"]),
        ("snakemake-benchmark.jsonl", "snakemake-benchmark", 1, 0, ["a"]),
        ("snakemake-slurm-efficiency.csv", "snakemake-slurm", 4, 0, ["align", "python3"]),
        ("sacct-mem.txt", "sacct", 4, 2, ["align", "nostep"]),
        ("sacct.json", "sacct-json", 4, 2, ["align", "nostep"]),
    ],
)
def test_real_logs(name: str, kind: str, tasks: int, left_out: int, categories: list[str]) -> None:
    log = read_task_log(Path(DATA or "", "workflow-tool-logs", name))
    assert (log.format, len(log.tasks), log.left_out) == (kind, tasks, left_out)
    assert sorted({task.category for task in log.tasks}) == categories


@real
def test_two_forms_of_the_same_accounting_agree() -> None:
    folder = Path(DATA or "", "workflow-tool-logs")
    table, document = read_task_log(folder / "sacct-mem.txt"), read_task_log(folder / "sacct.json")
    for one, other in zip(table.tasks, document.tasks, strict=True):
        assert (one.id, one.category, one.run_s) == (other.id, other.category, other.run_s)
        assert one.used["memory_bytes"] == other.used["memory_bytes"]
        assert one.asked["memory_bytes"] == other.asked["memory_bytes"]


@real
@pytest.mark.parametrize(
    ("name", "rows", "categories"),
    [("ampliseq", 144, 55), ("nanoseq", 617, 22), ("sarek", 114, 27), ("viralrecon", 692, 81)],
)
def test_real_traces_with_semicolons(name: str, rows: int, categories: int) -> None:
    """One row of ampliseq has semicolons in its tag."""
    for run in (1, 2, 3):
        log = read_task_log(Path(DATA or "", "cws-nextflow-runs", f"{name}_{run}.csv.gz"))
        assert (len(log.tasks) + log.left_out, log.bad_rows) == (rows, 0)
        assert len({task.category for task in log.tasks}) == categories
