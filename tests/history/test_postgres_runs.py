"""Runs whose history is on a server: they learn from it, and go on without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headway.drivers.run_history import RunHistory, history_key
from headway.history.location import open_history
from headway.model.records import Finish, HistoryRead, RunStarted
from tests.end_to_end.project import Flow, wait_until
from tests.history.conftest import Backend
from tests.history.observations import observation
from tests.history.postgres_server import PostgresServer

MACHINE = ("--cores", "2", "--memory", "1GB", "--disk", "1GB")
SLOW = """
name: slow
tasks:
  quick:
    each: {n: [1, 2, 3, 4]}
    run: "true"
  slow:
    needs: [quick]
    run: touch begun; while [ ! -e "${PWD}/go" ]; do sleep 0.05; done
"""


@pytest.fixture
def flow(tmp_path: Path, server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Flow:
    """A workflow whose second stage waits for a file, and whose history is on the server."""
    monkeypatch.setenv("HEADWAY_HISTORY", server.url)
    return Flow(tmp_path, SLOW)


def finished(flow: Flow) -> list[str]:
    return [record.status for record in flow.records() if isinstance(record, Finish)]


def test_a_server_does_everything_that_a_file_does(flow: Flow, server: PostgresServer, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    assert "nothing has been learned yet" in flow.headway("history").stderr
    assert flow.headway("run", "--dry-run", *MACHINE).stderr == ""
    assert server.sql("SELECT to_regnamespace('headway')") == [(None,)], "looking begins no history"
    assert flow.headway("run", *MACHINE).stderr == ""
    assert server.sql("SELECT count(*) FROM headway.observations") == [(5,)]
    assert "5 earlier attempts known" in flow.headway("run", "--again", *MACHINE).stdout
    (read,) = [record for record in flow.records("2") if isinstance(record, HistoryRead)]
    assert len(read.observations) == 5
    answer = flow.json("history")
    assert answer["history"] == server.url
    assert {each["category"]: each["observations"] for each in answer["categories"]} == {"quick": 8, "slow": 2}
    assert len(flow.headway("history", "export", "--file", server.url).stdout.splitlines()) == 10
    assert flow.json("history", "prune", "--keep", "1", "--yes")["removed"] == 8
    assert "quick" in flow.headway("history", "show", "slow", "quick").stdout


def test_tasks_do_not_see_the_address_in_their_environment(server: PostgresServer, tmp_path: Path) -> None:
    """It may hold a password."""
    flow = Flow(tmp_path, "name: nosy\ntasks: {nosy: {run: env > found, outputs: [found]}}\n")
    flow.headway("run", *MACHINE, HEADWAY_HISTORY=server.url, OTHER="there")
    found = (tmp_path / "found").read_text()
    assert "OTHER=there" in found
    assert "HEADWAY_HISTORY" not in found


def test_the_settings_file_and_the_option_give_the_address(
    flow: Flow, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADWAY_HISTORY")
    (tmp_path / "go").touch()
    (tmp_path / "headway.toml").write_text(f'history = "{server.url}"\n')
    flow.headway("run", *MACHINE)
    assert server.sql("SELECT count(*) FROM headway.observations") == [(5,)]
    (tmp_path / "headway.toml").unlink()
    flow.headway("run", "--again", "--history", server.url, *MACHINE)
    assert server.sql("SELECT count(*) FROM headway.observations") == [(10,)]


def test_a_server_that_dies_during_a_run_gives_one_warning(flow: Flow, server: PostgresServer, tmp_path: Path) -> None:
    manager = flow.start("run", *MACHINE)
    wait_until((tmp_path / "begun").exists, 120)
    server.kill()
    (tmp_path / "go").touch()
    output, _ = manager.communicate(timeout=120)
    assert manager.returncode == 0, output
    assert finished(flow) == ["succeeded"]
    assert output.count("headway: ") == output.count("what this run teaches is not kept") == 1, output


def test_a_server_that_is_not_there_gives_one_warning(flow: Flow, server: PostgresServer, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    server.stop()
    for words in (("run", *MACHINE), ("run", "--again", *MACHINE), ("run", "--again", "--dry-run", *MACHINE)):
        done = flow.headway(*words)
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith("headway: nothing is learned from earlier runs") and server.url in done.stderr
    assert finished(flow) == ["succeeded"]
    assert "cannot open the history" in flow.headway("history", code=3).stderr


def test_what_a_killed_manager_had_not_written_is_added_by_resume_and_no_password_is_written_down(
    flow: Flow, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.sql(
        "DROP OWNED BY eve" if server.sql("SELECT 1 FROM pg_roles WHERE rolname = 'eve'") else "CREATE ROLE eve",
        "ALTER ROLE eve LOGIN PASSWORD 's3cret-w0rd'",
        "GRANT CREATE ON DATABASE postgres TO eve",
    )
    monkeypatch.delenv("PGPASSWORD", raising=False)
    address = server.url_by_tcp("eve", "s3cret-w0rd")
    manager = flow.start("run", *MACHINE, HEADWAY_HISTORY=address)
    wait_until((tmp_path / "begun").exists, 120)
    manager.kill()
    output, _ = manager.communicate()
    (tmp_path / "go").touch()
    # The password is libpq's matter now: the run's record does not have it.
    resumed = flow.headway("resume", HEADWAY_HISTORY="none", PGPASSWORD="s3cret-w0rd")
    assert resumed.stderr == ""
    assert server.sql("SELECT count(*), count(DISTINCT task) FROM headway.observations") == [(5, 5)]
    (started,) = [record for record in flow.records() if isinstance(record, RunStarted)]
    assert started.history is not None and started.history.place == server.url_by_tcp("eve")
    answer = flow.headway("history", "--json", "--file", address)
    assert json.loads(answer.stdout)["history"] == server.url_by_tcp("eve")
    wrong = flow.headway("history", "--file", address.replace("w0rd", "wrong"), code=3)
    for text in (output, resumed.stdout, answer.stdout, answer.stderr, wrong.stdout, wrong.stderr):
        assert "s3cret" not in text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert [path for path in files if b"s3cret" in path.read_bytes()] == []


def test_runs_at_the_same_time_all_record(server: PostgresServer, tmp_path: Path) -> None:
    flows = []
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "go").touch()
        flows.append(Flow(tmp_path / name, SLOW))
    managers = [flow.start("run", *MACHINE, HEADWAY_HISTORY=server.url) for flow in flows]
    for manager in managers:
        output, _ = manager.communicate(timeout=120)
        assert manager.returncode == 0 and "not kept" not in output and "nothing is learned" not in output, output
    assert server.sql("SELECT count(*), count(DISTINCT run) FROM headway.observations") == [(15, 3)]


def test_what_was_learned_on_one_cluster_is_not_used_on_another(backend: Backend, place: str) -> None:
    history = open_history(place)
    history.add("north", "flow", [observation(number) for number in range(3)])
    history.close()
    north, south = (RunHistory(history_key(place, "flow", site), pytest.fail) for site in ("north", "south"))
    assert len(north.observations(["count"])) == 3
    assert south.observations(["count"]) == south.observations(None) == []
