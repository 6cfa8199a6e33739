"""`headway simulate --workflow` as users meet it: table, JSON, journal, and one sentence for every mistake."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from msgspec import structs

from headway.drivers.assemble import plans as all_plans
from headway.drivers.through_queue import Through, node_of, run_through
from headway.formats.read_any import read_instance
from headway.model import records
from headway.model.codec import decode
from headway.planning import PLANS
from tests.cli.bench import Bench

QUEUE = ("lublin", "--machine", "16", "--jobs", "300", "--load", "0.8", "--seed", "3")
BOTH = ("--plan", "one-job", "--plan", "one-job-per-task")

DAX = """\
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="pair">
  <job id="A" namespace="n" name="first" version="1.0" runtime="100"/>
  <job id="B" namespace="n" name="second" version="1.0" runtime="50"/>
  <child ref="B"><parent ref="A"/></child>
</adag>
"""
IDLE = (
    "; MaxProcs: 4\n1 0 -1 10 4 -1 -1 4 10 -1 1 1 1 -1 -1 -1 -1 -1\n2 9000 -1 9 4 -1 -1 4 9 -1 1 1 1 -1 -1 -1 -1 -1\n"
)


@pytest.fixture
def made(bench: Bench) -> Bench:
    """A generated workflow of some fifty tasks."""
    bench.succeeds("generate", "montage", "--tasks", "50", "--seed", "1", "-o", "montage.json")
    return bench


@pytest.fixture
def pair(bench: Bench) -> Bench:
    """Two tasks, one after the other, and a machine of four nodes that is idle from 10 to 9000."""
    bench.write(DAX, "pair.dax")
    bench.write(IDLE, "idle.swf")
    return bench


def test_makespans_computed_by_hand(pair: Bench) -> None:
    found = pair.json("simulate", "idle.swf", "--workflow", "pair.dax", "--start", "100s", *BOTH)
    assert (found["trace"], found["workflow"], found["start_s"]) == ("idle.swf", "pair.dax", 100)
    assert found["policy"] == {"backfill": "easy", "nodes": "counts", "rules": "pyss", "depth": 1}
    one, each = found["plans"]
    same = {"status": "succeeded", "makespan_s": 150, "expired": 0, "first_wait_s": 0, "mean_wait_s": 0}
    hours = ("node_hours", "core_hours", "used_core_hours")
    same |= dict.fromkeys(hours, pytest.approx(150 / 3600)) | {"busy_share": pytest.approx(1)}
    assert one == same | {"plan": "one-job", "jobs": 1}
    assert each == same | {"plan": "one-job-per-task", "jobs": 2}


def test_nodes_have_the_gpus_that_tasks_need(pair: Bench) -> None:
    """No log tells of GPUs."""
    instance = read_instance(pair.directory / "pair.dax")
    assert run_through(instance, Through(all_plans()["one-job"])).node.gpus == 0
    task = next(iter(instance.workflow))
    instance.workflow.tasks[task.id] = structs.replace(task, hints={**task.hints, "gpus": 2.0})
    assert run_through(instance, Through(all_plans()["one-job"], node=node_of(4))).node.gpus == 2


def test_it_waits_for_jobs_submitted_earlier(pair: Bench) -> None:
    found = pair.json("simulate", "idle.swf", "--workflow", "pair.dax", "--start", "4s", "--plan", "one-job")
    (one,) = found["plans"]
    assert (one["first_wait_s"], one["makespan_s"]) == (6, 156)


def test_core_hours_of_whole_and_shared_nodes(pair: Bench) -> None:
    asked = ("simulate", "idle.swf", "--workflow", "pair.dax", "--start", "100s", *BOTH, "--node-cores", "4")
    for nodes, cores in (("whole", 4), ("shared", 1)):
        found = pair.json(*asked, "--nodes", nodes)
        assert (found["node_cores"], found["node_memory"], found["policy"]["nodes"]) == (4, None, nodes)
        for plan in found["plans"]:
            assert plan["makespan_s"] == 150
            assert plan["core_hours"] == pytest.approx(cores * 150 / 3600)
            assert plan["used_core_hours"] == pytest.approx(150 / 3600)
    lines = pair.succeeds(*asked, "--nodes", "shared").splitlines()
    assert "shares of nodes of 4 cores" in lines[0]
    assert "one-job 2m 30s 1 0 s 0 s 2.5 min 2.5 min 100%" in [" ".join(line.split()) for line in lines]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--nodes", "shared", "--workflow", "pair.dax"), "nothing says how large a node is; add --node-cores N"),
        (("--nodes", "whole", "--node-cores", "2"), "whole and shared are for a workflow's jobs; add --workflow W"),
        (("--node-cores", "2", "--workflow", "pair.dax"), "add --nodes shared"),
        (("--nodes", "shared", "--node-cores", "5", "--workflow", "pair.dax"), "the machine has 4 cores"),
    ],
)
def test_a_node_s_size_belongs_to_whole_and_shared_nodes(pair: Bench, words: tuple[str, ...], said: str) -> None:
    assert said in pair.fails(2, "simulate", "idle.swf", *words)


def test_the_table(pair: Bench) -> None:
    lines = pair.succeeds("simulate", "idle.swf", "--workflow", "pair.dax", "--start", "100s", *BOTH).splitlines()
    assert lines[0] == (
        "pair: 2 tasks, begun 1m 40s into idle (EASY backfilling, rules of pyss, nodes only counted, "
        "requests as logged)"
    )
    assert [" ".join(line.split()) for line in lines[3:7] if not line.startswith("─")] == [
        "plan makespan jobs first mean node-hours busy",
        "one-job 2m 30s 1 0 s 0 s 2.5 min 100%",
        "one-job-per-task 2m 30s 2 0 s 0 s 2.5 min 100%",
    ]
    assert lines[-1] == "one-job and one-job-per-task finish first, after 2m 30s"


def test_every_plan_gets_a_generated_workflow_through_made_up_jobs(made: Bench) -> None:
    found = made.json("simulate", *QUEUE, "--workflow", "montage.json")
    assert [plan["plan"] for plan in found["plans"]] == list(PLANS)
    assert {plan["status"] for plan in found["plans"]} == {"succeeded"}
    assert found["generated"] == {"machine": 16, "jobs": 300, "load": 0.8, "seed": 3, "requests": "real"}
    tasks = len(json.loads((made.directory / "montage.json").read_text())["workflow"]["specification"]["tasks"])
    by_name = {plan["plan"]: plan for plan in found["plans"]}
    assert by_name["one-job"]["jobs"] == 1
    assert by_name["one-job-per-task"]["jobs"] == tasks
    assert all(0 < plan["busy_share"] <= 1 for plan in found["plans"])
    assert all(plan["makespan_s"] > plan["first_wait_s"] for plan in found["plans"])


def test_each_plan_once_in_the_order_given(made: Bench) -> None:
    asked = ("--plan", "one-job-per-task", "--plan", "one-job", "--plan", "one-job-per-task")
    found = made.json("simulate", *QUEUE, "--workflow", "montage.json", *asked)
    assert [plan["plan"] for plan in found["plans"]] == ["one-job-per-task", "one-job"]


def test_by_default_it_begins_halfway(made: Bench) -> None:
    found = made.json("simulate", *QUEUE, "--workflow", "montage.json", "--plan", "one-job")
    last_s = made.json("simulate", *QUEUE)["submissions_s"]
    assert found["start_s"] == round(last_s / 2)


def journal(path: Path) -> list[records.Event | records.Decision]:
    return [decode(line) for line in path.read_bytes().splitlines()]


def test_the_journal_is_the_same_to_the_byte(made: Bench) -> None:
    asked = ("simulate", *QUEUE, "--workflow", "montage.json", *BOTH)
    for name in ("a.jsonl", "b.jsonl", "c.jsonl.gz"):
        done = made(*asked, "--journal", name)
        assert (done.returncode, done.stderr) == (0, f"wrote {name}\n")
    first = (made.directory / "a.jsonl").read_bytes()
    assert first == (made.directory / "b.jsonl").read_bytes()
    assert first == gzip.decompress((made.directory / "c.jsonl.gz").read_bytes())
    made.succeeds(*asked, "--journal", "d.jsonl", "--start", "10h")
    assert first != (made.directory / "d.jsonl").read_bytes()
    found = journal(made.directory / "a.jsonl")
    starts = [record.uid for record in found if isinstance(record, records.RunStarted)]
    ends = [record.status for record in found if isinstance(record, records.Finish)]
    assert (len(set(starts)), ends) == (2, ["succeeded", "succeeded"])


def test_no_more_jobs_at_a_time_than_allowed(made: Bench) -> None:
    asked = ("--workflow", "montage.json", "--plan", "one-job-per-task", "--most-jobs", "3", "--journal", "j")
    made.succeeds("simulate", *QUEUE, *asked)
    waiting_or_running: set[str] = set()
    peak = 0
    for record in journal(made.directory / "j"):
        match record:
            case records.Submit():
                waiting_or_running.add(record.tag)
            case records.Release() | records.JobState(phase="ended"):
                waiting_or_running.discard(record.tag)
        peak = max(peak, len(waiting_or_running))
    assert peak == 3


@pytest.mark.parametrize(
    "queue", [("--backfill", "conservative"), ("--backfill", "fcfs"), ("--rules", "batsched", "--nodes", "contiguous")]
)
def test_through_other_queues(made: Bench, queue: tuple[str, ...]) -> None:
    found = made.json("simulate", *QUEUE, *queue, "--workflow", "montage.json")
    assert {plan["status"] for plan in found["plans"]} == {"succeeded"}


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["--plan", "one-jb"], "--plan: there is no plan called 'one-jb'; did you mean 'one-job'?"),
        (["--plan", "zzz"], "--plan: there is no plan called 'zzz'; there are "),
        (["--start", "3h"], "--start: nothing is known of the queue that late: the last job comes after 2h 30m; start"),
        (["--start", "soon"], "invalid value for '--start'"),
        (["--most-jobs", "0"], "invalid value for '--most-jobs'"),
        (["--html", "a.html"], "--html: this is for the queue alone; leave it out"),
        (["--starts", "a.csv"], "--starts: this is for the queue alone; leave it out"),
        (["--html", "a.html", "--window", "1d"], "--html: this is for the queue alone; leave it out"),
        (["--journal", "pair.dax"], "pair.dax: this file exists; --force overwrites it"),
        (["--journal", "pair.dax", "--force"], "pair.dax: two of the files are the same; name another FILE"),
        (["--journal", "idle.swf", "--force"], "idle.swf: two of the files are the same; name another FILE"),
        (["--journal", "no/such/j"], "no/such: there is no such folder; make it, or name another FILE"),
    ],
)
def test_mistakes(pair: Bench, args: list[str], error: str) -> None:
    before = {path.name: path.read_bytes() for path in pair.directory.iterdir()}
    assert pair.fails(2, "simulate", "idle.swf", "--workflow", "pair.dax", *args).startswith(f"headway: {error}")
    assert {path.name: path.read_bytes() for path in pair.directory.iterdir()} == before


@pytest.mark.parametrize("option", ["--plan=one-job", "--start=1s", "--most-jobs=2", "--journal=j"])
def test_options_that_need_a_workflow(pair: Bench, option: str) -> None:
    name = option.partition("=")[0]
    error = pair.fails(2, "simulate", "idle.swf", option)
    assert error == f"headway: {name}: this is for a workflow; add --workflow W\n"


def test_workflows_that_cannot_be_simulated(pair: Bench) -> None:
    assert "missing.dax" in pair.fails(2, "simulate", "idle.swf", "--workflow", "missing.dax")
    pair.write("name: flow\ntasks:\n  one:\n    run: 'true'\n  two:\n    run: 'true'\n", "workflow.yaml")
    error = pair.fails(2, "simulate", "idle.swf", "--workflow", "workflow.yaml")
    assert error.startswith(
        "headway: workflow.yaml: nothing says how long 'one' runs (2 of 2 tasks); simulate a recorded"
    )
    pair.write("<adag/>", "none.dax")
    pair.fails(2, "simulate", "idle.swf", "--workflow", "none.dax")


def test_a_machine_whose_nodes_are_never_free(bench: Bench) -> None:
    """The workflow waits to the end, and gets through when all others are gone."""
    line = "{0} 0 -1 5000 4 -1 -1 4 5000 -1 1 1 1 -1 -1 -1 -1 -1\n"
    bench.write("; MaxProcs: 4\n" + line.format(1) + line.format(2), "full.swf")
    bench.write(DAX, "pair.dax")
    (one,) = bench.json("simulate", "full.swf", "--workflow", "pair.dax", "--plan", "one-job")["plans"]
    assert (one["first_wait_s"], one["status"]) == (10_000, "succeeded")


def test_every_key_and_column_is_explained(pair: Bench) -> None:
    text = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text()
    found = pair.json("simulate", "idle.swf", "--workflow", "pair.dax", *BOTH)
    keys = set(found) | {key for plan in found["plans"] for key in plan}
    assert {key for key in keys if f"`{key}`" not in text} == set()
    for column in ("makespan", "jobs", "wait", "node-hours", "busy", "expired", "status"):
        assert f"\n| {column} | " in text
