"""`headway run`, from outside: exit codes, what is printed, bad input."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.bench import SMALL, Bench

GOOD = """
    name: good
    tasks:
      part:
        each: {n: [1, 2, 3]}
        run: echo {n} > {n}.out
        outputs: ["{n}.out"]
      whole:
        run: cat *.out > whole
        inputs: ["*.out"]
        outputs: [whole]
"""
BAD = """
    name: bad
    tasks:
      first: {run: echo "no such star" >&2; exit 3}
      below: {needs: [first], run: "true"}
      other: {run: sleep 0.2}
      last: {needs: [other], run: "true"}
"""


def test_a_good_run_exits_with_0_and_leaves_its_results(bench: Bench) -> None:
    bench.write(GOOD)
    output = bench.succeeds("run", *SMALL)
    assert (bench.directory / "whole").read_text() == "1\n2\n3\n"
    lines = output.splitlines()
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d  good, run 1: 4 tasks on 2 cores, 1 GB memory, 1 GB disk; sizes by ladder", lines[0]
    )
    assert any(re.match(r"part +3 +3 ", line) for line in lines)
    assert any(re.match(r"all +4 +4 ", line) for line in lines)
    assert re.match(r"good, run 1: succeeded after .*: 4 tasks run$", lines[-2])
    assert "\x1b" not in output, "a log has no colours"


def test_a_second_run_reuses_everything(bench: Bench) -> None:
    bench.write(GOOD)
    bench.succeeds("run", "-q", *SMALL)
    assert "4 reused from earlier runs" in bench.succeeds("run", *SMALL)
    again = bench.json("run", "--again", *SMALL)
    assert again["tasks"]["succeeded"] == 4
    assert again["tasks"]["reused"] == 0


def test_a_run_with_failed_tasks_exits_with_1_and_says_where_to_look(bench: Bench) -> None:
    bench.write(BAD)
    done = bench("run", "-k", *SMALL)
    assert done.returncode == 1
    assert "FAILED first: its command exited with code 3" in done.stdout
    shown = '    $ echo "no such star" >&2; exit 3\n    no such star\n  → headway logs first\n'
    assert f"✗ first: its command exited with code 3\n{shown}" in done.stdout
    assert "2 tasks run, 1 failed, 1 cut off by that" in done.stdout


def test_without_keep_going_nothing_new_is_started_after_a_failure(bench: Bench) -> None:
    bench.write(BAD)
    done = bench("run", "--json", *SMALL)
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert answer["state"] == "failed"
    assert answer["tasks"] == {
        "total": 4,
        "succeeded": 1,
        "reused": 0,
        "running": 0,
        "waiting": 1,
        "failed": 1,
        "cut_off": 1,
    }
    assert [(failure["task"], failure["rule"]) for failure in answer["failed"]] == [("first", "exit-code")]
    assert "FAILED first" in done.stderr, "progress goes to standard error while standard output is for the document"


def test_the_json_document_has_figures_for_each_category(bench: Bench) -> None:
    bench.write(GOOD)
    answer = bench.json("run", *SMALL)
    assert [category["category"] for category in answer["categories"]] == ["part", "whole"]
    memory = answer["categories"][0]["resources"]["memory_bytes"]
    assert memory["measured"] == 3
    assert 0 < memory["used_mean"] <= memory["used_max"] <= memory["asked_mean"]
    assert memory["awe"] == pytest.approx(memory["consumed_s"] / memory["allocated_s"])
    assert memory["wasted_s"] == pytest.approx(memory["allocated_s"] - memory["consumed_s"])
    assert answer["limits"]["memory_bytes"] == 10**9


def test_a_retry_line_says_why_and_with_how_much(bench: Bench) -> None:
    bench.write("""
        name: retries
        tasks:
          flaky:
            run: test -e mark || { touch mark; exit 7; }
            retries: 1
          hungry:
            run: python3 -c "x = bytearray(150_000_000); import time; time.sleep(0.6)"
            resources: {memory: 100 MB, cores: 0.2}
    """)
    output = bench.succeeds("run", *SMALL)
    assert "retry flaky: its command exited with code 7; attempt 2\n" in output
    assert "retry hungry: it used up its 100 MB memory; attempt 2 with 200 MB memory\n" in output


def test_quiet_says_only_what_failed_and_exits_with_1(bench: Bench) -> None:
    bench.write(BAD)
    done = bench("run", "-q", *SMALL)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("✗ first: its command exited with code 3\n")


def test_a_run_in_another_directory_suggests_commands_with_that_directory(bench: Bench) -> None:
    bench.write(BAD, "deep/er/flow.yaml")
    done = bench("run", "deep/er/flow.yaml", *SMALL)
    command = re.search(r"→ headway (logs.*)", done.stdout)
    assert command
    assert bench.succeeds(*command[1].split()) == "no such star\n"


def test_a_closed_pipe_does_not_stop_the_run(bench: Bench) -> None:
    bench.write(GOOD)
    process = bench.start("run", *SMALL)
    assert process.stdout
    process.stdout.close()
    assert process.wait(30) == 0
    assert (bench.directory / "whole").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run"], "workflow.yaml: there is no such file; here are good.yaml"),
        (["run", "gone.yaml"], "gone.yaml: there is no such file"),
        (["run", "gone/flow.yaml"], "flow.yaml: there is no such file; `headway init` writes one"),
        (["run", "."], "this is a directory; name a file in it"),
        (["run", "good.yaml", "--sizer", "best"], "there is no sizer called 'best'; choose one of exhaustive-"),
        (["run", "good.yaml", "--order", "best"], "there is no order called 'best'"),
        (["run", "good.yaml", "--memory", "900TB"], "900 TB memory was asked for, this machine has"),
        (["run", "good.yaml", "--cores", "90000"], "90000 cores was asked for"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(bench: Bench, args: list[str], words: str) -> None:
    bench.write(GOOD, "good.yaml")
    assert words in bench.fails(2, *args)
    assert not (bench.directory / ".headway").exists()


def test_a_mistake_in_the_workflow_has_file_and_line(bench: Bench) -> None:
    bench.write("name: w\ntasks:\n  a:\n    rum: x\n")
    assert bench.fails(2, "run").startswith("headway: workflow.yaml:4: unknown key 'rum'")


def test_a_file_in_the_way_of_our_folder(bench: Bench) -> None:
    bench.write(GOOD)
    bench.write("", ".headway")
    assert ".headway: this is not a folder" in bench.fails(3, "run")


def test_two_runs_at_once_in_one_directory_are_refused(bench: Bench) -> None:
    bench.write("name: w\ntasks:\n  a: {run: touch started; sleep 20}\n")
    first = bench.start("run")
    try:
        bench.wait_for_file("started")
        assert "another Headway is at work here (process" in bench.fails(4, "run")
    finally:
        assert "is stopped" in bench.succeeds("cancel")
    assert first.wait(10) == 130
