"""Runs on one machine, as a scientist uses them in the first hour."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headway.model.outcome import Ending
from headway.model.records import TaskEnded
from tests.end_to_end.project import Flow, wait_until

WORDS = """
name: words
tasks:
  split:
    run: split -n l/4 words.txt part_
    inputs: [words.txt]
    outputs: [part_aa, part_ab, part_ac, part_ad]
  count:                       # a category of four tasks: count[aa] …
    each: {part: [aa, ab, ac, ad]}
    run: wc -w < part_{part} > count_{part}
    inputs: ["part_{part}"]
    outputs: ["count_{part}"]
  total:
    needs: [count]             # files imply dependencies too; this states one
    run: cat count_* | paste -sd+ | bc > total
    inputs: ["count_*"]
    outputs: [total]
    resources: {cores: 1, memory: 200 MB, time: 5m}   # a hint, never needed
"""


@pytest.fixture
def words(tmp_path: Path) -> Flow:
    (tmp_path / "words.txt").write_text("one two three\nfour five\nsix\nseven eight nine ten\n" * 100)
    return Flow(tmp_path, WORDS)


def test_a_first_workflow_runs(words: Flow) -> None:
    words.headway("run")
    assert (words.directory / "total").read_text() == "1000\n"
    assert sorted(launch.task for launch in words.launches()) == [
        "count[aa]", "count[ab]", "count[ac]", "count[ad]", "split", "total",
    ]  # fmt: skip
    assert not (words.directory / ".headway/runs/1/tasks/total/1/work").exists(), (
        "the working directory is removed after success"
    )


def test_a_second_run_reuses_all_results_and_an_edit_reruns_only_affected_tasks(words: Flow) -> None:
    words.headway("run")
    words.headway("run")
    assert words.launches("2") == []
    assert len(words.reused("2")) == 6
    words.write(WORDS.replace("wc -w <", "wc -w  <"))
    output = words.headway("run").stdout
    assert "ran: count (4), its command changed" in output
    assert [launch.task for launch in words.launches("3")] == ["count[aa]", "count[ab]", "count[ac]", "count[ad]"]
    assert {launch.because for launch in words.launches("3")} == {"its command changed"}
    assert words.reused("3") == ["split", "total"], "the counts did not change, so the total is reused"


def test_inputs_are_compared_by_content_not_by_time(words: Flow) -> None:
    words.headway("run")
    os.utime(words.directory / "words.txt")
    words.headway("run")
    assert words.launches() == []
    with (words.directory / "words.txt").open("a") as file:
        file.write("eleven\n")
    words.headway("run")
    assert (words.directory / "total").read_text() == "1001\n"
    assert words.launches()[0].because == "input words.txt changed"


def test_a_missing_output_is_made_again(words: Flow) -> None:
    words.headway("run")
    (words.directory / "count_ab").unlink()
    words.headway("run")
    assert [(launch.task, launch.because) for launch in words.launches()] == [
        ("count[ab]", "output count_ab is missing")
    ]


def test_again_runs_everything(words: Flow) -> None:
    words.headway("run")
    words.headway("run", "--again")
    assert len(words.launches()) == 6


def test_a_change_of_the_tasks_env_reruns_it_but_the_callers_environment_does_not(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: e\ntasks:\n  a:\n    run: echo $A $B > out\n    env: {A: 1}\n    outputs: [out]\n")
    flow.headway("run", B="first")
    assert (tmp_path / "out").read_text() == "1 first\n"
    flow.headway("run", B="second")
    assert flow.launches() == []
    flow.write((tmp_path / "workflow.yaml").read_text().replace("A: 1", "A: 2"))
    flow.headway("run", B="second")
    assert (tmp_path / "out").read_text() == "2 second\n"
    assert [launch.because for launch in flow.launches()] == ["its environment changed"]


def test_results_are_reused_after_a_run_that_failed_earlier(words: Flow) -> None:
    words.headway("run")
    words.write(WORDS.replace("split -n l/4 words.txt part_", "exit 3"))
    words.headway("run", code=1)
    words.write(WORDS)
    words.headway("run")
    assert words.launches() == []


def test_a_half_written_output_is_never_taken_for_a_result(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: h\ntasks:\n  a:\n    run: echo half > out; exit 1\n    outputs: [out]\n")
    done = flow.headway("run", code=1)
    assert not (tmp_path / "out").exists()
    assert "exited with code 1" in done.stdout + done.stderr
    flow.write("name: h\ntasks:\n  a:\n    run: echo one > out\n    outputs: [out, other]\n")
    flow.headway("run", code=1)
    assert not (tmp_path / "out").exists()
    assert flow.json("why", "a")["state"] == "failed"


def test_sandbox_false_and_tasks_without_outputs_run_in_the_workflow_directory(tmp_path: Path) -> None:
    flow = Flow(
        tmp_path,
        "name: p\ntasks:\n"
        "  a:\n    run: pwd > where_a\n"
        "  b:\n    run: pwd > where_b\n    outputs: [where_b]\n    sandbox: false\n"
        "  c:\n    run: pwd > where_c\n    outputs: [where_c]\n",
    )
    flow.headway("run")
    assert (tmp_path / "where_a").read_text().strip() == str(tmp_path)
    assert (tmp_path / "where_b").read_text().strip() == str(tmp_path)
    assert "/.headway/runs/1/tasks/c/1/work" in (tmp_path / "where_c").read_text()


def test_retries_get_more_only_of_the_resource_that_ran_out(tmp_path: Path) -> None:
    eat = 'python3 -c \\"x = bytearray(300_000_000); import time; time.sleep(0.3)\\"'
    flow = Flow(
        tmp_path,
        "name: r\ntasks:\n"
        f'  memory:\n    run: "{eat}"\n    resources: {{memory: 200 MB}}\n'
        "  disk:\n    run: head -c 30000000 /dev/zero > big; sleep 1.5\n    outputs: [big]\n"
        "    resources: {disk: 20 MB}\n",
    )
    flow.headway("run", "--grace", "0.2s", "--cores", "2", "--memory", "400MB", "--disk", "40MB")
    ends = [record.outcome for record in flow.records() if isinstance(record, TaskEnded)]
    for task, resource, cause in (
        ("memory", "memory_bytes", Ending.MEMORY),
        ("disk", "disk_bytes", Ending.DISK),
    ):
        assert [outcome.ending for outcome in ends if outcome.task == task] == [cause, Ending.SUCCESS]
        first, second = (launch.resources for launch in flow.launches() if launch.task == task)
        assert second[resource] == 2 * (first[resource] or 0)
        assert first.replace(**{resource: 1}) == second.replace(**{resource: 1})
        assert flow.json("why", task)["attempts"][0]["ending"] == str(cause)


def test_setup_lines_run_in_the_same_shell(tmp_path: Path) -> None:
    flow = Flow(
        tmp_path,
        "name: s\ntasks:\n  a:\n    setup: [GREETING=hello]\n    run: echo $GREETING > out\n    outputs: [out]\n",
    )
    flow.headway("run")
    assert (tmp_path / "out").read_text() == "hello\n"


def test_hostile_names_do_nothing(tmp_path: Path) -> None:
    names = ["../../escape", "$(touch pwned)", "a b'c\"d", "-rf", "x" * 300, "*", "ünï"]
    listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    flow = Flow(
        tmp_path, f'name: n\ntasks:\n  t:\n    each: {{n: [{listed}]}}\n    run: echo "$HEADWAY_TASK" >> seen\n'
    )
    flow.headway("run")
    assert sorted((tmp_path / "seen").read_text().splitlines()) == sorted(f"t[{name}]" for name in names)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".headway", "seen", "workflow.yaml"]
    assert "t[*]" in flow.headway("why", "t[*]").stdout


def test_the_files_of_a_run_are_private(words: Flow) -> None:
    words.headway("run")
    home = words.directory / ".headway"
    for folder in (home, *home.glob("runs/*"), *home.glob("runs/*/*/"), *home.glob("runs/*/*/*/")):
        assert not folder.is_dir() or folder.stat().st_mode & 0o077 == 0, folder
    for file in (*home.glob("runs/*/journal.db"), *home.glob("runs/*/jobs/*/lock"), home / "lock"):
        assert file.stat().st_mode & 0o077 == 0, file


def test_a_large_input_with_a_new_time_is_recognised_as_unchanged(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(os.urandom(20_000_000))
    flow = Flow(
        tmp_path, "name: l\ntasks:\n  a:\n    run: wc -c < large > out\n    inputs: [large]\n    outputs: [out]\n"
    )
    flow.headway("run")
    assert (tmp_path / "out").read_text().strip() == "20000000"
    then = time.time() - 100
    os.utime(tmp_path / "large", (then, then))
    flow.headway("run")
    assert flow.launches() == []


def test_outputs_have_the_permissions_of_the_users_umask(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: u\ntasks:\n  a:\n    run: mkdir d; touch d/x y\n    outputs: [d, y]\n")
    before = os.umask(0o027)
    try:
        flow.headway("run")
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("d", "d/x", "y")]
    assert modes == [0o750, 0o640, 0o640]


def test_a_tasks_own_output_is_not_its_input_even_if_the_pattern_matches(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("1\n")
    (tmp_path / "y.txt").write_text("2\n")
    text = (
        'name: a\ntasks:\n  all:\n    run: cat x.txt y.txt > all.txt\n    inputs: ["*.txt"]\n    outputs: [all.txt]\n'
    )
    flow = Flow(tmp_path, text)
    flow.headway("run")
    flow.headway("run")
    assert flow.launches() == [], "a task's own output does not count as its input"
    flow.write(text.replace("cat x.txt", "cat y.txt"))
    flow.headway("run")
    assert (tmp_path / "all.txt").read_text() == "2\n2\n"


def test_an_output_that_another_program_overwrote_is_made_again(tmp_path: Path) -> None:
    for name in "AB":
        (tmp_path / f"{name}.yaml").write_text(
            f"name: w\ntasks:\n  {name}:\n    run: echo {name} > out\n    outputs: [out]\n"
        )
    flow = Flow(tmp_path, "name: unused\ntasks: {x: {run: 'true'}}\n")
    for name in "ABA":
        flow.headway("run", f"{name}.yaml")
        assert (tmp_path / "out").read_text() == f"{name}\n"
    assert flow.launches()[0].because == "output out was changed by another program"


def test_undeclared_files_beside_a_declared_input_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("a")
    (tmp_path / "data" / "b").write_text("b")
    text = "name: s\ntasks:\n  t:\n    run: cat data/a data/b > out\n    inputs: [data/a]\n    outputs: [out]\n"
    Flow(tmp_path, text).headway("run")
    assert (tmp_path / "out").read_text() == "ab"


def test_a_task_that_is_up_to_date_needs_no_resources(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: r\ntasks:\n  t:\n    run: 'true'\n    resources: {cores: 2}\n")
    flow.headway("run")
    flow.headway("run", "--cores", "1")
    assert flow.reused() == ["t"]
    assert "asks for 2 cores" in flow.headway("run", "--cores", "1", "--again", code=1).stdout


def test_broken_links_are_skipped_and_undecodable_names_fail_the_task(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("x")
    (tmp_path / "gone.txt").symlink_to("nowhere")
    flow = Flow(tmp_path, 'name: l\ntasks:\n  t:\n    run: cat good.txt > o\n    inputs: ["*.txt"]\n    outputs: [o]\n')
    flow.headway("run")
    with open(os.fsencode(tmp_path) + b"/\xff.txt", "w") as file:
        file.write("x")
    done = flow.headway("run", code=1)
    assert "does not exist" in done.stdout + done.stderr


def test_a_local_file_named_like_a_module_does_not_break_headway(tmp_path: Path) -> None:
    (tmp_path / "socket.py").write_text("raise SystemExit('mine')\n")
    flow = Flow(tmp_path, "name: m\ntasks:\n  t:\n    run: 'true'\n")
    command = [str(Path(sys.executable).parent / "headway"), "run"]
    done = subprocess.run(command, cwd=flow.directory, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_task_that_removes_its_own_folder_does_not_fail_other_tasks(tmp_path: Path) -> None:
    flow = Flow(
        tmp_path,
        'name: d\ntasks:\n  bad:\n    run: \'here=$(dirname "$PWD"); cd /; rm -rf "$here"\'\n    outputs: [x]\n'
        "  good:\n    run: echo y > y\n    outputs: [y]\n",
    )
    flow.headway("run", "--keep-going", code=1)
    assert (tmp_path / "y").exists()
    assert flow.json("why", "bad")["state"] == "failed"


def test_a_result_is_not_reused_if_an_input_changed_while_the_task_ran(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("good")
    flow = Flow(tmp_path, "name: m\ntasks:\n  a:\n    run: sleep 1; cat x > y\n    inputs: [x]\n    outputs: [y]\n")
    run = flow.start("run")
    wait_until(lambda: list(tmp_path.glob(".headway/runs/1/tasks/a/1/stdout")))
    (tmp_path / "x").write_text("evil")
    assert run.wait(60) == 0
    (tmp_path / "x").write_text("good")
    flow.headway("run")
    assert (tmp_path / "y").read_text() == "good"
    flow.headway("run")
    assert flow.launches() == []


def test_on_one_machine_it_is_said_once_that_a_partition_has_no_effect(tmp_path: Path) -> None:
    text = "name: w\ntasks:\n  t: {each: {n: 1..3}, run: touch {outputs}, outputs: 'o{n}', partition: gpu}\n"
    flow = Flow(tmp_path, text.replace("touch {outputs}", '"touch {outputs}"'))
    done = flow.headway("run")
    assert done.stderr.count("asks for partition gpu: that has no effect here") == 1
    assert (tmp_path / "o3").exists()
