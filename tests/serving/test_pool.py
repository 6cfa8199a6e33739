"""`headway pool` on this machine: runs of several directories share it, and each is a run like any other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import headway
from headway.model.outcome import Ending
from headway.model.records import Launch, LimitsRead, TaskEnded, WorkForeseen
from headway.model.resources import Resources
from tests.cli.bench import Bench
from tests.serving.pools import Pool, ended, records_of

ONCE = {"1": 1, "2": 1, "3": 1, "total": 1}
BESIDE = """
name: {name}
tasks:
  beside:
    each: {{n: [1, 2, 3, 4, 5]}}
    run: |
      echo {{n}} >> {home}/ran-{name}
      touch {home}/live/{name}-{{n}}
      ls {home}/live | wc -l >> {home}/seen
      sleep 0.2
      rm {home}/live/{name}-{{n}}
      echo $OWN {{n}} > beside-{{n}}
    outputs: ["beside-{{n}}"]
    resources: {{cores: 1}}
  large:
    run: |
      python3 -c "held = bytearray(600_000_000)"
      cat beside-* > all
    inputs: ["beside-*"]
    outputs: [all]
    resources: {{cores: 1, memory: 100 MB}}
"""


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    made = Pool(tmp_path)
    yield made
    if made.process.poll() is None:
        made.kill()


def most_held(directory: Path) -> tuple[Resources, Resources]:
    """The most that was held at a time in a pool by its journal, each resource for itself, and what there is."""
    held: dict[str, Resources] = {}
    most, limits = Resources(), Resources()
    for record in records_of(directory):
        match record:
            case LimitsRead():
                limits = record.limits
            case Launch():
                held[record.task] = record.resources
                most = most.covering(sum(held.values(), Resources()))
            case TaskEnded():
                del held[record.outcome.task]
    return most, limits


def test_two_runs_share_the_machine(pool: Pool) -> None:
    """They never take more than there is, and a task that ran out of memory is retried by its own run."""
    (pool.home / "live").mkdir()
    flows = [pool.flow(name, BESIDE) for name in ("one", "two")]
    for flow in flows:
        flow.environment["OWN"] = f"of {flow.directory.name}"
    running = [flow.start("run", "--pool") for flow in flows]
    for process in running:
        ended(process)
    for flow in flows:
        name = flow.directory.name
        assert (flow.directory / "all").read_text() == "".join(f"of {name} {n}\n" for n in range(1, 6))
        assert pool.ran(name) == {str(n): 1 for n in range(1, 6)}
        outcomes = [record.outcome for record in records_of(flow.directory) if isinstance(record, TaskEnded)]
        assert [it.ending for it in outcomes if it.task == "large"] == [Ending.MEMORY, Ending.SUCCESS]
        assert "it used up its" in flow.succeeds("why", "large")
        assert flow.json("status")["tasks"]["succeeded"] == 6
    assert max(int(seen) for seen in (pool.home / "seen").read_text().split()) <= 2
    most, limits = most_held(pool.directory)
    assert most.fits_in(limits), (str(most), str(limits))
    assert most.cores == 2  # both cores were used
    for flow in flows:
        name = flow.directory.name
        told = [record for record in records_of(pool.directory) if isinstance(record, WorkForeseen)]
        first, *_, last = [record.coming for record in told if f"/{name} " in record.share]
        large = next(each for each in first if each.category == f"{name}/large")
        assert (large.tasks, large.level > 0, large.cores, large.memory_bytes) == (1, True, 1, 100_000_000)
        assert last == ()  # nothing is foreseen of a workflow that has ended
    assert "earlier runs" in ended(flows[0].start("run", "--pool"))
    assert pool.ran("one").total() == 5  # nothing had changed
    three = headway.Workflow("three")
    three.task("say", "echo $HEADWAY_TASK > said", outputs=["said"])
    headway.run(three, pool.flow("three").directory, pool=str(pool.directory))
    assert (pool.home / "three/said").read_text() == "say\n"
    four = pool.flow("four", "name: {name}\ntasks: {{say: {{run: echo $HEADWAY_TASK > said, outputs: [said]}}}}")
    four.succeeds("run", "--pool", "--detach")
    four.wait_for(lambda: four.json("status")["state"] == "succeeded", "the run in the background")
    assert (pool.home / "four/said").read_text() == "say\n"
    pool.stop()


def test_one_is_cancelled_and_the_other_goes_on(pool: Pool) -> None:
    one, two = pool.flow("one"), pool.flow("two")
    first = one.start("run", "--pool", "--cores", "1")
    pool.wait_for_running("one", 1)
    second = two.start("run", "--pool")
    pool.wait_for_running("two", 1)
    status = pool.status()
    assert (status["cores"], status["cores_used"]) == (2, 2)
    assert pool.members()["two"]["waiting"] == 1  # for the core that the other has
    assert "one, run 1" in pool.bench.succeeds("pool", "status")
    one.succeeds("cancel")
    ended(first, 130)
    pool.wait_for_running("two", 2)
    assert "one" not in pool.members()
    assert "is stopping" in drained(pool, two)
    pool.go("two")
    ended(second)
    assert (two.directory / "total").read_text() == "two 1\ntwo 2\ntwo 3\n"
    assert pool.ran("two") == ONCE
    assert pool.process.wait() == 0
    assert re.search(r"start it with `headway pool start`", one.fails(3, "resume"))
    pool.start()
    pool.go("one")
    ended(one.start("resume"))
    assert (one.directory / "total").read_text() == "one 1\none 2\none 3\n"
    pool.stop()


def drained(pool: Pool, at_work: Bench) -> str:
    """Let the pool take no more workflows; return what another one hears."""
    pool.bench.succeeds("pool", "stop", "--no-wait")
    other = pool.flow("other")
    said = other.fails(4, "run", "--pool")
    assert at_work.json("status")["state"] == "running"
    return said


GROWING = """
name: {name}
tasks:
  split:
    run: mkdir parts; for i in 1 2 3; do echo $i > parts/$i; done
    outputs: parts
  work:
    each: {{files: "parts/{{n}}", from: split}}
    run: echo {{n}} >> {home}/ran-{name}; cp {{inputs}} {{outputs}}
    inputs: "parts/{{n}}"
    outputs: "made/{{n}}"
  total:
    run: echo total >> {home}/ran-{name}; cat {{inputs}} > {{outputs}}
    inputs: {{from: work}}
    outputs: total
"""


def test_tasks_that_become_known_while_a_run_uses_the_pool(pool: Pool) -> None:
    flow = pool.flow("growing", GROWING)
    done = flow("run", "--pool")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (flow.directory / "total").read_text() == "1\n2\n3\n"
    assert pool.ran("growing") == ONCE


def test_killed_managers_lose_nothing(pool: Pool) -> None:
    """Neither that of a workflow nor that of the pool: what runs goes on, and nothing runs twice."""
    flow, other = pool.flow("one"), pool.flow("two")
    run = flow.start("run", "--pool")
    pool.wait_for_ran("one", 2)
    run.kill()
    run.wait()
    assert "its tasks are still running" in flow.fails(4, "run", "--pool")
    assert pool.members()["one"]["at_work"] is False
    waits = other.start("run", "--pool")
    pool.bench.wait_for(lambda: "two" in pool.members(), "the second workflow")
    pool.kill()
    assert "was stopped or killed" in pool.flow("late").fails(3, "run", "--pool")
    for name in ("one", "two"):
        pool.go(name)
    pool.bench.wait_for(
        lambda: any(type(record).__name__ == "QueueUnread" for record in records_of(other.directory)), "the sentence"
    )
    pool.start()
    said = ended(waits)
    assert "the pool 'default' does not answer" in said
    ended(flow.start("resume"))
    for bench in (flow, other):
        name = bench.directory.name
        assert pool.ran(name) == ONCE
        assert (bench.directory / "total").read_text() == f"{name} 1\n{name} 2\n{name} 3\n"
    pool.stop()


def test_what_cannot_be_is_said_in_a_sentence(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "work", tmp_path)
    bench.write("name: small\ntasks: {a: {run: 'true'}}")
    assert "start it with `headway pool start`" in bench.fails(3, "run", "--pool")
    assert "start it with `headway pool start night`" in bench.fails(3, "run", "--pool", "night")
    assert "the pool 'default' is not there" in bench.fails(3, "pool", "status")
    assert "the pool 'default' is not there" in bench.fails(3, "pool", "stop")
    assert "cannot be the name of a pool" in bench.fails(2, "run", "--pool", "a b")
    assert "--on is the pool's to decide" in bench.fails(2, "run", "--pool", "--on", "slurm")
    idle = bench.process("pool", "start", "-q", "--idle", "0.1s")
    assert (idle.returncode, idle.stderr) == (0, "")
