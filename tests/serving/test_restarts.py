"""Services that are killed, stopped and started again: no command is lost, none runs twice."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

import headway
from headway.serving.client import PATIENCE_S
from tests.kills import add
from tests.serving.running import CLIENT, Service


def attack(tmp_path: Path, commands: int, at_once: int, kills: int) -> None:
    """Pass commands through a service that is killed again and again."""
    service = Service(tmp_path, "--cores", "2", "--memory", "1GB")
    script = "echo $0 >> ran; sleep 0.05; echo $0"
    words = (
        "--wait",
        "300",
        "--cores",
        str(2 / at_once),
        "--memory",
        "9MB",
        "--category",
        "c",
        "--",
        "sh",
        "-c",
        script,
    )
    waiting = [str(number) for number in range(commands)]
    flying: dict[str, object] = {}
    killed = 0
    while waiting or flying:
        while waiting and len(flying) < at_once:
            number = waiting.pop()
            service.client = CLIENT if len(waiting) % 2 else service.quick
            flying[number] = service.begin(*words, number)
        for number, client in list(flying.items()):
            if client.poll() is not None:  # type: ignore[attr-defined]
                output, _ = client.communicate()  # type: ignore[attr-defined]
                assert (client.returncode, output) == (0, f"{number}\n")  # type: ignore[attr-defined]
                del flying[number]
        if killed < kills and commands - len(waiting) - len(flying) >= (killed + 1) * commands // (kills + 2):
            service.kill()
            killed += add()
            service.start()
        time.sleep(0.01)
    assert killed == kills
    ran = (service.directory / "ran").read_text().split()
    assert sorted(ran) == sorted(map(str, range(commands)))
    assert service.stop() == 0


def test_a_service_that_is_killed_loses_no_command_and_runs_none_twice(tmp_path: Path) -> None:
    attack(tmp_path, commands=24, at_once=6, kills=1)


@pytest.mark.chaos
def test_a_service_that_is_killed_ten_times(tmp_path: Path) -> None:
    attack(tmp_path, commands=1_000, at_once=20, kills=10)


def test_an_interrupted_service_lets_commands_end_and_may_go_on(tmp_path: Path) -> None:
    service = Service(tmp_path, "--cores", "1", "--memory", "1GB")
    runs = service.begin("--", "sh", "-c", "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo done")
    service.wait_for("begun")
    waits = service.begin("--", "touch", "never")
    kept = service.begin("--keep", "--", "touch", "kept")
    while headway.status(directory=service.directory).summary.whole().waiting < 2:
        time.sleep(0.02)
    service.process.send_signal(signal.SIGINT)
    while not any(record == "user-cancel" for record in kinds(service)):
        time.sleep(0.02)
    (service.directory / "go").touch()
    assert runs.communicate(timeout=60)[0] == "done\n"
    for client in (waits, kept):
        _, messages = client.communicate(timeout=60)
        assert client.returncode == 125
        assert "the service was stopped before this command ended" in messages
    assert service.process.wait(60) == 130
    service.start()
    service.wait_for("kept")
    assert service.stop() == 0
    assert not (service.directory / "never").exists()
    assert [folder.name for folder in (service.directory / ".headway" / "runs").iterdir()] == ["1"]


def kinds(service: Service) -> list[str]:
    from headway.journal.sqlite import SqliteJournal
    from headway.model.records import kind

    journal = SqliteJournal(service.directory / ".headway" / "runs" / "1" / "journal.db", read_only=True)
    try:
        return [kind(record) for record in journal.replay(kinds=["user-cancel"])]
    finally:
        journal.close()


def test_an_idle_service_ends(tmp_path: Path) -> None:
    service = Service(tmp_path, "--idle", "1s", "--cores", "1", "--memory", "1GB")
    assert service.exec("--", "true")[0] == 0
    assert service.process.wait(60) == 0
    assert not (service.directory / ".headway" / "service").is_symlink()


def test_clients_wait_for_a_service_that_was_killed_as_long_as_asked(tmp_path: Path) -> None:
    service = Service(tmp_path, "--cores", "1", "--memory", "1GB")
    client = service.begin("--wait", "1", "--", "sh", "-c", "touch begun; sleep 60")
    service.wait_for("begun")
    service.kill()
    _, messages = client.communicate(timeout=60)
    assert client.returncode == 125
    assert "is gone; waiting 1 s" in messages
    assert PATIENCE_S == 60
    service.bench.succeeds("cancel")
