"""A disk that a task fills: every verb says the same of the run, and the task is named."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from headway.model.errors import HeadwayError
from headway.model.records import GiveUp
from tests.end_to_end.project import Flow, wait_until

# `big` fills the disk and waits; `small` ends when the disk is full. What `big` may use is more than the disk holds.
FILLS = """
name: fills
tasks:
  big:
    run: cat /dev/zero > big || until [ -e {signals}/go ]; do sleep 0.1; done
    outputs: [big]
    resources: {{disk: 3.1 MB}}
  small:
    run: until [ -e {signals}/full ]; do sleep 0.1; done; echo done > small
    outputs: [small]
    resources: {{disk: 1 kB}}
"""


@pytest.fixture
def signals(tmp_path: Path) -> Path:
    """A folder on another disk, for files that commands wait for."""
    folder = tmp_path / "signals"
    folder.mkdir()
    return folder


def is_full(disk: Path) -> bool:
    return os.statvfs(disk).f_bfree == 0


def fill(disk: Path, signals: Path) -> tuple[Flow, str]:
    """Run until the disk is full and the manager has ended; return what was printed."""
    flow = Flow(disk, FILLS.format(signals=signals))
    manager = flow.start("run", "--cores", "2")
    wait_until(lambda: is_full(disk) or manager.poll() is not None)
    wait_until(lambda: (disk / ".headway/runs/1/tasks/small/1/work").exists() or manager.poll() is not None)
    (signals / "full").touch()
    output, _ = manager.communicate(timeout=300)
    assert manager.returncode == 3, output
    return flow, output


def test_verbs_agree_after_a_full_disk_and_name_the_task_that_fills_it(small_disk: Path, signals: Path) -> None:
    flow, output = fill(small_disk, signals)
    assert "these take most of the disk: big (" in output and "small (" not in output
    assert flow.json("status")["state"] == "interrupted"
    assert "2 interrupted" in flow.headway("status").stdout
    for task in ("big", "small"):
        story = flow.json("why", task)
        assert story["state"] == "interrupted"
        assert "these take most of it: big (" in story["full_disk"]
        told = flow.headway("why", task).stdout
        assert "running when the run was interrupted" in told and ": running\n" not in told
    assert {row["state"] for row in flow.json("usage", "--by", "task")["rows"]} == {"interrupted"}
    checks = {check["about"]: check["found"] for check in flow.json("doctor")["checks"]}
    assert "run 1: interrupted" in checks["runs"]
    assert f"fills in {small_disk} (" in checks["at work"] and "interrupted: its manager is gone" in checks["at work"]
    (signals / "go").touch()
    (small_disk / ".headway/runs/1/tasks/big/1/work/big").unlink()
    flow.headway("cancel")
    wait_until(lambda: flow.supervisor() is None)
    assert flow.json("status")["state"] == "stopped"


def given_up(flow: Flow) -> bool:
    try:
        return any(isinstance(record, GiveUp) for record in flow.records())
    except HeadwayError:  # there is no journal yet
        return False


def test_a_task_that_fails_on_a_full_disk_names_the_task_that_fills_it(small_disk: Path, signals: Path) -> None:
    """There is room for a result, but for hardly anything else."""
    flow = Flow(
        small_disk,
        f"""
name: fills
tasks:
  big:
    run: head -c 2400000 /dev/zero > big; touch {signals}/full; until [ -e {signals}/go ]; do sleep 0.1; done
    outputs: [big]
    resources: {{disk: 2.6 MB}}
  small:
    run: until [ -e {signals}/full ]; do sleep 0.1; done; exit 1
    outputs: [small]
    resources: {{disk: 1 kB}}
""",
    )
    manager = flow.start("run", "--cores", "2")
    wait_until(lambda: manager.poll() is not None or given_up(flow))
    (signals / "go").touch()
    output, _ = manager.communicate(timeout=300)
    assert manager.returncode == 1, output
    says = "its command exited with code 1; the disk is full; of the running tasks, these take most of it: big (2.4"
    assert says in " ".join(output.split())
    assert flow.json("why", "small")["attempts"][0]["message"].startswith(says)
    assert flow.json("why", "big")["full_disk"] is None


@pytest.mark.parametrize("dies", [False, True], ids=["full", "killed"])
def test_a_command_that_uses_up_all_inodes_and_succeeds_does_not_run_again(
    small_disk: Path, signals: Path, *, dies: bool
) -> None:
    """No inode is left for its result; with `dies` nobody lives who could write it."""
    subprocess.run(["mount", "-o", "remount,nr_inodes=400", small_disk], check=True)
    log, go = signals / "log", signals / "go"
    fills = "i=0; while touch f/$((i += 1)); do :; done 2> /dev/null"
    waits = f"until [ -e {go} ]; do sleep 0.05; done"
    command = f"echo start >> {log}; mkdir f; {fills}; {waits}; echo end >> {log}"
    flow = Flow(small_disk, f"name: inodes\ntasks:\n  a:\n    run: '{command}'\n    outputs: [f]\n")
    manager = flow.start("run", "--cores", "2")
    wait_until(lambda: os.statvfs(small_disk).f_ffree == 0 or manager.poll() is not None)
    if dies:
        supervisor = flow.supervisor()
        assert supervisor is not None
        spawners = subprocess.check_output(["pgrep", "-P", str(supervisor), "-f", "spawner.py"], text=True)
        for pid in (manager.pid, supervisor, *map(int, spawners.split())):
            os.kill(pid, signal.SIGKILL)
    go.touch()
    output, _ = manager.communicate(timeout=300)
    assert manager.returncode == (-signal.SIGKILL if dies else 3), output
    wait_until(lambda: log.read_text().split() == ["start", "end"])
    subprocess.run(["mount", "-o", "remount,nr_inodes=4000", small_disk], check=True)
    flow.headway("resume")
    assert log.read_text().split() == ["start", "end"]
    assert flow.json("status")["state"] == "succeeded"
    assert (small_disk / "f" / "1").exists()


def test_a_job_without_a_manager_gives_itself_back_although_the_disk_is_full(small_disk: Path, signals: Path) -> None:
    command = f"cat /dev/zero > big || until [ -e {signals}/go ]; do sleep 0.05; done"
    flow = Flow(small_disk, f"name: left\ntasks:\n  a:\n    run: '{command}'\n    outputs: [big]\n")
    manager = flow.start("run", "--cores", "2", "--linger", "2s")
    wait_until(lambda: is_full(small_disk) or manager.poll() is not None)
    manager.kill()
    manager.communicate()
    assert flow.supervisor() is not None
    (signals / "go").touch()
    wait_until(lambda: flow.supervisor() is None, seconds=30)
