"""Faults: each gives one clear sentence and an exit code, and no result is lost."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headway.journal.folder import Project
from tests.end_to_end.project import Flow, wait_until

SLOW = "name: slow\ntasks:\n  a:\n    run: sleep 4; echo done > out\n    outputs: [out]\n"


def until_told(directory: Path) -> str:
    """Return a workflow whose task runs until a file `go` exists."""
    return SLOW.replace("sleep 4", f"until [ -e {directory}/go ]; do sleep 0.1; done")


def test_a_second_run_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    flow = Flow(tmp_path, until_told(tmp_path))
    first = flow.start("run")
    wait_until(flow.supervisor)
    second = flow.headway("run", code=4)
    assert "another Headway is at work here" in second.stderr and len(second.stderr.splitlines()) == 1
    (tmp_path / "go").touch()
    assert first.wait(60) == 0
    assert (tmp_path / "out").read_text() == "done\n"


def test_tasks_survive_their_manager_and_a_new_run_is_refused_until_resume_or_cancel(tmp_path: Path) -> None:
    flow = Flow(tmp_path, until_told(tmp_path))
    manager = flow.start("run")
    wait_until(lambda: flow.supervisor() and list(tmp_path.glob(".headway/runs/1/tasks/a/1")))
    manager.kill()
    manager.wait()
    assert flow.json("status")["state"] == "interrupted"
    refused = flow.headway("run", code=4)
    assert "headway resume 1" in refused.stderr and "headway cancel 1" in refused.stderr
    (tmp_path / "go").touch()
    flow.headway("resume")
    assert (tmp_path / "out").read_text() == "done\n"
    assert len(flow.launches()) == 1, "the running attempt is kept"


def test_a_task_that_ended_without_a_manager_is_reused(tmp_path: Path) -> None:
    flow = Flow(tmp_path, SLOW)
    manager = flow.start("run")
    wait_until(lambda: list(tmp_path.glob(".headway/runs/1/tasks/a/1")))
    manager.kill()
    manager.wait()
    wait_until((tmp_path / "out").exists)
    supervisor = flow.supervisor()
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: flow.supervisor() is None)
    flow.headway("run")  # not only resume: a new run finds the result too
    assert flow.launches("2") == []
    assert flow.reused("2") == ["a"]


def test_cancel_ends_a_run_that_lost_its_manager(tmp_path: Path) -> None:
    flow = Flow(tmp_path, SLOW.replace("sleep 4", "sleep 600"))
    manager = flow.start("run", "--grace", "0.2s")
    wait_until(lambda: list(tmp_path.glob(".headway/runs/1/tasks/a/1/stdout")))
    manager.kill()
    manager.wait()
    flow.headway("cancel")
    wait_until(lambda: flow.supervisor() is None)
    assert not _processes_of(tmp_path)
    assert flow.json("status")["state"] == "stopped"


def test_cancel_stops_a_run_with_a_live_manager(tmp_path: Path) -> None:
    flow = Flow(tmp_path, SLOW.replace("sleep 4", "sleep 600"))
    manager = flow.start("run", "--grace", "0.2s")
    wait_until(lambda: list(tmp_path.glob(".headway/runs/1/tasks/a/1/stdout")))
    flow.headway("cancel")
    assert manager.wait(30) == 130
    wait_until(lambda: not _processes_of(tmp_path))


def test_processes_of_a_dead_supervisor_end_before_the_task_runs_again(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: s\ntasks:\n  a:\n    run: echo begin >> log; sleep 2; echo end >> log\n")
    manager = flow.start("run")
    wait_until((tmp_path / "log").exists)
    supervisor = flow.supervisor()
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    assert manager.wait(60) == 0
    assert (tmp_path / "log").read_text().split() == ["begin", "begin", "end"], "the first attempt was ended"


def test_a_run_can_be_resumed_without_its_workflow_file(tmp_path: Path) -> None:
    flow = Flow(tmp_path, SLOW)
    manager = flow.start("run")
    wait_until(lambda: list(tmp_path.glob(".headway/runs/1/tasks/a/1")))
    (tmp_path / "workflow.yaml").unlink()
    manager.kill()
    manager.wait()
    flow.headway("resume")
    assert (tmp_path / "out").exists(), "resume reads the tasks from the journal"
    gone = flow.headway("run", code=2)
    assert "workflow.yaml" in gone.stderr and len(gone.stderr.splitlines()) == 1


def test_a_journal_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    flow = Flow(tmp_path, SLOW.replace("sleep 4; ", ""))
    flow.headway("run")
    with sqlite3.connect(tmp_path / ".headway/runs/1/journal.db") as database:
        database.execute("PRAGMA user_version=99")
    for verb in ("status", "resume", "run"):
        assert "newer Headway" in flow.headway(verb, code=3).stderr


def as_another_user(flow: Flow, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Headway without root's right to read and write everything."""
    for folder in (flow.directory, *list(flow.directory.parents)[:-2]):
        folder.chmod(0o755)
    command = [sys.executable, "-m", "headway", *words]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
    else:
        flow.directory.chmod(0o555)
    home = os.environ | {"HOME": str(flow.directory)}
    return subprocess.run(command, cwd=flow.directory, env=home, capture_output=True, text=True, check=False)


def test_an_unwritable_directory_is_reported_in_one_line(tmp_path: Path) -> None:
    done = as_another_user(Flow(tmp_path, SLOW), "run")
    assert done.returncode == 3, done.stderr
    assert "cannot write here" in done.stderr and len(done.stderr.splitlines()) == 1


def test_an_output_folder_on_a_read_only_disk_stops_the_run_with_one_sentence(tmp_path: Path, small_disk: Path) -> None:
    flow = Flow(tmp_path, SLOW.replace("sleep 4; ", "").replace("out\n", "small/out\n").replace("[out]", "[small/out]"))
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    said = flow.headway("run", code=3).stderr
    what = (
        "cannot run tasks: this folder is on a read-only file system, and outputs cannot be put there; nothing is lost"
    )
    assert said.startswith(f"headway: {small_disk}: {what}") and said.count("\n") == 1
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    flow.headway("resume")
    assert (small_disk / "out").read_text() == "done\n"


def test_after_a_read_only_output_folder_an_edited_workflow_runs(tmp_path: Path, small_disk: Path) -> None:
    there = SLOW.replace("sleep 4; ", "").replace("out\n", "small/out\n").replace("[out]", "[small/out]")
    flow = Flow(tmp_path, there)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    flow.headway("run", code=3)
    flow.write(there.replace("small/out", "elsewhere"))
    said = flow.headway("run").stderr  # at once, while the supervisor still waits for a manager
    assert "outputs of task a of run 1 could not be put in place" in " ".join(said.split()), said
    assert (tmp_path / "elsewhere").read_text() == "done\n"
    # With the folder mended, the next run begins with what the last one made.
    flow.write(there)
    flow.headway("run", code=3)
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    flow.headway("run")
    assert (small_disk / "out").read_text() == "done\n"
    assert flow.launches() == [], "its result was there already"


def test_an_unreadable_workflow_file_is_reported_in_one_line(tmp_path: Path) -> None:
    flow = Flow(tmp_path, SLOW)
    (tmp_path / "workflow.yaml").chmod(0)
    done = as_another_user(flow, "run")
    assert done.returncode == 2, done.stderr
    assert "workflow.yaml" in done.stderr and "cannot be read" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_full_disk_stops_the_run_and_resume_continues_it(small_disk: Path) -> None:
    numbers = ", ".join(map(str, range(40)))
    flow = Flow(
        small_disk,
        f"name: f\ntasks:\n  t:\n    each: {{n: [{numbers}]}}\n    run: sleep 0.1\n"
        "  last:\n    needs: [t]\n    run: echo end > out\n    outputs: [out]\n",
    )
    manager = flow.start("run")
    wait_until(lambda: list(small_disk.glob(".headway/runs/1/tasks/*/1")))
    with (small_disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space"):
        while True:
            filler.write(b"x" * 4096)
    output, _ = manager.communicate(timeout=300)
    assert manager.returncode == 3, output
    assert "headway resume" in output and "Traceback" not in output
    (small_disk / "filler").unlink()
    flow.headway("resume")
    assert (small_disk / "out").read_text() == "end\n"


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_a_run_whose_folder_is_gone_ends_with_one_sentence(tmp_path: Path, how: str) -> None:
    flow = Flow(tmp_path, until_told(tmp_path))
    manager = flow.start("run")
    wait_until(lambda: list(tmp_path.glob(".headway/runs/1/tasks/a/1/stdout")))
    supervisor = flow.supervisor()
    assert supervisor is not None
    (tmp_path / ".headway").rename(tmp_path / "elsewhere")
    if how == "deleted":
        shutil.rmtree(tmp_path / "elsewhere")
    output, _ = manager.communicate(timeout=300)
    assert manager.returncode == 3, output
    assert f"{tmp_path}/.headway: it was deleted or moved away while its run was going on" in output
    assert "FAILED" not in output and "Traceback" not in output
    if how == "moved":
        (tmp_path / "elsewhere").rename(tmp_path / ".headway")
        (tmp_path / "go").touch()
        flow.headway("resume")
        assert (tmp_path / "out").read_text() == "done\n"
    else:
        (tmp_path / "go").touch()  # its command ends, and with it the supervisor, which has no folder any more
        wait_until(lambda: not Path(f"/proc/{supervisor}").exists())
        assert not (tmp_path / ".headway").exists()


def test_resume_says_that_it_waits_for_a_stopped_supervisor(tmp_path: Path) -> None:
    flow = Flow(tmp_path, until_told(tmp_path))
    manager = flow.start("run")
    wait_until(lambda: list(tmp_path.glob(".headway/runs/1/tasks/a/1/stdout")))
    manager.kill()
    manager.wait()
    supervisor = flow.supervisor()
    assert supervisor is not None
    os.kill(supervisor, signal.SIGSTOP)
    try:
        resumed = flow.start("resume")
        assert resumed.stdout is not None
        said = next(line for line in resumed.stdout if "kill -CONT" in line)
        assert f"the supervisor, process {supervisor}, is stopped by a signal" in said
    finally:
        os.kill(supervisor, signal.SIGCONT)
    (tmp_path / "go").touch()
    output, _ = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, output


def test_a_long_path_with_spaces_works(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / ("e" * 120) / "with space"
    deep.mkdir(parents=True)
    flow = Flow(deep, SLOW.replace("sleep 4; ", ""))
    flow.headway("run")
    assert (deep / "out").exists()


def test_results_are_reused_after_the_directory_was_moved(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    flow = Flow(tmp_path / "one", SLOW.replace("sleep 4; ", ""))
    flow.headway("run")
    shutil.move(tmp_path / "one", tmp_path / "two")
    moved = Flow(tmp_path / "two", SLOW.replace("sleep 4; ", ""))
    moved.headway("run")
    assert moved.launches() == []


def test_a_missing_container_runtime_is_reported_in_one_sentence(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: c\ntasks:\n  a:\n    run: 'true'\n    container: alpine\n")
    path = str(Path(sys.executable).parent)  # without any container runtime
    done = flow.headway("run", code=1, PATH=path)
    assert "none of apptainer, singularity, podman, docker" in done.stdout + done.stderr


def _processes_of(directory: Path) -> list[str]:
    """Return the command lines of processes that work in the directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(process.joinpath("cwd").readlink()).startswith(str(directory)):
                found.append(process.joinpath("cmdline").read_text())
        except OSError:
            continue
    return found


def test_a_supervisor_that_cannot_start_is_reported_in_one_sentence(tmp_path: Path) -> None:
    flow = Flow(tmp_path, SLOW)
    done = flow.headway("run", "--measure", "cgroup-v2", code=None)
    if done.returncode == 0:
        pytest.skip("cgroup v2 is delegated here")
    assert done.returncode == 3
    assert "the node supervisor ended at once" in done.stderr and len(done.stderr.splitlines()) == 1


def test_cancel_ends_tasks_whose_manager_and_supervisor_died(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: s\ntasks:\n  a:\n    run: echo begin >> log; sleep 600\n")
    manager = flow.start("run")
    wait_until((tmp_path / "log").exists)
    supervisor = flow.supervisor()
    assert supervisor is not None
    manager.kill()
    manager.wait()
    os.kill(supervisor, signal.SIGKILL)
    flow.headway("cancel")
    wait_until(lambda: not _processes_of(tmp_path), 5)


def test_a_stopped_supervisor_does_not_block_cancel_or_resume(tmp_path: Path) -> None:
    flow = Flow(tmp_path, SLOW.replace("sleep 4", "sleep 600"))
    manager = flow.start("run", "--grace", "0.2s")
    wait_until(lambda: list(tmp_path.glob(".headway/runs/1/tasks/a/1/stdout")))
    supervisor = flow.supervisor()
    assert supervisor is not None
    os.kill(supervisor, signal.SIGSTOP)
    manager.kill()
    manager.wait()
    resumed = flow.start("resume", "--grace", "0.2s")
    wait_until(lambda: Project(tmp_path).manager())
    time.sleep(1)
    flow.headway("cancel")
    assert resumed.wait(60) == 130
    wait_until(lambda: not _processes_of(tmp_path))


def test_an_early_ctrl_c_leaves_no_supervisor(tmp_path: Path) -> None:
    for number in range(6):
        directory = tmp_path / str(number)
        directory.mkdir()
        flow = Flow(directory, SLOW)
        manager = flow.start("run")
        wait_until(lambda: manager.poll() is not None or list(directory.glob(".headway/runs/1/jobs/*")))  # noqa: B023
        time.sleep(number * 0.03)
        manager.send_signal(signal.SIGINT)
        manager.send_signal(signal.SIGINT)
        manager.wait(60)
        wait_until(lambda: not _processes_of(directory))  # noqa: B023


def test_a_run_can_be_resumed_after_its_directory_was_moved(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    flow = Flow(tmp_path / "one", SLOW.replace("sleep 4", "sleep 600"))
    manager = flow.start("run", "--grace", "0.2s")
    wait_until(lambda: list(tmp_path.glob("one/.headway/runs/1/tasks/a/1/stdout")))
    manager.send_signal(signal.SIGTERM)
    assert manager.wait(60) == 130
    shutil.move(tmp_path / "one", tmp_path / "two")
    again = Flow(tmp_path / "two", SLOW)
    resumed = again.start("resume", "--grace", "0.2s")
    wait_until(lambda: list(tmp_path.glob("two/.headway/runs/1/tasks/a/2/stdout")))
    resumed.send_signal(signal.SIGTERM)
    assert resumed.wait(60) == 130
    assert not (tmp_path / "one").exists()


def test_again_starts_afresh_despite_a_damaged_journal(tmp_path: Path) -> None:
    flow = Flow(tmp_path, SLOW.replace("sleep 4; ", ""))
    flow.headway("run")
    with sqlite3.connect(tmp_path / ".headway/runs/1/journal.db") as database:
        database.execute("UPDATE records SET body = '{}' WHERE sequence = 3")
    assert "headway run --again" in flow.headway("run", code=3).stderr
    flow.headway("run", "--again")


def test_outputs_that_leave_the_directory_through_a_link_are_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "flow").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "flow" / "results").symlink_to(tmp_path / "elsewhere")
    flow = Flow(tmp_path / "flow", "name: o\ntasks:\n  a:\n    run: echo > results/a\n    outputs: [results/a]\n")
    assert "would leave the workflow's directory through a link" in flow.headway("run", code=2).stderr
