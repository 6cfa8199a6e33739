"""Tasks that become known while a run goes on: made, reused, named, chosen, killed and resumed."""

from __future__ import annotations

import random
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from headway.crash_points import EXPANSION_POINTS
from headway.model.outcome import Ending
from headway.model.records import Finish, TaskEnded
from tests.end_to_end.project import Flow
from tests.kills import add as count_kills

WORKFLOW = """
name: parts
config: {n: 4, fails: none}
tasks:
  split:
    run: mkdir parts; for i in $(seq -w {n}); do echo $i > parts/p$i.txt; done
    outputs: parts
  find:
    run: "(echo region,start; for i in $(seq {n}); do echo r$i,$((i * 100)); done) > {outputs}"
    outputs: regions.csv
  double:
    each: {files: "parts/{part}.txt", from: split}
    run: test {part} != {fails}; echo $(( 10#$(cat {inputs}) * 2 )) > {outputs}
    inputs: "parts/{part}.txt"
    temp: "doubled/{part}.txt"
  again:
    each: {files: "parts/{part}.txt", from: split}
    run: cat {inputs} > {outputs}
    inputs: {from: "double[{part}]"}
    outputs: "again/{part}.txt"
  call:
    each: {sheet: regions.csv, from: find, where: {start: "> 100"}}
    run: echo {region} {start} > {outputs}
    outputs: "calls/{region}.txt"
  total:
    run: cat {inputs} | sort > {outputs}; wc -l < {inputs.list} >> {outputs}
    inputs: [{from: again}, {from: call}]
    outputs: total.txt
"""


def expected(n: int) -> str:
    lines = [str(2 * i) for i in range(1, n + 1)] + [f"r{i} {100 * i}" for i in range(2, n + 1)]
    return "".join(f"{line}\n" for line in [*sorted(lines), str(len(lines))])


def total(flow: Flow) -> str:
    return (flow.directory / "total.txt").read_text()


def ran(flow: Flow) -> list[str]:
    return sorted(launch.task for launch in flow.launches())


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    return Flow(tmp_path, WORKFLOW)


def test_tasks_are_made_of_what_tasks_have_made(flow: Flow) -> None:
    foreseen = flow.headway("run", "-n").stdout
    assert "at least 2 tasks" in foreseen
    assert "one for each file parts/{part}.txt, when split has succeeded" in " ".join(foreseen.split())
    assert "at least 2 tasks" in flow.headway("run").stdout
    assert total(flow) == expected(4)
    assert not list((flow.directory / "doubled").glob("*"))  # temporary
    flow.headway("run")
    assert ran(flow) == []
    assert "14 results stand" in flow.headway("run", "-n").stdout
    # Fewer, more, none: always what a clean directory gives.
    for n in (2, 5, 0, 3):
        flow.headway("run", "--set", f"n={n}")
        assert total(flow) == expected(n)
    assert ran(flow) == ["find", "split", "total"]  # the three parts and two regions were done before


def test_an_entry_that_cannot_become_tasks_fails_with_a_sentence(flow: Flow) -> None:
    flow.write(WORKFLOW.replace("region,start", "region,region"))
    done = flow.headway("run", "-k", code=1)
    assert "columns 1 and 2 are both called region" in " ".join(done.stdout.split())
    assert "columns 1 and 2" in flow.headway("why", "call").stdout
    flow.write(WORKFLOW)
    flow.headway("run")
    assert total(flow) == expected(4)


def test_a_failure_before_the_tasks_are_known(flow: Flow) -> None:
    flow.write(WORKFLOW.replace("mkdir parts;", "mkdir parts; false;"))
    done = flow.headway("run", "-k", code=1)
    assert "split" in done.stdout and "Traceback" not in done.stdout
    assert not (flow.directory / "total.txt").exists()
    assert {name.partition("[")[0] for name in ran(flow)} == {"split", "find", "call"}
    flow.write(WORKFLOW)
    flow.headway("run", "--set", "fails=p3", code=1)
    flow.headway("run")
    assert total(flow) == expected(4)


def test_chosen_tasks_that_are_not_known_yet(flow: Flow) -> None:
    flow.headway("run", "call")
    assert ran(flow) == ["call[r2]", "call[r3]", "call[r4]", "find"]
    flow.headway("run", "--until", "double")
    assert ran(flow) == ["double[p1]", "double[p2]", "double[p3]", "double[p4]", "split"]
    flow.headway("run", "again[p2]")
    assert ran(flow) == ["again[p2]"]
    flow.headway("run", "--force", "call")
    assert {name for name in ran(flow) if name.startswith("call")} == {"call[r2]", "call[r3]", "call[r4]"}
    assert total(flow) == expected(4)


COLLECTED = """
name: collected
tasks:
  find: {run: "grep -v bad list > found && (echo id; cat list) > {outputs}", inputs: list, outputs: found.csv}
  each:
    each: {sheet: found.csv, from: find}
    run: echo {id} > {outputs}
    outputs: "each/{id}.txt"
  all: {run: "cat {inputs} > {outputs}", inputs: [{from: each}], outputs: all.txt}
"""


def orphans(flow: Flow) -> list[str]:
    """The orphans that `clean` would delete."""
    return sorted(each["name"] for each in flow.json("clean", "-n", "--orphans")["found"])


def test_what_tasks_may_make_that_are_not_known_is_no_orphan(tmp_path: Path) -> None:
    flow, listed = Flow(tmp_path, COLLECTED), tmp_path / "list"
    listed.write_text("1\n2\n3\n")
    flow.headway("run")
    for words in (["each[1]"], ["find"], ["--until", "each"]):
        assert "belong" not in flow.headway("run", "-n", *words).stdout
        assert "belong" not in flow.headway("run", *words).stdout, words
        assert orphans(flow) == [], words
    # A row is removed: that its file is an orphan is known only after `find` has run.
    listed.write_text("1\n2\n")
    assert "belong" not in flow.headway("run", "-n").stdout
    assert "1 file in each/ was made by earlier runs" in flow.headway("run", "each[1]").stdout
    assert orphans(flow) == ["each/3.txt"]
    # Another workflow in this directory can tell what belongs to this one.
    (tmp_path / "other.yaml").write_text("name: other\ntasks: {it: {run: date > it, outputs: it}}")
    flow.headway("run", "other.yaml")
    assert orphans(flow) == ["each/3.txt"]
    # A task fails before the others are known.
    listed.write_text("bad\n")
    assert "belong" not in flow.headway("run", code=1).stdout
    assert orphans(flow) == []
    listed.write_text("3\n")
    flow.headway("run")
    assert (tmp_path / "all.txt").read_text() == "3\n"
    assert orphans(flow) == ["each/1.txt", "each/2.txt"]
    flow.headway("run", "other.yaml")
    assert orphans(flow) == ["each/1.txt", "each/2.txt"]


def test_a_name_that_fits_no_task_is_an_error_as_soon_as_that_is_known(tmp_path: Path) -> None:
    flow = Flow(tmp_path, COLLECTED)
    (tmp_path / "list").write_text("1\n2\n")
    said = " ".join(flow.headway("run", "each[1?]", code=1).stdout.split())
    assert "no task is called 'each[1?]'; there are each[1], each[2]" in said
    assert ran(flow) == ["find"]
    assert "no task is called 'each[1?]'" in " ".join(flow.headway("run", "-n", "each[1?]", code=None).stdout.split())
    assert "no task is called 'each[3]'" in " ".join(flow.headway("run", "each[3]", "all", code=1).stdout.split())
    flow.headway("run", "each[?]")
    assert ran(flow) == ["each[1]", "each[2]"]
    said = " ".join(flow.headway("run", "--only", "id=1", code=2).stderr.split())
    assert "no task that is known before the run has a column 'id'" in said
    assert "'each' become known only while the run goes on: name them" in said


def test_a_task_that_becomes_known_must_not_see_orphans_in_the_workflow_s_directory(tmp_path: Path) -> None:
    flow = Flow(tmp_path, COLLECTED.replace("inputs: [{from: each}]", "inputs: each/*, sandbox: false"))
    flow.write((tmp_path / "workflow.yaml").read_text().replace("cat {inputs}", "cat each/*"))
    (tmp_path / "list").write_text("1\n2\n")
    flow.headway("run")
    (tmp_path / "list").write_text("1\n")
    failed = " ".join(flow.headway("run", code=1).stdout.split())
    assert "task 'all' runs in the workflow's directory and reads 'each/2.txt', which an earlier run made" in failed
    flow.headway("clean", "--orphans", "--yes")
    flow.headway("run")
    assert (tmp_path / "all.txt").read_text() == "1\n"


def killed(flow: Flow, tasks: int, kills: int, seed: int) -> int:
    """Start or resume the run until it succeeds, killing managers at random; return how many were killed."""
    draw, died = random.Random(seed), 0
    while True:
        begun = any(flow.directory.glob(".headway/runs/*/journal.db"))
        words = ["resume"] if begun else ["run", "--set", f"n={tasks}"]
        manager = flow.start(*words)
        try:
            out, _ = manager.communicate(timeout=draw.uniform(0.5, 3.0) if died < kills else 300)
        except subprocess.TimeoutExpired:
            manager.send_signal(signal.SIGKILL)
            manager.communicate()
            died += count_kills()
            if any(isinstance(record, Finish) for record in flow.records()):
                return died  # the run had ended, although its manager had not
            continue
        assert manager.returncode == 0, out
        return died


def once(flow: Flow) -> Counter[str]:
    """How often each task succeeded."""
    ended = (record.outcome for record in flow.records() if isinstance(record, TaskEnded))
    return Counter(outcome.task for outcome in ended if outcome.ending is Ending.SUCCESS)


def test_managers_that_are_killed_add_no_task_twice_and_lose_none(flow: Flow) -> None:
    assert killed(flow, 40, 4, seed=1) > 0
    assert total(flow) == expected(40)
    assert set(once(flow).values()) == {1}


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("point", EXPANSION_POINTS)
def test_a_manager_killed_while_tasks_become_known(flow: Flow, point: str, count: int) -> None:
    manager = flow.start("run", HEADWAY_CRASH=f"{point}:{count}:{flow.directory}/../crashed-{count}")
    assert manager.wait(120) == -signal.SIGKILL
    flow.write("name: other\ntasks: {x: {run: 'false'}}\n")  # the run goes on with the file that it began with
    flow.headway("resume")
    assert total(flow) == expected(4)
    assert set(once(flow).values()) == {1}


def test_why_says_what_an_entry_waits_for(flow: Flow) -> None:
    flow.write(WORKFLOW.replace("mkdir parts;", "mkdir parts; false;"))
    flow.headway("run", code=1)
    said = " ".join(flow.headway("why", "again", code=2).stderr.split())
    assert (
        "the tasks of 'again' are not known yet: one for each file parts/{part}.txt, when split has succeeded" in said
    )
    flow.write(WORKFLOW)
    flow.headway("run", "--set", "n=0")
    assert "'double' has no tasks in run 2" in " ".join(flow.headway("why", "double", code=2).stderr.split())


def test_inputs_auto_finds_what_other_tasks_have_made(tmp_path: Path) -> None:
    text = """
name: auto
tasks:
  split: {run: "mkdir parts; echo a > parts/a.txt", outputs: parts}
  copy:
    each: {files: "parts/{part}.txt", from: split}
    run: cat parts/{part}.txt > {part}.copy
    inputs: auto
    outputs: "{part}.copy"
"""
    Flow(tmp_path, text).headway("run")
    assert (tmp_path / "a.copy").read_text() == "a\n"
