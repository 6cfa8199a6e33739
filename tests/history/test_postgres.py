"""What is PostgreSQL's own about a history: logging in, trouble with the server. The rest is in `test_contract.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headway.history import location as place_module
from headway.history import postgres
from headway.history.location import find_history, history_location, open_history
from headway.model.errors import SiteError
from tests.history.observations import observation
from tests.history.postgres_server import PostgresServer
from tests.slurm.processes import wait_until


@pytest.fixture
def ada(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of somebody who needs a password, s3cret, by TCP."""
    monkeypatch.setattr(place_module, "_SECRETS", {})
    for variable in ("PGPASSWORD", "PGPASSFILE", "HEADWAY_HISTORY"):
        monkeypatch.delenv(variable, raising=False)
    server.sql(
        "DROP OWNED BY ada" if server.sql("SELECT 1 FROM pg_roles WHERE rolname = 'ada'") else "CREATE ROLE ada",
        "ALTER ROLE ada LOGIN PASSWORD 's3cret'",
        "GRANT CREATE ON DATABASE postgres TO ada",
    )
    return server.url_by_tcp("ada")


def works(address: str) -> None:
    open_history(address).add("here", "flow", [observation()])


def test_a_password_in_the_address_counts_in_this_process(ada: str, server: PostgresServer) -> None:
    place = history_location(server.url_by_tcp("ada", "s3cret"))
    assert place == ada
    works(place)


def test_a_password_in_the_environment_counts_when_a_run_is_resumed(
    ada: str, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_HISTORY", server.url_by_tcp("ada", "s3cret"))
    works(ada)
    for other in (server.url_by_tcp("bob", "s3cret"), "mysql://ada:s3cret@db/h", "history.db"):
        monkeypatch.setenv("HEADWAY_HISTORY", other)
        with pytest.raises(SiteError, match="no password supplied"):
            works(ada)


def test_passwords_are_found_where_libpq_looks_for_them(
    ada: str, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSWORD", "s3cret")
        works(ada)
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"127.0.0.1:{server.port}:*:ada:s3cret\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    works(ada)


def test_a_wrong_password_is_an_error_that_does_not_show_it(ada: str, server: PostgresServer) -> None:
    place = history_location(server.url_by_tcp("ada", "wr0ng"))
    with pytest.raises(
        SiteError, match=r'cannot open the history: .*authentication failed for user "ada".*;'
    ) as caught:
        open_history(place)
    assert "wr0ng" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_user_without_the_right_to_create_a_schema_can_be_given_one(
    ada: str, server: PostgresServer, monkeypatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    server.sql("REVOKE CREATE ON DATABASE postgres FROM ada")
    with pytest.raises(SiteError, match="cannot open the history: permission denied for database postgres"):
        open_history(ada)
    server.sql("CREATE SCHEMA headway AUTHORIZATION ada")
    assert find_history(ada) is None
    works(ada)


def test_a_user_who_may_only_read_can_read(ada: str, server: PostgresServer, monkeypatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    works(server.url)
    with pytest.raises(SiteError, match="cannot open the history: permission denied"):
        find_history(ada)
    server.sql("GRANT USAGE ON SCHEMA headway TO ada", "GRANT SELECT ON ALL TABLES IN SCHEMA headway TO ada")
    found = find_history(ada)
    assert found is not None and [figures.observations for figures in found.figures()] == [1]
    with pytest.raises(SiteError, match="cannot write the history: permission denied"):
        found.add("here", "flow", [observation(2)])


def test_other_tables_of_the_database_are_not_touched(server: PostgresServer) -> None:
    server.sql("DROP TABLE IF EXISTS public.observations", "CREATE TABLE public.observations (bird TEXT)")
    works(server.url)
    assert server.sql("SELECT * FROM public.observations") == []
    assert server.sql("SELECT count(*) FROM headway.observations") == [(1,)]


def test_no_connection_stays_open(server: PostgresServer) -> None:
    history = open_history(server.url)
    history.add("here", "flow", [observation(number) for number in range(3)])
    next(history.all())  # and no more of it
    history.figures()
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'headway' AND state <> 'idle'"
    wait_until(lambda: server.sql(count) == [(0,)], "the server to end the processes of closed connections")


def test_a_restart_of_the_server_between_transactions_does_no_harm(server: PostgresServer) -> None:
    history = open_history(server.url)
    server.stop()
    with pytest.raises(SiteError, match=r"cannot write the history: .* failed: No such file or directory; check"):
        history.add("here", "flow", [observation()])
    server.start()
    history.add("here", "flow", [observation()])
    assert len(list(history.all())) == 1


def test_a_server_that_dies_during_a_change(server: PostgresServer) -> None:
    history = open_history(server.url)

    def change(state: object) -> dict[str, int]:
        server.kill()
        return {"n": 1}

    with pytest.raises(SiteError, match="cannot write the history: ") as caught:
        history.update_state("here", "asa", change)
    assert "\n" not in str(caught.value)
    server.start()
    assert history.state("here", "asa") is None


def test_a_server_that_stops_answering_is_disconnected(server: PostgresServer, monkeypatch) -> None:
    monkeypatch.setattr(postgres, "ANSWER_S", 1.0)
    history = open_history(server.url)
    frozen: list[int] = []

    def change(state: object) -> dict[str, int]:
        (ours,) = server.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'headway'")
        subprocess.run(["kill", "-STOP", str(ours[0])], check=True)
        frozen.append(ours[0])
        return {"n": 1}

    try:
        with pytest.raises(SiteError, match="cannot write the history: no answer for 1 s;"):
            history.update_state("here", "asa", change)
    finally:
        subprocess.run(["kill", "-CONT", *map(str, frozen)], check=True)
    assert history.update_state("here", "other", lambda _: {"n": 2}) == {"n": 2}


def test_a_server_that_accepts_connections_and_never_answers(server: PostgresServer, monkeypatch) -> None:
    monkeypatch.setitem(postgres._CONNECTION, "connect_timeout", 2)
    server.freeze()
    with pytest.raises(SiteError, match=r"cannot open the history: .*timeout"):
        open_history(server.url)


def test_a_text_that_no_database_can_store(server: PostgresServer) -> None:
    history = open_history(server.url)
    for name in ("zero \0", "half \ud800"):
        with pytest.raises(SiteError, match="cannot write the history: "):
            history.add("here", name, [observation()])
    assert history.figures() == []


def test_psycopg_is_loaded_only_for_a_server() -> None:
    code = "import sys, headway.drivers.run_history, headway.history.location; print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_psycopg_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "headway.history.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SiteError, match=r"db/h: .* needs psycopg .*; pip install 'headway\[postgres\]'"):
        open_history("postgresql://db/h")
