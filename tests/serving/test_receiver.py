"""`headway receive`, with requests as Nextflow 25.04 sends them; its own client is not to be had where tests run."""

from __future__ import annotations

import base64
import json
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.formats.nextflow_records import SEEN_AFTER_S, WRAPPER_BYTES
from headway.serving.receiver import LARGEST_BYTES
from tests.cli.bench import PATIENCE_S, Bench

# As it was sent, without fields that say nothing about sizes.
TASK = {
    **{"taskId": 3, "status": "COMPLETED", "hash": "02/7fd65e", "name": "HOLD (2)", "exit": 0, "process": "HOLD"},
    **{
        "submit": "2026-11-17T00:48:30.211Z",
        "start": "2026-11-17T00:48:30.324Z",
        "tag": "2",
        "module": [],
        "attempt": 1,
    },
    **{
        "script": "python3 hold.py",
        "cpus": 1,
        "memory": 943718400,
        "time": None,
        "env": "PATH=$PATH\n",
        "duration": 4820,
    },
    **{
        "complete": "2026-11-17T00:48:35.031Z",
        "realtime": 4388,
        "pcpu": 2.7,
        "peakRss": 112074752,
        "executor": "local",
    },
}


class Tower(Bench):
    """A receiver, and the client."""

    def __init__(self, home: Path) -> None:
        super().__init__(home / "work", home)
        self.process = self.start("receive", "--port", "0")
        assert self.process.stderr is not None
        self.said = [self.process.stderr.readline() for _ in range(3)]
        self.endpoint = self.said[-1].split()[-1]
        self.token = (self.directory / ".headway" / "receive-token").read_text().strip()

    def send(
        self, method: str, path: str, body: bytes | dict[str, Any], token: str | None = None
    ) -> tuple[int, dict[str, str]]:
        secret = base64.b64encode(f"@token:{token or self.token}".encode()).decode()
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            self.endpoint + path, data, {"Authorization": f"Basic {secret}"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def refuses(
        self, status: int, method: str, path: str, body: bytes | dict[str, Any], token: str | None = None
    ) -> str:
        """Assert that a request is refused with one sentence, and return that."""
        code, answer = self.send(method, path, body, token)
        assert code == status
        assert list(answer) == ["message"]
        assert "\n" not in answer["message"]
        return answer["message"]


@pytest.fixture(scope="module")
def tower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tower]:
    made = Tower(tmp_path_factory.mktemp("tower"))
    yield made
    made.process.kill()
    made.process.communicate(timeout=PATIENCE_S)


def test_what_is_not_nextflows_is_refused_with_a_sentence(tower: Tower) -> None:
    assert (tower.directory / ".headway" / "receive-token").stat().st_mode & 0o777 == 0o600
    assert "token" in tower.refuses(401, "POST", "/trace/create", {}, token="another")
    assert "token" in tower.refuses(401, "PUT", "/trace/1/progress", bytes(LARGEST_BYTES // 64), token="another")
    assert "nothing is received" in tower.refuses(404, "PUT", "/trace/1/else", {})
    assert "nothing is received" in tower.refuses(404, "PUT", "/trace/create", {})
    assert "at most" in tower.refuses(413, "PUT", "/trace/1/progress", bytes(LARGEST_BYTES + 1))
    assert "not a message" in tower.refuses(400, "PUT", "/trace/1/progress", b'{"tasks": [')
    assert "not a message" in tower.refuses(400, "PUT", "/trace/1/progress", {"tasks": 3})
    assert "'many'" in tower.refuses(400, "PUT", "/trace/1/progress", {"tasks": [TASK | {"peakRss": "many"}]})
    assert "not a number or a text" in tower.refuses(400, "PUT", "/trace/1/progress", {"tasks": [TASK | {"exit": [1]}]})


def test_tasks_of_a_run_are_learned_from_and_the_next_run_begins_with_them(tower: Tower) -> None:
    status, created = tower.send("POST", "/trace/create?workspaceId=7", {"runName": "stoic", "workflowId": None})
    assert status == 200
    path = f"/trace/{created['workflowId']}"
    assert tower.send("PUT", f"{path}/begin", {"workflow": {}}) == (200, {"watchUrl": "headway history show commands"})
    running = TASK | {"status": "RUNNING", "exit": 2147483647, "complete": None, "realtime": None, "peakRss": None}
    killed = TASK | {"hash": "4e/10cd9c", "status": "FAILED", "exit": 137, "memory": 50_000_000, "peakRss": None}
    short = TASK | {"hash": "c0/49d575", "realtime": SEEN_AFTER_S * 500, "tag": "two\twords"}
    for tasks in ([running], [TASK, killed], [TASK, short]):  # one is told twice
        assert tower.send("PUT", f"{path}/progress", {"tasks": tasks, "progress": {}}) == (200, {})
    assert tower.send("PUT", f"{path}/heartbeat", {"progress": {}}) == (200, {})
    assert tower.send("PUT", f"{path}/complete", {"workflow": {}, "metrics": []}) == (200, {})
    (tower.directory / "log").write_text(tower.succeeds("history", "export", "commands", "HOLD"))
    kept = {each["task"]: each for each in map(json.loads, (tower.directory / "log").read_text().splitlines())}
    assert set(kept) == {"HOLD[2 02/7fd65e]", "HOLD[2 4e/10cd9c]", "HOLD[two words c0/49d575]"}
    seen = kept["HOLD[2 02/7fd65e]"]
    assert seen["used"]["memory_bytes"] == {"value": TASK["peakRss"] + WRAPPER_BYTES, "quality": "sampled"}  # type: ignore[operator]
    assert (seen["ending"], seen["given"]["memory_bytes"]) == ("success", 943718400)
    assert kept["HOLD[2 4e/10cd9c]"]["ending"] == "memory"
    assert "memory_bytes" not in kept["HOLD[two words c0/49d575]"]["used"]  # hardly seen
    hints = {"memory_bytes": 943718400}
    quoted = quote(tower, {"do": "quote", "quote": "q", "category": "HOLD", "hints": hints})
    assert TASK["peakRss"] < quoted["memory_bytes"] < 943718400 / 2  # type: ignore[operator]


def quote(tower: Tower, request: dict[str, Any]) -> dict[str, float]:
    """What a service of the same directory says."""
    from headway.serving.client import Connection
    from tests.serving.running import Service

    service = Service(tower.directory.parent, "--cores", "2", "--memory", "2GB")
    try:
        connection = Connection(str(tower.directory / ".headway" / "service"))
        connection.send(request)
        answer = next(message for message in connection.receive() if message["event"] != "hello")
        connection.close()
    finally:
        service.stop()
    amounts: dict[str, float] = answer["amounts"]
    return amounts


def test_ctrl_c_ends_it_and_trouble_gets_one_sentence(tower: Tower) -> None:
    port = tower.endpoint.rpartition(":")[2]
    assert "cannot listen" in tower.fails(3, "receive", "--port", port)
    tower.write("short\n", "token")
    assert "at least 8" in tower.fails(2, "receive", "--token-file", "token")
    assert "no history is kept" in tower.fails(2, "receive", HEADWAY_HISTORY="none")
    tower.process.send_signal(signal.SIGINT)
    _, said = tower.process.communicate(timeout=PATIENCE_S)
    assert tower.process.returncode == 0
    assert said.startswith("learned from 4 attempts at tasks of 1 runs")
