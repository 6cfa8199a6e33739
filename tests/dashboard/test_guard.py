"""Who may ask the dashboard for what: a real server, over real sockets."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("prometheus_client")

from prometheus_client.parser import text_string_to_metric_families

from tests.cli.bench import SMALL, Bench
from tests.dashboard.servers import Server, read_reply, read_until, serving

ODD = "<script>bad('x')</script>"
WORKFLOW = f"""
name: guarded
tasks:
  "{ODD}":
    run: printf 'one\\033[31mred\\033[0m\\n<img src=x onerror=bad()>\\n'; echo wrong >&2; exit 3
    outputs: [never]
  fine:
    run: seq 30000; touch fine
    outputs: [fine]
"""
HOLD = """
name: held
tasks:
  hold:
    run: until [ -e GO ]; do sleep 0.05; done; touch held
    outputs: [held]
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    home = tmp_path_factory.mktemp("guard")
    made = Bench(home / "flow", home)
    made.write(WORKFLOW)
    assert made("run", "-q", "--keep-going", *SMALL).returncode == 1
    return made


@pytest.fixture(scope="module")
def server(bench: Bench) -> Iterator[Server]:
    with serving(bench, "--share") as found:
        yield found


@pytest.fixture(scope="module")
def slow(server: Server) -> Iterator[list[socket.socket]]:
    """Callers that never come to the end of their request: of its headers, and of its body."""
    begun = [b"GET / HTTP/1.1\r\nhost: " for _ in range(40)]
    head = f"POST /runs/x/cancel HTTP/1.1\r\nhost: {server.host}\r\ncontent-length: 50\r\n"
    begun.append(f"{head}authorization: Bearer {server.token}\r\nx-headway-csrf: {csrf_of(server)}\r\n\r\n12".encode())
    connections = [server.connect() for _ in begun]
    for connection, words in zip(connections, begun, strict=True):
        connection.sendall(words)
    yield connections
    for connection in connections:
        connection.close()


def csrf_of(server: Server) -> str:
    return str(re.findall(r'name="csrf" content="(\w{64})"', server.ask("/").body)[0])


@pytest.fixture
def run(server: Server, slow: list[socket.socket]) -> str:
    """The address of the run; asked for while slow callers are there."""
    return f"/runs/{server.runs()['guarded 1']['id']}"


def test_without_the_token_nothing_is_said(server: Server, run: str) -> None:
    for path in ("/", run, f"{run}/events", "/metrics", "/static/page.js", "/nothing"):
        assert server.ask(path, authorization="").status == 401
        assert server.ask(path, token="0" * 43).status == 401
        assert server.ask(f"{path}?token=wrong", authorization="").status == 401
        assert server.ask(path, authorization="", cookie="headway-00000000=x; =;;").status == 401
    assert "guarded" not in server.ask("/", authorization="").body


def test_the_token_moves_from_the_address_into_a_cookie(server: Server, run: str) -> None:
    reply = server.ask(f"{run}?token={server.token}&a=1", authorization="")
    assert (reply.status, reply.headers["location"]) == (303, f"{run}?a=1")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert server.ask(run, authorization="", cookie=cookie.partition(";")[0]).status == 200
    assert server.ask(f"//elsewhere/?token={server.token}", authorization="").headers["location"] == "/elsewhere/"
    other = server.ask(f"/?token={server.token}", authorization="", sec_fetch_site="cross-site")
    assert other.status == 200 and "refresh" in other.body and server.token not in other.body


def test_every_answer_has_the_headers_that_protect_it(server: Server, run: str) -> None:
    for path in ("/", run, "/metrics", "/static/page.css", "/nothing"):
        headers = server.ask(path).headers
        policy = headers["content-security-policy"]
        assert "unsafe" not in policy and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
    page = server.ask(run).body
    assert not re.search(r"<script>|<style|style=|\son\w+=", page), "scripts and styles are files of their own"


def test_other_names_and_other_pages_are_refused(server: Server, run: str) -> None:
    for host in ("evil.example", f"evil.example:{server.told['port']}", "127.0.0.1.evil.example", ""):
        assert server.ask("/", host=host).status in (400, 421)
    assert server.ask("/", host="localhost:8080").status == 200, "behind ssh -L the port is another one"
    for origin in ("http://evil.example", "null", "https://" + server.host, "http://127.0.0.1:1"):
        assert server.ask("/", origin=origin).status == 403
        assert server.ask(f"{run}/cancel", "POST", origin=origin).status == 403


def test_a_post_needs_the_csrf_token_of_a_page_and_the_owner(server: Server, run: str) -> None:
    csrf = csrf_of(server)
    for act in ("cancel", "resume"):
        path = f"{run}/{act}"
        assert server.ask(path).status == 405, "nothing changes by GET"
        assert server.ask(path, "POST").status == 403
        assert server.ask(path, "POST", x_headway_csrf="0" * 64).status == 403
        assert server.ask(path, "POST", x_headway_csrf=csrf, sec_fetch_site="cross-site").status == 403
        assert server.ask(path, "POST", x_headway_csrf=csrf, sec_fetch_site="same-site").status == 403
    reply = server.ask(f"{run}/cancel", "POST", x_headway_csrf=csrf, origin=f"http://{server.host}")
    assert reply.status == 200 and "already over" in reply.json()["message"]
    reader = server.told["share"].partition("token=")[2]
    page = server.ask(run, token=reader)
    assert page.status == 200 and csrf not in page.body and "read only" in page.body
    reply = server.ask(f"{run}/cancel", "POST", token=reader, x_headway_csrf=csrf)
    assert (reply.status, reply.body) == (403, "This link only shows; it changes nothing.\n")
    assert server.ask("/", "DELETE").status == 405


def test_logs_come_from_the_folder_of_the_run_only(server: Server, run: str, bench: Bench, tmp_path: Path) -> None:
    said = server.ask(f"{run}/tasks/0/log?stream=stdout").json()
    assert said["text"] == "onered\n<img src=x onerror=bad()>\n"
    whole = server.ask(f"{run}/tasks/1/log").json()
    assert whole["begin"] == whole["size"] - 64_000 and whole["text"].endswith("\n30000\n")
    assert server.ask(f"{run}/tasks/1/log?after={whole['size']}&attempt=1").json()["text"] == ""
    for path in (
        f"{run}/tasks/..%2f..%2f..%2fworkflow.yaml/log",
        f"{run}/tasks/0/log/../../../../etc/passwd",
        f"{run}/tasks/0/%2e%2e/%2e%2e/journal.db",
        f"{run}/tasks/99/log",
        f"{run}/tasks/-1/log",
        "/runs/..%2f..%2f.headway/events",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
    ):
        assert server.ask(path).status == 404, path
    for query in ("stream=result.json", "stream=../../../workflow.yaml", "stream=%2e%2e%2fx", "attempt=x", "after=-1"):
        assert server.ask(f"{run}/tasks/0/log?{query}").status == 400, query
    assert server.ask(f"{run}/tasks/0/log?attempt=7").status == 400
    # What a task puts in place of its log is not followed.
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "stdout").write_text("secret")
    logs = bench.directory / ".headway/runs/1"
    for place in ("stdout", "."):
        copy = bench.directory / f"linked{len(place)}"
        shutil.copytree(logs, copy / ".headway/runs/1")
        (copy / ".headway/runs/1/logs.db").unlink()
        attempt = copy / ".headway/runs/1/tasks/fine/1"
        attempt.parent.mkdir(parents=True, exist_ok=True)
        if place == ".":
            shutil.rmtree(attempt, ignore_errors=True)
            attempt.symlink_to(secret)
        else:
            attempt.mkdir(exist_ok=True)
            (attempt / "stdout").symlink_to(secret / "stdout")
    bench.wait_for(lambda: len(linked(server)) == 2, "the copies in the list")
    for name in linked(server):
        assert server.ask(f"/runs/{name}/tasks/1/log").json()["text"] == ""


def linked(server: Server) -> list[str]:
    with server.connect() as connection:
        connection.sendall(server.events("/events"))
        rows = json.loads(read_until(connection, b"\n\n", after=b"data: ").partition(b"data: ")[2])["rows"]
    return [row["id"] for row in rows if row["where"].startswith("linked")]


def test_what_is_too_large_is_refused(server: Server, run: str) -> None:
    post = f"POST {run}/cancel HTTP/1.1\r\nhost: {server.host}\r\nauthorization: Bearer {server.token}\r\n"
    post += f"x-headway-csrf: {csrf_of(server)}\r\n"
    assert server.send((post + "content-length: 99999999\r\n\r\n").encode()).status == 413
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    assert server.send((post + "transfer-encoding: chunked\r\n\r\n").encode() + chunk * 2 + b"0\r\n\r\n").status == 413
    assert server.ask("/", x_long="x" * 100_000).status in (0, 400, 431)
    assert server.ask("/?" + "a" * 60_000).status in (0, 400, 431)
    assert server.send(b"\x16\x03\x01 this is no HTTP\r\n\r\n").status in (0, 400)


def test_odd_names_stay_text(server: Server, run: str) -> None:
    text = server.ask(f"{run}/tasks/0/why?width=60").json()["text"]
    assert text.startswith(f"{ODD}, run 1 of guarded: failed")
    assert ODD not in server.ask(run).body and "&lt;script" not in server.ask("/").body
    found = {family.name: family for family in text_string_to_metric_families(server.ask("/metrics").body)}
    states = {sample.labels["state"]: sample.value for sample in found["headway_runs"].samples}
    assert states["failed"] >= 1
    assert ODD in {sample.labels["category"] for sample in found["headway_tasks"].samples}
    assert server.ask(f"/metrics?token={server.token}", authorization="").status == 200


def test_damaged_and_deleted_runs_do_not_stop_it(server: Server, run: str, bench: Bench, tmp_path: Path) -> None:
    place = bench.directory / "damaged"
    for number, text in (("1", b"no database"), ("2", b"")):
        (place / ".headway/runs" / number).mkdir(parents=True)
        (place / ".headway/runs" / number / "journal.db").write_bytes(text)
    shutil.copytree(bench.directory / ".headway/runs/1", place / ".headway/runs/3")
    with sqlite3.connect(place / ".headway/runs/3/journal.db") as database:
        database.execute("DELETE FROM records WHERE kind = 'tasks-added'")

    def rows() -> list[dict[str, str]]:
        return [row for row in server.runs().values() if row["where"] == "damaged"]

    bench.wait_for(lambda: " 3" in server.runs(), "the damaged runs in the list")
    assert {row["state"] for row in rows()} == {"unreadable"}
    broken = server.runs()[" 3"]
    assert "damaged" in broken["trouble"]
    with server.connect() as connection:
        connection.sendall(server.events(f"/runs/{broken['id']}/events"))
        assert b"event: trouble" in read_until(connection, b"\n\n", after=b"data: ")
    assert server.ask(f"/runs/{broken['id']}/graph").status == 400
    shutil.rmtree(place)
    bench.wait_for(lambda: not rows(), "the deleted runs to leave the list")
    assert server.ask(f"/runs/{broken['id']}/events").status == 404
    assert server.ask(run).status == 200


def test_two_hundred_viewers_all_see_the_end(server: Server, bench: Bench) -> None:
    held = Bench(bench.directory / "held", bench.directory.parent)
    held.write(HOLD.replace("GO", f"{held.directory}/go"))  # a sandbox has no files that come later
    manager = held.start("run", "-q", *SMALL)
    bench.wait_for(lambda: server.runs().get("held 1", {}).get("state") == "running", "the run in the list")
    request = server.events(f"/runs/{server.runs()['held 1']['id']}/events")

    async def view(everyone: asyncio.Barrier) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.told["port"], limit=2**22)
        writer.write(request)
        first = await reader.readuntil(b"\n\n")
        await everyone.wait()
        while b'"state":"succeeded"' not in (told := await reader.readuntil(b"\n\n")):
            assert b"event: trouble" not in told
        writer.close()
        return first + told

    async def all_of_them() -> list[bytes]:
        everyone = asyncio.Barrier(201)
        async with asyncio.timeout(240), asyncio.TaskGroup() as group:
            viewers = [group.create_task(view(everyone)) for _ in range(200)]
            await everyone.wait()
            (held.directory / "go").touch()
        return [viewer.result() for viewer in viewers]

    try:
        told = asyncio.run(all_of_them())
    finally:
        (held.directory / "go").touch()
        assert manager.wait(120) == 0
    assert len(told) == 200 and all(b"event: whole" in each and b"event: change" in each for each in told)


def test_slow_callers_are_let_go(server: Server, slow: list[socket.socket]) -> None:
    """All the other tests ran beside them."""
    for connection in slow[:-1]:
        assert connection.recv(100) == b""
    assert read_reply(slow[-1]).status == 413


def test_a_socket_is_for_its_owner_only(bench: Bench, tmp_path: Path) -> None:
    place = Path(os.path.relpath(tmp_path / "dash.sock", bench.directory))
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dash.sock"))  # left by a server that was killed
    with serving(bench, "--socket", str(place)) as found:
        assert stat.S_IMODE((tmp_path / "dash.sock").stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(str(tmp_path / "dash.sock"))
            head = f"GET / HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {found.token}"
            connection.sendall(f"{head}\r\nconnection: close\r\n\r\n".encode())
            assert read_reply(connection).status == 200
        assert "another server listens here" in bench.fails(2, "serve", "--socket", str(place))
    assert not (tmp_path / "dash.sock").exists()
    assert "is no socket" in bench.fails(2, "serve", "--socket", "workflow.yaml")
    assert "leave one of the two out" in bench.fails(2, "serve", "--socket", "x", "--port", "1")
    assert "no such directory" in bench.fails(2, "serve", "nowhere")


def test_metrics_in_a_file(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "headway.prom"
    with serving(bench, "--metrics-file", str(file), "--token-file", str(tmp_path / "token")) as found:
        assert found.token == (tmp_path / "token").read_text().strip()
        bench.wait_for(file.exists, "the metrics")
    names = {each.name for family in text_string_to_metric_families(file.read_text()) for each in family.samples}
    shown = (Path(__file__).parents[2] / "examples/grafana/headway.json").read_text()
    used = set(re.findall(r"headway_\w+", shown))
    assert used and used <= names


def test_a_token_of_odd_letters_survives_its_cookie(bench: Bench, tmp_path: Path) -> None:
    token = '"a;b=c,\\%41' + "x" * 32
    (tmp_path / "token").write_text(token)
    (tmp_path / "token").chmod(0o600)
    with serving(bench, "--token-file", str(tmp_path / "token")) as found:
        cookie = found.ask(f"/?token={found.token}", authorization="").headers["set-cookie"].partition(";")[0]
        assert found.ask("/", authorization="", cookie=f"other=1; {cookie}").status == 200
        assert found.ask("/", authorization="", cookie=cookie + "0").status == 401
