"""The history: later runs use what earlier runs learned, also after kills, in parallel, and with a broken file."""

from __future__ import annotations

import re
import signal
import socket
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import headway
from headway.history.sqlite import SqliteHistory
from headway.model.observation import Observation
from headway.model.outcome import Ending
from headway.model.records import Finish, HistoryRead, Resumed, RunStarted
from tests.end_to_end.project import Flow, wait_until

MACHINE = ("--cores", "2", "--memory", "2GB", "--disk", "1GB", "--sizer", "max-seen")
HOGS = """
name: hogs
tasks:
  hog:
    each: {n: [1, 2, 3]}
    run: python3 -c "x = bytearray(300_000_000)"
    resources: {memory: 200 MB, cores: 0.2}
  small:
    run: echo done > out
    outputs: [out]
"""


def kept(location: Path) -> list[Observation]:
    return [each.observation for each in SqliteHistory(location, read_only=True).all()]


def memory_rules(flow: Flow, run: str) -> set[str]:
    return {launch.why["memory_bytes"].rule for launch in flow.launches(run)}


def test_the_second_run_uses_what_the_first_run_learned(tmp_path: Path, own_history: Path) -> None:
    flow = Flow(tmp_path, HOGS)
    flow.headway("run", *MACHINE)
    assert {"hint", "share-of-machine"} <= memory_rules(flow, "1")
    failed = [seen for seen in kept(own_history) if seen.ending is Ending.MEMORY]
    assert failed and {seen.given.memory_bytes for seen in failed} == {200_000_000}
    assert len(kept(own_history)) == len(flow.launches("1"))

    plan = flow.json("run", "--again", "--dry-run", *MACHINE)
    assert {task["given"]["memory_bytes"] for task in plan["tasks"] if task["category"] == "hog"} == {500_000_000}
    shown = flow.headway("run", "--again", *MACHINE).stdout
    assert f"{len(flow.launches('1'))} earlier attempts known" in shown
    awe = re.search(r"memory AWE (\d+)%, in run 1 it was (\d+)%", shown)
    assert awe and int(awe[1]) > int(awe[2])
    assert memory_rules(flow, "2") == {"max-seen"}
    assert [launch.attempt for launch in flow.launches("2")] == [1, 1, 1, 1], "no failure"

    assert "earlier" not in flow.headway("run", "--again", "--fresh", *MACHINE).stdout
    assert "hint" in memory_rules(flow, "3")
    assert len(kept(own_history)) == sum(len(flow.launches(run)) for run in "123"), (
        "a run with --fresh still adds to the history"
    )
    (site,) = {each.site for each in SqliteHistory(own_history).all()}
    assert site == socket.gethostname()


def test_the_default_sizer_learns_from_earlier_runs(tmp_path: Path) -> None:
    flow = Flow(tmp_path, HOGS)
    flow.headway("run", *MACHINE[:-2])
    flow.headway("run", "--again", *MACHINE[:-2])
    unlearned = {"hint", "share-of-machine", "start"}
    assert memory_rules(flow, "1") & unlearned
    assert not memory_rules(flow, "2") & unlearned


def test_history_none_keeps_no_history(tmp_path: Path, own_history: Path) -> None:
    flow = Flow(tmp_path, HOGS)
    flow.headway("run", "--history", "none", *MACHINE)
    assert not own_history.exists()
    (started,) = [record for record in flow.records() if isinstance(record, RunStarted)]
    assert started.history is None


SLOW = """
name: slow
tasks:
  quick:
    each: {n: [1, 2, 3, 4]}
    run: "true"
  slow:
    needs: [quick]
    run: touch begun; while [ ! -e go ]; do sleep 0.05; done
"""


@pytest.mark.parametrize("verb", ["resume", "run", "cancel"])
def test_observations_that_a_killed_manager_did_not_write_are_added_once(
    tmp_path: Path, own_history: Path, verb: str
) -> None:
    flow = Flow(tmp_path, SLOW)
    manager = flow.start("run", "--cores", "2")
    wait_until((tmp_path / "begun").exists)
    manager.send_signal(signal.SIGKILL)
    manager.wait()
    before = len(kept(own_history))
    assert before < 4, "the last observations were not yet written"
    if verb == "run":
        supervisor = flow.supervisor()
        assert supervisor is not None
        subprocess.run(["kill", "-9", str(supervisor)], check=True)
        wait_until(lambda: flow.supervisor() is None)
    (tmp_path / "go").touch()
    flow.headway(verb)
    found = kept(own_history)
    assert len(found) == len({(seen.run, seen.task, seen.attempt) for seen in found})
    assert sorted(seen.task for seen in found if seen.category == "quick") == [f"quick[{n}]" for n in (1, 2, 3, 4)]
    if verb == "resume":
        assert [seen.task for seen in found if seen.category == "slow"] == ["slow"]


def test_a_resumed_run_keeps_the_history_it_started_with(tmp_path: Path, own_history: Path) -> None:
    flow = Flow(tmp_path, SLOW)
    (tmp_path / "go").touch()
    flow.headway("run")
    for name in ("go", "begun"):
        (tmp_path / name).unlink()
    manager = flow.start("run", "--again")
    wait_until((tmp_path / "begun").exists)
    manager.kill()
    manager.wait()
    own_history.unlink()
    (tmp_path / "go").touch()
    flow.headway("resume")
    records = flow.records("2")
    (read,) = [record for record in records if isinstance(record, HistoryRead)]
    assert len(read.observations) == 5
    assert any(isinstance(record, Resumed) for record in records)
    assert {seen.run for seen in kept(own_history)} == {records[0].uid}, (
        "the new history holds all observations of this run"
    )
    assert len(kept(own_history)) == 5


def test_parallel_runs_share_one_history(tmp_path: Path, own_history: Path) -> None:
    flows = []
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        flows.append(Flow(tmp_path / name, HOGS))
    managers = [flow.start("run", *MACHINE) for flow in flows]
    for manager in managers:
        output, _ = manager.communicate(timeout=120)
        assert manager.returncode == 0 and "not kept" not in output, output
    assert len(kept(own_history)) == sum(len(flow.launches()) for flow in flows)
    flows[0].headway("run", "--again", *MACHINE)
    (read,) = [record for record in flows[0].records() if isinstance(record, HistoryRead)]
    assert len({seen.run for seen in read.observations}) == 3


def broken(location: Path) -> None:
    location.write_bytes(b"not a database " * 1000)


def newer(location: Path) -> None:
    SqliteHistory(location).close()
    with sqlite3.connect(location) as database:
        database.execute("PRAGMA user_version=99")


def a_directory(location: Path) -> None:
    location.mkdir()


@pytest.mark.parametrize("spoil", [broken, newer, a_directory])
def test_an_unusable_history_costs_one_line_of_warning_and_the_run_succeeds(
    tmp_path: Path, own_history: Path, spoil
) -> None:
    spoil(own_history)
    flow = Flow(tmp_path, HOGS)
    done = flow.headway("run", *MACHINE)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("headway: nothing is learned from earlier runs") and str(own_history) in done.stderr
    assert [record.status for record in flow.records() if isinstance(record, Finish)] == ["succeeded"]


def test_a_history_in_a_read_only_directory_costs_one_line_of_warning(tmp_path: Path, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    flow = Flow(tmp_path, HOGS)
    done = flow.headway("run", *MACHINE, HEADWAY_HISTORY=str(small_disk / "headway" / "history.db"))
    assert done.stderr.count("\n") == 1 and "Read-only file system" in done.stderr


def test_runs_started_from_python_learn_from_earlier_runs(tmp_path: Path, own_history: Path) -> None:
    script = tmp_path / "fit.py"
    script.write_text(
        textwrap.dedent("""
        import sys
        import headway

        def fit(n):
            return n + 1

        if __name__ == "__main__":
            fresh = "fresh" in sys.argv
            with headway.Executor(sys.argv[1], cores=2, memory="4 GB", sizer="max-seen", fresh=fresh) as executor:
                assert list(executor.map(fit, range(3))) == [1, 2, 3]
    """)
    )
    rules = {}
    for run, words in (("first", []), ("second", []), ("third", ["fresh"])):
        (tmp_path / run).mkdir()
        subprocess.run([sys.executable, script, tmp_path / run, *words], cwd=tmp_path, check=True, timeout=60)
        flow = Flow(tmp_path / run, "")
        rules[run] = flow.launches()[0].why["memory_bytes"].rule
    assert rules == {"first": "share-of-machine", "second": "max-seen", "third": "share-of-machine"}
    assert {each.workflow for each in SqliteHistory(own_history).all()} == {"calls in fit.py"}
    assert len(kept(own_history)) == 9

    flow = headway.Workflow("built")
    flow.task("hello", "true")
    for fresh, rule in ((False, "share-of-machine"), (False, "max-seen"), (True, "share-of-machine")):
        run = headway.run(flow, tmp_path, cores=2, sizer="max-seen", again=True, fresh=fresh)
        (launch,) = Flow(tmp_path, "").launches(run.number)
        assert launch.why["memory_bytes"].rule == rule


def test_an_unusable_history_warns_a_python_program(tmp_path: Path, own_history: Path) -> None:
    broken(own_history)
    flow = headway.Workflow("built")
    flow.task("hello", "true")
    with pytest.warns(RuntimeWarning, match="nothing is learned from earlier runs"):
        assert headway.run(flow, tmp_path, cores=2).status == "succeeded"
