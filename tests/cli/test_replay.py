"""`headway replay` as users meet it: the table, the JSON, and one sentence for every mistake."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headway.drivers.assemble import sizers
from headway.report.replay_table import ResourceCost, SizerCost, best_first, verdict
from tests.cli.bench import Bench

GIB = 1024**3
HOUR_MS = 3_600_000


def trace(bench: Bench, name: str = "trace.csv", asked: str = "8 GB", tasks: int = 3) -> str:
    """Tasks of an hour each that use 2 GiB of the 8 that they asked for."""
    rows = [f"{number},align,{number},{HOUR_MS},{2 * GIB},{asked}" for number in range(1, tasks + 1)]
    bench.write("\n".join(["task_id,process,start,realtime,peak_rss,memory", *rows]), name)
    return name


RECORDS = "category,cores,memory,disk,cpu_time,wall_time\n" + "fit,1,900,100,3600,3600\n" * 4


def test_the_table(bench: Bench) -> None:
    output = bench.succeeds("replay", trace(bench), "--sizers", "user,whole-machine")
    lines = output.splitlines()
    assert lines[0] == "trace: 3 tasks of one category; up to 32 cores, 128 GB memory; attempts fail at their end"
    body = [line.split() for line in lines if line.startswith(("user", "whole-machine", "asked"))]
    assert body[0] == ["user", "1.00", "25%", "19.3", "0"], "the best first"
    assert body[1] == ["whole-machine", "1.00", "2%", "378", "0"]
    assert body[2] == ["asked", "1.00", "25%", "19.3", "0"]
    assert lines[-2] == "user wastes least: 19.3 GB·h of memory, 0 GB·h (0%) less than what was asked for"


def test_the_document(bench: Bench) -> None:
    document = bench.json("replay", trace(bench), "--sizers", "user", "--lag", "2", "--seed", "5", "--ttf", "0.5")
    waste = 3 * 6 * GIB / 1e9
    figures = {"awe": 0.25, "maq": 0.25, "waste": pytest.approx(waste), "failed": 0, "unit": "GB·h"}
    assert document == {
        "log": "trace.csv",
        "tasks": 3,
        "left_out": 0,
        "bad_rows": 0,
        "first_bad_row": "",
        "format": "nextflow",
        "machine": {"cores": 32, "memory_bytes": 128_000_000_000, "disk_bytes": 0},
        "lag": 2,
        "ttf": 0.5,
        "failures": 0.03,
        "seed": 5,
        "sizers": {"user": {"memory": figures}, "asked": {"memory": figures}},
        "attempts": {"user": 3, "asked": 3},
        "impossible": {"user": 0, "asked": 0},
    }


def test_all_resources_and_failures(bench: Bench) -> None:
    """`user` knows nothing and starts with a core and a GB of each; on half a GB of memory nothing can succeed."""
    bench.write(RECORDS, "records.csv")
    enough = bench.json("replay", "records.csv", "--sizers", "user")["sizers"]
    assert set(enough) == {"user"}, "nobody asked for anything"
    assert enough["user"]["memory"]["waste"] == pytest.approx(0.4)
    assert enough["user"]["disk"]["waste"] == pytest.approx(3.6)
    assert enough["user"]["cores"] == {"awe": 1.0, "maq": 1.0, "waste": 0, "failed": 0, "unit": "core·h"}
    small = bench.json("replay", "records.csv", "--sizers", "user", "--machine", "2 cores, 500 MB, 1 GB")
    assert small["impossible"] == {"user": 4}
    assert small["sizers"]["user"]["memory"] == {
        "awe": 0,
        "maq": 0,
        "waste": pytest.approx(2.0),
        "failed": 4,
        "unit": "GB·h",
    }
    assert "4 tasks would need a larger machine" in bench.succeeds("replay", "records.csv", "--machine", "500 MB")


def test_leaving_tasks_unfinished_saves_nothing() -> None:
    def cost(name: str, impossible: int, waste: float) -> SizerCost:
        return SizerCost(name, 9, 9, impossible, {"memory": ResourceCost(0.5, 0.5, waste, 0, "GB·h")})

    costs = [cost("gives up", 1, 10.0), cost("greedy", 0, 30.0), cost("frugal", 0, 20.0)]
    assert [best.name for best in best_first(costs)] == ["frugal", "greedy", "gives up"]
    asked = cost("asked", 0, 15.0)
    assert verdict(costs, asked) == (
        "frugal wastes least: 20 GB·h of memory, 5 GB·h (33%) more than what was asked for"
    )


def test_by_default_every_sizer(bench: Bench) -> None:
    assert set(bench.json("replay", trace(bench))["sizers"]) == {*sizers(), "asked"}


def test_several_logs(bench: Bench) -> None:
    bench.write(RECORDS, "records.csv")
    args = ("replay", trace(bench), "records.csv", "--sizers", "user,whole-machine")
    documents = bench.json(*args)
    assert [document["log"] for document in documents] == ["trace.csv", "records.csv"]
    summary = bench.succeeds(*args).partition("all 2 logs")[2].splitlines()
    user, whole = (next(line.split() for line in summary if line.startswith(name)) for name in ("user", "whole"))
    assert user[:3] == ["user", "1.00", "19.7"]
    # 378 : 19.3 on the one, 252.4 : 0.4 on the other; the geometric mean of both
    assert whole[:3] == ["whole-machine", "111.02", "630"]


def test_runs_of_one_pipeline_learn_from_each_other(bench: Bench) -> None:
    runs = [trace(bench, f"run_{number}.csv", tasks=20) for number in (1, 2)]
    alone, apart = bench.json("replay", *runs, "--sizers", "max-seen")
    assert alone["sizers"] == apart["sizers"]
    first, second = bench.json("replay", *runs, "--together", "--sizers", "max-seen")
    assert first["sizers"] == alone["sizers"]
    assert second["sizers"]["max-seen"]["memory"]["waste"] < 0.6 * first["sizers"]["max-seen"]["memory"]["waste"]
    lines = bench.succeeds("replay", *runs, "--together", "--sizers", "max-seen,user").splitlines()
    assert lines[0].startswith("run_1: 20 tasks of one category")
    assert [line.split()[0] for line in lines if line.startswith(("max-seen", "user"))] == ["max-seen", "user"]


def test_what_a_lag_hides_is_known_in_the_next_run(bench: Bench) -> None:
    runs = [trace(bench, f"run_{number}.csv", tasks=5) for number in (1, 2)]
    first, second = bench.json("replay", *runs, "--together", "--sizers", "max-seen", "--lag", "100")
    assert second["sizers"]["max-seen"]["memory"]["waste"] < 0.6 * first["sizers"]["max-seen"]["memory"]["waste"]


def test_standard_input(bench: Bench) -> None:
    text = (bench.directory / trace(bench)).read_text()
    done = subprocess.run(
        [sys.executable, "-m", "headway", "replay", "-", "--sizers", "user", "--json"],
        input=text,
        text=True,
        capture_output=True,
        check=True,
        env=bench.environment,
    )
    assert '"tasks": 3' in done.stdout


def test_categories_from_names(bench: Bench) -> None:
    header = "JobID|JobName|State|ElapsedRaw|MaxRSS\n"
    rows = [f"{job}|{name}|COMPLETED|60|\n{job}.0|x|COMPLETED|60|500M\n" for job, name in enumerate(["a-1", "a-2"], 1)]
    bench.write(header + "".join(rows), "jobs.txt")
    args = ("replay", "jobs.txt", "--sizers", "user")
    assert "2 tasks of 2 categories" in bench.succeeds(*args)
    assert "2 tasks of one category" in bench.succeeds(*args, "--category-from", "^([^-]+)-")
    assert bench.json(*args, "--category-from", "^([^-]+)-", "--category", "a")["tasks"] == 2
    error = bench.fails(2, *args, "--category-from", "(")
    assert error.startswith("headway: --category-from: '(' is no regular expression (")


def test_rows_that_cannot_be_read_are_said(bench: Bench) -> None:
    trace(bench, tasks=100)
    path = bench.directory / "trace.csv"
    path.write_text(path.read_text().replace(f"7,align,7,{HOUR_MS}", "7,align,7,-1"))
    assert bench.succeeds("replay", "trace.csv", "--sizers", "user").startswith(
        "1 row that cannot be read left out; the first: trace.csv:8: realtime is '-1', not a length of time: it is"
    )
    document = bench.json("replay", "trace.csv", "--sizers", "user")
    assert (document["tasks"], document["left_out"], document["bad_rows"]) == (99, 1, 1)


def test_when_attempts_fail(bench: Bench) -> None:
    name = trace(bench, asked="-")
    whole, half = (
        bench.json("replay", name, "--sizers", "user", "--ttf", ttf)["sizers"]["user"]["memory"]
        for ttf in ("end", "0.5")
    )
    # 1 GB and 2 GB fail, 4 GB suffice.
    assert (whole["failed"], half["failed"]) == (6, 6)
    assert whole["waste"] - half["waste"] == pytest.approx(3 * 0.5 * 3)


def test_only_some_categories(bench: Bench) -> None:
    bench.write(RECORDS + "plot,1,900,100,3600,3600\n", "records.csv")
    assert bench.json("replay", "records.csv", "--sizers", "user", "--category", "pl*")["tasks"] == 1
    error = bench.fails(2, "replay", "records.csv", "--category", "plo")
    assert error == "headway: records.csv: no category is called 'plo'; did you mean 'plot'?\n"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["--sizers", "maxseen"], "--sizers: there is no sizer called 'maxseen'; did you mean 'max-seen'?"),
        (["--sizers", ","], "--sizers: no sizer is named; write for example --sizers max-seen,user"),
        (["--ttf", "0"], "--ttf: '0' is no time to failure; write end, observed or 0.5 for example"),
        (["--ttf", "late"], "--ttf: 'late' is no time to failure; write end, observed or 0.5 for example"),
        (["--ttf", "observed"], "trace: this log does not say when attempts fail; use --ttf end, or a fraction"),
        (["--machine", "1 GB, 1 GB, 1 GB"], "--machine: '1 GB, 1 GB, 1 GB' states disk twice; write for example"),
        (["--machine", "lots"], "--machine: 'lots' is not an amount of memory or disk; write for example '16 cores,"),
        (["--machine", "0 cores"], "--machine: '0' is not a number of cores; write for example '16 cores,"),
        (["--lag", "-1"], "invalid value for '--lag'"),
        (["missing.csv"], "missing.csv: this file does not exist"),
    ],
)
def test_mistakes(bench: Bench, args: list[str], error: str) -> None:
    assert bench.fails(2, "replay", trace(bench), *args).startswith(f"headway: {error}")


def test_escape_sequences_in_names_are_removed(bench: Bench) -> None:
    name = trace(bench, name="a\x1b[31mb.csv")
    assert "\x1b" not in bench.succeeds("replay", name, "--sizers", "user")


def test_ctrl_c_ends_it_cleanly(bench: Bench, tmp_path: Path) -> None:
    """On a terminal: there is a bar, and after Ctrl-C neither a traceback nor a hidden cursor."""
    trace(bench, tasks=30_000)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "headway", "replay", "trace.csv"],
        cwd=bench.directory,
        env=bench.environment | {"TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    deadline = time.monotonic() + 60
    while b"%" not in seen and time.monotonic() < deadline:
        seen += os.read(ours, 4096)
    assert b"trace: " in seen, seen
    process.send_signal(signal.SIGINT)
    while True:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
    assert process.wait(30) == 130
    assert process.stdout is not None
    assert process.stdout.read() == b""
    process.stdout.close()
    os.close(ours)
    assert b"Traceback" not in seen
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l"), "the cursor is back"


DATA = os.environ.get("HEADWAY_DATA")
real = pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the real logs are")


@real
def test_failures_observed_in_files_beside_the_log(bench: Bench) -> None:
    log = Path(DATA or "", "ipdps2024-bucketing", "synthetic_bimodal_whole.csv.gz")
    assert "as observed (memory after 5.13 s, disk after " in bench.succeeds(
        "replay", str(log), "--ttf", "observed", "--sizers", "max-seen"
    )


@real
def test_a_whole_machine_on_a_real_log(bench: Bench) -> None:
    """Phung and Thain 2024, Figure 5: `whole` uses 0.126, 0.128 and 0.334 of memory, disk, cores on Bimodal."""
    import csv
    import gzip

    log = Path(DATA or "", "ipdps2024-bucketing", "synthetic_bimodal_whole.csv.gz")
    with gzip.open(log, "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["result"] == "SUCCESS"]
    run_s = sum(float(row["wall_time_s"]) for row in rows)
    document = bench.json("replay", str(log), "--sizers", "whole-machine")["sizers"]["whole-machine"]
    for name, column, machine in (
        ("memory", "used_memory_mb", 64_000),
        ("disk", "used_disk_mb", 64_000),
        ("cores", "used_cores", 16),
    ):
        used = sum(float(row[column]) * float(row["wall_time_s"]) for row in rows)
        assert document[name]["awe"] == pytest.approx(used / (machine * run_s))


class TestTime:
    def write(self, bench: Bench, *seconds: float, name: str = "times.csv") -> str:
        """Tasks that asked for two hours each."""
        rows = [f"{number},align,{number},{1000 * each},{GIB},2h" for number, each in enumerate(seconds, start=1)]
        bench.write("\n".join(["task_id,process,start,realtime,peak_rss,time", *rows]), name)
        return name

    def test_the_table(self, bench: Bench) -> None:
        """The second asks for 1,260 s, the third for 660 s and then for twice as much four times."""
        output = bench.succeeds("replay", self.write(bench, 600, 600, 6000, 0), "--resource", "time")
        lines = output.splitlines()
        assert lines[0] == "times: run times of 4 tasks, 1 without a run time left out"
        body = {line.split()[0]: line.split()[1:] for line in lines if line.startswith(("ladder", "mean", "asked"))}
        assert body["mean-plus-2-sigma"] == ["50.0%", "50.0%", "50.0%", "4", "-", "6.03", "1.83", "2.75", "6.26"]
        assert body["asked"] == ["-", "-", "-", "0", "-", "4", "1.83", "0", "1"]
        assert "The first task of a category is not counted." in " ".join(lines)

    def test_the_document(self, bench: Bench) -> None:
        name = self.write(bench, 600, 600, 6000)
        document = bench.json("replay", name, "--resource", "time", "--sizers", "mean-plus-2-sigma")
        assert document["resource"] == "time" and document["rules"].keys() == {"mean-plus-2-sigma"}
        assert document["asked"]["asked_h"] == 4.0 and document["asked"]["within"] == {}
        rule = document["rules"]["mean-plus-2-sigma"]
        assert (rule["tasks"], rule["attempts"], rule["timeouts"]) == (2, 6, 4)
        assert rule["within"] == {"0.5": 0.5, "0.9": 0.5, "0.95": 0.5}

    def test_several_logs(self, bench: Bench) -> None:
        names = self.write(bench, 600, 600), self.write(bench, 600, 600, name="second.csv")
        each = bench.json("replay", *names, "--resource", "time")
        together = bench.json("replay", *names, "--resource", "time", "--together")
        assert [log["rules"]["ladder"]["tasks"] for log in each] == [1, 1]
        assert [log["rules"]["ladder"]["tasks"] for log in together] == [1, 2]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--resource", "tme"], "invalid value for '--resource': 'tme' is not one of 'sizes', 'time'"),
            (["--resource", "time", "--ttf", "0.5"], "--ttf: this is for sizes, not for --resource time; leave it out"),
            (
                ["--resource", "time", "--sizers", "lotaro"],
                "--sizers: there is no rule for run times called 'lotaro'; did you mean 'lotaru'?",
            ),
            (
                ["--resource", "time", "--sizers", ""],
                "--sizers: no rule is named; write for example --sizers ladder,lotaru",
            ),
        ],
    )
    def test_mistakes(self, bench: Bench, options: list[str], said: str) -> None:
        problem = bench("replay", self.write(bench, 600, 600), *options)
        assert problem.returncode == 2 and said in problem.stderr and problem.stderr.count("\n") == 1

    def test_a_log_without_run_times(self, bench: Bench) -> None:
        problem = bench("replay", self.write(bench, 0, 0), "--resource", "time")
        assert problem.returncode == 2
        assert "times.csv: no task of this log has a run time; replay its sizes instead" in problem.stderr
