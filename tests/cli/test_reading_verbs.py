"""`status`, `logs` and `why` on runs that are over, and beside one that is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headway.cli.main import cli
from tests.cli.bench import SMALL, Bench


def ask(bench: Bench, *args: str) -> Result:
    return CliRunner().invoke(cli, [*args, "-C", str(bench.directory)])


def answer(bench: Bench, *args: str) -> str:
    result = ask(bench, *args)
    assert result.exit_code == 0, result.output
    return result.stdout


def document(bench: Bench, *args: str) -> dict[str, object]:
    found = json.loads(answer(bench, *args, "--json"))
    assert isinstance(found, dict)
    return found


# --- status ---


def test_status_of_a_failed_run(finished: Bench) -> None:
    text = answer(finished, "status", "1")
    assert re.match(r"demo, run 1: failed after ", text)
    assert re.search(r"^make +━+  2/2", text, re.MULTILINE)
    assert re.search(r"^broken +x+  0/1  1 failed$", text, re.MULTILINE)
    assert re.search(r"^after +·+  0/1", text, re.MULTILINE)
    assert "5 tasks: 3 succeeded, 1 failed, 1 cut off; 4 attempts" in text
    assert "✗ broken: its command exited with code 3\n    the reason" in text


def test_status_without_a_number_means_the_newest(finished: Bench) -> None:
    found = document(finished, "status")
    assert found["run"] == "2"
    assert found["tasks"] == {
        "total": 5,
        "succeeded": 0,
        "reused": 3,
        "running": 0,
        "waiting": 0,
        "failed": 1,
        "cut_off": 1,
    }


def test_status_during_a_run_neither_waits_nor_disturbs(bench: Bench) -> None:
    bench.write(
        """
        name: w
        tasks:
          a:
            run: touch begun; while [ ! -e go ]; do sleep 0.05; done
          b: {needs: a, run: "true"}
        """
    )
    process = bench.start("run", "-q", *SMALL)
    bench.wait_for_file("begun")
    found = document(bench, "status")
    assert (found["state"], found["manager_pid"]) == ("running", process.pid)
    running = found["running"]
    assert isinstance(running, list)
    assert [(each["task"], each["attempt"], each["given"]["cores"]) for each in running] == [("a", 1, 1)]
    text = answer(bench, "status")
    assert f"(process {process.pid})" in text
    assert re.search(r"^  a +[\d.]+ m?s  1 core, 500 MB memory", text, re.MULTILINE)
    assert "waits for a" in answer(bench, "why", "b")
    assert ": running" in answer(bench, "why", "a")
    for _ in range(30):
        ask(bench, "status")
    (bench.directory / "go").touch()
    assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["status", "9"], "there is no run 9 here; the latest are 1, 2"),
        (["status", "../1"], "there is no run ../1 here"),
        (["why", "brokn"], "run 2 has no task 'brokn'; did you mean 'broken'?"),
        (["why", "make[c]"], "did you mean 'make[b]' or 'make[a]'?"),
        (["logs", "zzzzzz"], "there are make, noisy, broken"),
        (["logs", "after"], "task 'after' has not run in run 2"),
        (["logs", "broken", "--attempt", "4"], "task 'broken' has no attempt 4 in run 2; it has 1"),
        (["logs", "broken", "--run", "7"], "there is no run 7 here"),
    ],
)
def test_names_that_do_not_exist(finished: Bench, args: list[str], words: str) -> None:
    result = ask(finished, *args)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_directories_that_do_not_exist(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["status", "-C", str(tmp_path / "none")])
    assert (result.exit_code, result.stderr) == (2, f"headway: {tmp_path / 'none'}: there is no such directory\n")


# --- logs ---


def test_logs_show_both_streams_or_one(finished: Bench) -> None:
    assert answer(finished, "logs", "noisy", "--run", "1") == "==> stdout <==\nto stdout\n==> stderr <==\nto stderr\n"
    assert answer(finished, "logs", "noisy", "--run", "1", "--only", "stderr") == "to stderr"
    assert answer(finished, "logs", "broken") == "the reason\n"


def test_logs_of_a_reused_task_are_those_of_the_run_that_made_it(finished: Bench) -> None:
    result = ask(finished, "logs", "make[a]")
    assert result.stdout == "making a\n"
    assert "run 2 did not run it again; this is run 1" in result.stderr
    found = document(finished, "logs", "make[a]")
    assert (found["run"], found["attempt"], found["attempts"], found["stdout"]) == ("1", 1, [1], "making a\n")


def test_a_pattern_that_several_tasks_fit_lists_them(finished: Bench) -> None:
    for verb in ("logs", "why"):
        text = answer(finished, verb, "ma*", "--run", "1")
        assert text.startswith("ma* fits 2 tasks:\n  make[a]  succeeded\n  make[b]  succeeded\n")
    found = document(finished, "why", "*[?]")
    assert (found["asked"], found["category"]) == ("*[?]", None)
    assert answer(finished, "logs", "*[b]", "--run", "1") == "making b\n"  # the only one
    assert document(finished, "why", "b?oken")["task"] == "broken"


def test_a_category_with_several_tasks_lists_them(finished: Bench) -> None:
    for verb in ("logs", "why"):
        text = answer(finished, verb, "make", "--run", "1")
        assert "make is a category of 2 tasks:\n  make[a]  succeeded\n  make[b]  succeeded\n" in text
        assert f"headway {verb} 'make[a]'" in text
    found = document(finished, "why", "make")
    assert found["tasks"] == [
        {"task": "make[a]", "state": "reused", "attempts": 0},
        {"task": "make[b]", "state": "reused", "attempts": 0},
    ]


def test_following_a_log_ends_with_the_attempt(bench: Bench) -> None:
    bench.write("name: w\ntasks:\n  a:\n    run: echo one; while [ ! -e go ]; do sleep 0.05; done; echo two\n")
    run = bench.start("run", "-q", *SMALL)
    bench.wait_for(lambda: ask(bench, "logs", "a").stdout == "one\n", "the first line, while the task is running")
    follower = bench.start("logs", "-f", "a", "--only", "stdout")
    assert follower.stdout
    assert follower.stdout.readline() == "one\n"
    (bench.directory / "go").touch()
    assert follower.stdout.read() == "two\n"
    assert (follower.wait(10), run.wait(10)) == (0, 0)


# --- why ---


def test_why_a_task_ran_and_what_it_got_and_used(finished: Bench) -> None:
    text = answer(finished, "why", "make[a]", "--run", "1")
    assert "make[a], run 1 of demo: succeeded\nit ran because: no earlier result\n" in text
    assert re.search(r"attempt 1 on \S+, .*: succeeded", text)
    assert re.search(r"memory +100 MB +\S+ .*the workflow asks for 100 MB memory", text)
    assert "ladder, hint: hint 100 MB, limit 1 GB" in text
    assert re.search(r"time +no limit +[\d.]+ m?s", text)


def test_why_a_task_was_given_up(finished: Bench) -> None:
    text = answer(finished, "why", "broken")
    assert "given up: its command exited with code 3 [engine: exit-code] (errors 1, retries 0)" in text
    found = document(finished, "why", "broken")
    assert found["state"] == "failed"
    assert found["given_up"] == {
        "policy": "engine",
        "rule": "exit-code",
        "figures": {"errors": 1, "retries": 0},
        "text": "its command exited with code 3",
    }


def test_why_a_task_did_not_run(finished: Bench) -> None:
    assert "the result of run 1 was reused" in answer(finished, "why", "make[b]")
    assert document(finished, "why", "make[b]")["reused_from"] == "1"
    assert "it cannot run: broken, which it depends on, failed" in answer(finished, "why", "after")
    found = document(finished, "why", "after")
    assert found["state"] == "cut-off"
    assert isinstance(found["cut_off_by"], dict)
    assert list(found["cut_off_by"]) == ["broken"]
