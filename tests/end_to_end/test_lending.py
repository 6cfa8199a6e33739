"""On one machine, a resource that is not scarce is not worth a kill; a hint is no limit, and `limit` is one."""

from __future__ import annotations

from pathlib import Path

from headway.model.outcome import Ending
from headway.model.records import TaskEnded
from tests.end_to_end.project import Flow

# Eleven samples need little, the twelfth a hundred times as much.
OUTLIER = """
name: outlier
tasks:
  sample:
    each: {{n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}}
    run: {command}
    outputs: ["out-{{n}}"]
"""


def endings(flow: Flow) -> list[Ending]:
    return [record.outcome.ending for record in flow.records() if isinstance(record, TaskEnded)]


def test_a_task_that_writes_more_than_the_others_is_not_killed(tmp_path: Path) -> None:
    flow = Flow(tmp_path, OUTLIER.format(command="head -c $(({n} == 12 ? 100000000:1000000)) /dev/zero > out-{n}"))
    flow.headway("run", "--order", "fifo")
    assert endings(flow) == [Ending.SUCCESS] * 12


def test_a_task_that_needs_more_memory_than_the_others_is_not_killed(tmp_path: Path) -> None:
    command = "python3 -c \"held = b'x' * ({n} == 12 and 400_000_000 or 1000)\"; echo > out-{n}"
    flow = Flow(tmp_path, OUTLIER.format(command=command))
    flow.headway("run", "--order", "fifo", "--memory", "2GB")
    assert endings(flow) == [Ending.SUCCESS] * 12
    assert "may use" in flow.headway("why", "sample[12]").stdout


def test_a_hint_of_time_stops_no_task(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: slow\ntasks: {slow: {run: sleep 2, resources: {time: 1s}}}\n")
    flow.headway("run")
    assert endings(flow) == [Ending.SUCCESS]
    assert flow.json("why", "slow")["attempts"][0]["may_use"]["disk_bytes"] == 0, "it has no directory of its own"


def test_a_limit_stops_a_task_once_and_says_what_to_change(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: slow\ntasks: {slow: {run: sleep 100, limit: {time: 1s}}}\n")
    said = flow.headway("run", code=1)
    assert endings(flow) == [Ending.TIME]
    words = " ".join((said.stdout + said.stderr).split())
    assert "it used up the 1 s time that 'limit' in the workflow file allows; raise that if it should get more" in words


def test_a_limit_of_memory_is_less_than_the_share_of_the_machine(tmp_path: Path) -> None:
    command = "python3 -c \"held = b'x' * 300_000_000; import time; time.sleep(1)\""
    flow = Flow(tmp_path, f"name: big\ntasks:\n  big:\n    run: {command}\n    limit: {{memory: 100 MB}}\n")
    flow.headway("run", code=1)
    assert endings(flow) == [Ending.MEMORY]


def test_the_machine_is_protected_when_lent_memory_runs_out(tmp_path: Path) -> None:
    """Six small tasks teach that little is needed; then two run side by side that together need more than there is."""
    command = "python3 -c \"held = b'x' * ({n} > 6 and 300_000_000 or 1000); __import__('time').sleep({n} > 6 and 5)\""
    text = f"""
name: tight
tasks:
  sample:
    each: {{n: [1, 2, 3, 4, 5, 6, 7, 8]}}
    run: {command}; echo > out-{{n}}
    outputs: ["out-{{n}}"]
    resources: {{memory: 350 MB, cores: 0.5}}
"""
    flow = Flow(tmp_path, text)
    flow.headway("run", "--memory", "500MB", "--cores", "1", "--order", "fifo")
    failed = [r.outcome for r in flow.records() if isinstance(r, TaskEnded) and r.outcome.ending is not Ending.SUCCESS]
    assert [outcome.ending for outcome in failed] == [Ending.MEMORY]
    assert "all tasks together used up the memory" in failed[0].message
    assert len(list(tmp_path.glob("out-*"))) == 8
