"""`headway simulate` as users meet it: the table, the JSON, the files, and one sentence for every mistake."""

from __future__ import annotations

import gzip
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.api.whole_files import write_whole
from headway.model.errors import SiteError
from tests.cli.bench import Bench

# Five jobs on four nodes: number, submission, -, run, nodes, …, nodes, request.
FIVE = [(0, 100, 2, 100), (10, 50, 4, 50), (20, 30, 2, 30), (30, 5, 1, 5), (40, 60, 3, 60)]
HEAD = "; UnixStartTime: 843480000\n; TimeZoneString: Europe/Stockholm\n; MaxProcs: 4\n"


def trace(bench: Bench, name: str = "five.swf", head: str = HEAD) -> str:
    lines = [
        f"{number} {submit} -1 {run} {nodes} -1 -1 {nodes} {request} -1 1 1 1 -1 -1 -1 -1 -1"
        for number, (submit, run, nodes, request) in enumerate(FIVE, start=1)
    ]
    bench.write(head + "\n".join(lines) + "\n", name)
    return name


def starts(bench: Bench, *args: str) -> list[int]:
    bench.succeeds("simulate", trace(bench), "--starts", "starts.csv", "--force", *args)
    lines = (bench.directory / "starts.csv").read_text().splitlines()
    assert lines[0] == "job,submit,nodes,req,run,start"
    assert [line.rpartition(",")[0] for line in lines[1:]] == [
        f"{number},{submit},{nodes},{request},{run}" for number, (submit, run, nodes, request) in enumerate(FIVE, 1)
    ]
    return [int(line.rpartition(",")[2]) for line in lines[1:]]


def test_each_kind_of_backfilling_by_hand(bench: Bench) -> None:
    """Job 2 needs the whole machine at 100. Jobs 3 and 4 are over by then and may overtake it."""
    assert starts(bench, "--backfill", "fcfs") == [0, 100, 150, 150, 180]
    assert starts(bench) == [0, 100, 20, 50, 150]
    assert starts(bench, "--backfill", "conservative") == [0, 100, 20, 50, 150]
    assert starts(bench, "--backfill", "easy", "--depth", "3") == [0, 100, 20, 50, 150]


def test_the_table(bench: Bench) -> None:
    lines = bench.succeeds("simulate", trace(bench), "--backfill", "fcfs").splitlines()
    assert lines[0] == (
        "five: 5 jobs on 4 nodes in 4m 00s; first come, first served, rules of pyss, nodes only counted, "
        "requests as logged"
    )
    assert lines[2] == "jobs wait 1m 36s on average, 20% start at once, and the machine is 67% busy"
    assert "wait      median 2m 00s, 90% within 2m 16s, longest 2m 20s" in lines
    assert "busy      67% of the machine up to the last end, 50% up to the last submission" in lines
    body = [" ".join(line.split()) for line in lines if line.startswith(("3-4 ", "all ", "12-16 "))]
    assert body == [
        "3-4 2 59% 0% 1m 55s 1m 55s 2m 15s 2m 20s 3.1",
        "all 5 100% 20% 1m 36s 2m 00s 2m 16s 2m 20s 5.0",
        "12-16 5 20% 1m 36s 5.0",
    ]
    assert lines[-1] == "hours of Europe/Stockholm"


@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_no_line_of_a_table_is_too_long(bench: Bench, columns: str) -> None:
    output = bench.succeeds("simulate", "lublin", "--jobs", "500", COLUMNS=columns)
    laid_out = output[output.index("\nnodes ") : output.index("mean wait, hour by hour")]
    assert all(len(line) <= int(columns) for line in laid_out.splitlines())
    assert output.splitlines()[-1] == "hours since the first submission"


def test_the_document(bench: Bench) -> None:
    document = bench.json("simulate", trace(bench), "--backfill", "fcfs")
    assert {name: document[name] for name in ("trace", "policy", "choices", "started_at", "name", "jobs")} == {
        "trace": "five.swf",
        "policy": {"backfill": "fcfs", "nodes": "counts", "rules": "pyss", "depth": 1},
        "choices": {
            "processors": "requested",
            "requests": "real",
            "cancelled": "drop",
            "overrun": "extend",
            "machine": None,
            "skip_bad": False,
        },
        "started_at": 843480000.0,
        "name": "five",
        "jobs": 5,
    }
    assert (document["machine"], document["span_s"], document["submissions_s"]) == (4, 240, 40)
    assert document["utilisation"] == pytest.approx(645 / 960)
    assert document["waits"]["wait_s"] == {"mean": 96, "median": 120, "p90": 136, "max": 140}
    assert document["waits"]["started_at_once"] == 0.2
    assert document["queue"] == {
        "mean_jobs": 2,
        "peak_jobs": 4,
        "mean_nodes": pytest.approx(1160 / 240),
        "peak_nodes": 10,
    }
    assert [(size["least_nodes"], size["most_nodes"]) for size in document["sizes"]] == [(1, 1), (2, 2), (3, 4)]
    assert [(hour["hour"], hour["waits"]["jobs"]) for hour in document["hours"]] == [(14, 5)]
    assert document["hours_are"] == "Europe/Stockholm"
    assert document["left_out"] == {}


def test_generated_jobs(bench: Bench) -> None:
    asked = ("simulate", "lublin", "--machine", "32", "--jobs", "300", "--load", "0.7", "--seed", "3")
    document = bench.json(*asked)
    assert (document["jobs"], document["machine"], document["started_at"]) == (300, 32, None)
    assert document["generated"] == {"machine": 32, "jobs": 300, "load": 0.7, "seed": 3, "requests": "real"}
    assert document == bench.json(*asked), "the same seed"
    assert document["waits"] != bench.json(*asked[:-1], "4")["waits"]
    assert bench.json("simulate", "lublin", "--jobs", "10")["machine"] == 128


def test_a_file_called_lublin(bench: Bench) -> None:
    trace(bench, "lublin")
    assert bench.json("simulate", "./lublin")["jobs"] == 5
    assert bench.json("simulate", "lublin", "--jobs", "7")["jobs"] == 7, "the word means the same everywhere"


def test_packed_starts_are_the_same_every_time(bench: Bench) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        bench.json("simulate", trace(bench), "--starts", name)
    first, second = ((bench.directory / name).read_bytes() for name in ("a.csv.gz", "b.csv.gz"))
    assert first == second
    assert gzip.decompress(first).decode().splitlines()[2] == "2,10,4,50,50,100"


def test_the_page(bench: Bench) -> None:
    done = bench("simulate", trace(bench), "--html", "queue.html", "--starts", "s.csv", "--window", "1996-09-23")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == ["wrote s.csv", "wrote queue.html"]
    html = (bench.directory / "queue.html").read_text()
    assert "Monday, 1996-09-23" in html
    assert html.count("<svg") == 8
    assert sorted(path.name for path in bench.directory.iterdir()) == ["five.swf", "queue.html", "s.csv"]


def test_a_log_without_a_date(bench: Bench) -> None:
    name = trace(bench, head="; MaxProcs: 4\n")
    assert bench.succeeds("simulate", name).splitlines()[-1] == "hours since the first submission"
    assert bench.json("simulate", name)["hours_are"] == "since the first submission"
    assert "has no dates" in bench.fails(2, "simulate", name, "--html", "a.html", "--window", "1996-09-23")
    bench.succeeds("simulate", name, "--html", "a.html", "--window", "50s..2m")


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["--depth", "2", "--backfill", "fcfs"], "--depth: only --backfill easy has a depth; leave it out"),
        (["--window", "1d"], "--window: this is for the page, and none is asked for; add --html FILE"),
        (["--load", "0.5"], "--load: this is for jobs that are made up (lublin), and this is a log; leave it out"),
        (["--jobs", "5"], "--jobs: this is for jobs that are made up"),
        (["--seed", "0"], "--seed: this is for jobs that are made up"),
        (["--html", "no/such/a.html"], "no/such: there is no such folder; make it, or name another FILE"),
        (["--starts", "five.swf"], "five.swf: this file exists; --force overwrites it"),
        (["--starts", "five.swf", "--force"], "five.swf: two of the files are the same; name another FILE"),
        (["--starts", "a", "--html", "./a"], "a: two of the files are the same; name another FILE"),
        (["--html", "a.html", "--window", "soon"], "--window: 'soon' is not a time; write a day as 2024-03-01"),
        (["--html", "a.html", "--window", "2003-01-01"], "--window: there are no jobs in this time span; the schedule"),
        (["--machine", "3"], "five.swf:5: job 2 wants 4 processors, and the machine has 3"),
        (["--machine", "0"], "invalid value for '--machine'"),
        (["--backfill", "easier"], "invalid value for '--backfill'"),
        (["more"], "got unexpected extra argument"),
    ],
)
def test_mistakes(bench: Bench, args: list[str], error: str) -> None:
    name = trace(bench)
    before = (bench.directory / name).read_bytes()
    assert bench.fails(2, "simulate", name, *args).startswith(f"headway: {error}")
    assert (bench.directory / name).read_bytes() == before
    assert [path.name for path in bench.directory.iterdir()] == [name]


@pytest.mark.parametrize("option", ["--processors=allocated", "--cancelled=drop", "--overrun=kill", "--skip-bad"])
def test_options_that_only_logs_have(bench: Bench, option: str) -> None:
    name = option.partition("=")[0]
    error = bench.fails(2, "simulate", "lublin", option)
    assert error == f"headway: {name}: this is for logs, and lublin is none; leave it out\n"


def test_files_that_are_not_batch_logs(bench: Bench) -> None:
    assert "missing.swf: this file does not exist" in bench.fails(2, "simulate", "missing.swf")
    bench.write("task,hash\n", "other.csv")
    assert "this is not a batch log in a known format" in bench.fails(2, "simulate", "other.csv")
    bench.write("", "empty.swf")
    assert "this file is empty" in bench.fails(2, "simulate", "empty.swf")
    assert "no jobs make a load of 0" in bench.fails(2, "simulate", "lublin", "--load", "0")


def test_escape_sequences_in_names_are_removed(bench: Bench) -> None:
    name = trace(bench, "a\x1b[31mb.swf")
    assert "\x1b" not in bench.succeeds("simulate", name)


# --- files are whole or not there ---


def stopped_after(line: str) -> Iterator[str]:
    yield line
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_ctrl_c_while_writing_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, stopped_after("half\n" * 100_000))
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, stopped_after("half\n" * 100_000))
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_symbolic_link_stays_one_and_errors_are_reported(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "link", ["text\n"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "text\n"
    with pytest.raises(SiteError, match="cannot write this"):
        write_whole(tmp_path / "nowhere" / "a", ["text\n"])


def test_ctrl_c_while_simulating(bench: Bench) -> None:
    """On a terminal: there is a bar, and after Ctrl-C no file, no traceback and no hidden cursor."""
    args = ["simulate", "lublin", "--jobs", "3000000", "--load", "0.9"]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "headway", *args, "--starts", "starts.csv", "--html", "a.html"],
        cwd=bench.directory,
        env=bench.environment | {"TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while b"%" not in seen:
        seen += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    while True:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
    assert process.wait(60) == 130
    assert process.stdout is not None
    assert process.stdout.read() == b""
    process.stdout.close()
    os.close(ours)
    assert b"Traceback" not in seen
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l"), "the cursor is back"
    assert list(bench.directory.iterdir()) == []


# --- real logs ---

DATA = os.environ.get("HEADWAY_DATA")
real = pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the real logs are")


@real
@pytest.mark.parametrize(("requests", "accurate"), [("real", []), ("acc", ["--requests", "accurate"])])
@pytest.mark.parametrize(
    ("reference", "args"),
    [
        ("pyss_fcfs", ["--backfill", "fcfs"]),
        ("pyss_easy", []),
        ("pyss_cons", ["--backfill", "conservative"]),
        ("batsched_easy_bf_basic", ["--rules", "batsched", "--nodes", "ids"]),
        ("batsched_conservative_bf_basic", ["--rules", "batsched", "--nodes", "ids", "--backfill", "conservative"]),
        (
            "batsched_conservative_bf_contiguous",
            ["--rules", "batsched", "--nodes", "contiguous", "--backfill", "conservative"],
        ),
    ],
)
def test_every_start_equals_that_of_a_reference_simulator(
    bench: Bench, requests: str, accurate: list[str], reference: str, args: list[str]
) -> None:
    """28,475 jobs; the others give a second to the eight that never ran."""
    log = Path(DATA or "", "pwa-swf", "KTH-SP2-1996-2.1-cln.swf.gz")
    theirs = Path(DATA or "", "reference-schedules", f"kth_{requests}_{reference}.csv.gz")
    same = ("--cancelled", "one-second", "--starts", "s.csv.gz")
    document = bench.json("simulate", str(log), *same, *args, *accurate)
    with gzip.open(bench.directory / "s.csv.gz") as ours, gzip.open(theirs) as expected:
        different = [(mine, his) for mine, his in zip(ours, expected, strict=True) if mine.strip() != his.strip()]
    assert different[:5] == []
    assert document["jobs"] == 28_475
    assert document["left_out"] == {"no processors": 1}
