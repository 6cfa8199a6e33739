"""`headway run --dry-run` says what would run, and why; and it is right."""

from __future__ import annotations

import pytest

from tests.cli.bench import SMALL, Bench

FLOW = """
    name: chain
    tasks:
      read:
        each: {n: [1, 2]}
        run: cat in_{n} > read_{n}
        inputs: ["in_{n}"]
        outputs: ["read_{n}"]
      join:
        run: cat read_* > joined
        inputs: ["read_*"]
        outputs: [joined]
      end:
        run: cp joined end
        inputs: [joined]
        outputs: [end]
        resources: {memory: 50 MB}
"""


@pytest.fixture
def ran(bench: Bench) -> Bench:
    bench.write(FLOW)
    bench.write("one\n", "in_1")
    bench.write("two\n", "in_2")
    bench.succeeds("run", "-q", *SMALL)
    return bench


def verdicts(bench: Bench, *args: str) -> dict[str, tuple[str, str]]:
    answer = bench.json("run", "-n", *SMALL, *args)
    return {task["task"]: (task["verdict"], task["why"]) for task in answer["tasks"]}


def test_nothing_changed(ran: Bench) -> None:
    found = verdicts(ran)
    assert set(found.values()) == {("stands", "unchanged since run 1")}
    assert "4 results stand" in ran.succeeds("run", "-n", *SMALL)


def test_before_the_first_run_everything_runs_with_these_sizes(bench: Bench) -> None:
    bench.write(FLOW)
    bench.write("one\n", "in_1")
    bench.write("two\n", "in_2")
    answer = bench.json("run", "-n", *SMALL)
    assert {task["verdict"] for task in answer["tasks"]} == {"runs"}
    assert {task["why"] for task in answer["tasks"]} == {"no earlier result"}
    given = {task["task"]: task["given"]["memory_bytes"] for task in answer["tasks"]}
    assert given == {"read[1]": 500_000_000, "read[2]": 500_000_000, "join": 500_000_000, "end": 50_000_000}
    assert not (bench.directory / ".headway").exists(), "a dry run writes nothing"


def test_an_edited_command(ran: Bench) -> None:
    ran.write(FLOW.replace("cat read_* > joined", "sort read_* > joined"))
    found = verdicts(ran)
    assert found["read[1]"] == ("stands", "unchanged since run 1")
    assert found["join"] == ("runs", "its command changed")
    assert found["end"] == ("may run", "depends on join")


def test_only_a_changed_input_makes_a_task_run(ran: Bench) -> None:
    (ran.directory / "in_1").touch()
    assert verdicts(ran)["read[1]"][0] == "stands", "its content is the same"
    ran.write("other\n", "in_1")
    found = verdicts(ran)
    assert found["read[1]"] == ("runs", "input in_1 changed")
    assert found["read[2]"][0] == "stands"
    assert found["join"] == ("may run", "depends on read[1]")
    assert found["end"] == ("may run", "depends on join")


def test_a_removed_output(ran: Bench) -> None:
    (ran.directory / "joined").unlink()
    found = verdicts(ran)
    assert found["join"] == ("runs", "output joined is missing")
    assert found["end"] == ("may run", "depends on join")
    (ran.directory / "end").unlink()
    assert verdicts(ran)["end"] == ("runs", "output end is missing")


def test_again_runs_everything(ran: Bench) -> None:
    assert set(verdicts(ran, "--again").values()) == {("runs", "everything runs again (--again)")}


def test_a_task_that_can_never_fit_would_fail(bench: Bench) -> None:
    bench.write("""
        name: big
        tasks:
          huge: {run: "true", resources: {memory: 900 TB}}
          below: {needs: [huge], run: "true"}
          fine: {run: "true"}
    """)
    found = verdicts(bench)
    assert found["huge"][0] == "would fail"
    assert "900 TB memory" in found["huge"][1]
    assert found["below"] == ("would fail", "depends on huge, which would fail")
    assert found["fine"][0] == "runs"


def test_the_run_does_what_the_dry_run_said(ran: Bench) -> None:
    ran.write("other\n", "in_2")
    foreseen = verdicts(ran)
    ran.succeeds("run", "-q", *SMALL)
    for task, (verdict, why) in foreseen.items():
        story = ran.json("why", task)
        if verdict == "stands":
            assert story["state"] == "reused"
        elif verdict == "runs":
            assert story["because"] == why
        else:
            assert story["state"] in ("reused", "succeeded")


def test_many_tasks_with_the_same_verdict_are_counted(bench: Bench) -> None:
    bench.write(f"name: many\ntasks:\n  t:\n    each: {{n: {list(range(300))}}}\n    run: 'true'\n")
    output = bench.succeeds("run", "-n", *SMALL)
    assert "many: 300 tasks on 2 cores" in output
    assert "… 297 more  runs" in output
    assert len(output.splitlines()) == 6


def test_it_asks_the_cluster_that_the_run_would_use(bench: Bench) -> None:
    """Without Slurm's commands, dry run and run end with the same error."""
    bench.write("name: w\ntasks:\n  a: {run: 'true'}\n")
    foreseen = bench.fails(3, "run", "-n", "--on", "slurm", PATH="/nonexistent")
    assert not (bench.directory / ".headway").exists()
    assert "this is no login node of a Slurm cluster" in foreseen
    assert bench.fails(3, "run", "--on", "slurm", PATH="/nonexistent") == foreseen
