"""A service lives for weeks: it forgets commands some time after their clients know how they ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import headway
from headway.api.settings import settings_for
from headway.engine import board
from headway.serving import server
from headway.serving.server import CommandServer
from tests.cli.bench import PATIENCE_S
from tests.serving.running import Talk


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandServer]:
    """A service in a thread of this process, which remembers four commands."""
    monkeypatch.setattr(board, "REMEMBERED_COMMANDS", 2)
    monkeypatch.setattr(server, "REMEMBERED", 4)
    monkeypatch.setattr(server, "_REMEMBERED_QUOTES", 3)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    begun: list[CommandServer] = []
    ready = threading.Event()

    class Watched(CommandServer):
        async def _look_around(self) -> None:
            begun.append(self)
            ready.set()
            await super()._look_around()

    monkeypatch.setattr("headway.api.service.CommandServer", Watched)
    settings = settings_for(tmp_path, {"history": str(tmp_path / "history.db"), "cores": 2.0})
    thread = threading.Thread(target=headway.service, args=(tmp_path, settings))
    thread.start()
    assert ready.wait(PATIENCE_S)
    yield begun[0]
    if thread.is_alive():
        headway.stop_service(tmp_path)
    thread.join(PATIENCE_S)


def run(talk: Talk, number: int, **more: object) -> dict[str, object]:
    return talk_until_end(talk, {"do": "submit", "id": number, "argv": ["sh", "-c", f"exit {number % 2}"], **more})


def talk_until_end(talk: Talk, request: dict[str, object]) -> dict[str, object]:
    talk.say(request)
    return talk.until("ended", "error")


def test_commands_are_forgotten_after_their_clients_were_told(served: CommandServer) -> None:
    assert served.folder is not None
    talk = Talk(served.folder.directory)
    for number in range(12):
        talk.say({"do": "quote", "id": f"q{number}", "quote": f"q{number}", "category": "c"})
        assert talk.until("quoted", "error")["event"] == "quoted"
        ended = run(talk, number, key=f"k{number}", name=f"n{number}", category="c", quote=f"q{number}")
        assert ended["exit_code"] == number % 2
    newest = {f"c[n{number}]" for number in range(8, 12)}
    assert served._commands.keys() == newest
    assert set(served._by_key) == {f"k{number}" for number in range(8, 12)}
    assert set(served._quotes) == {f"q{number}" for number in range(8, 12)}
    assert talk.ask({"do": "status", "id": 1})["ended"] == 12
    # One that is remembered is found by its key; the name of one that is forgotten is not free, as its files are there.
    assert run(talk, 11, key="k11", name="n11", category="c")["task"] == "c[n11]"
    assert "already a command" in str(run(talk, 0, name="n0", category="c")["message"])
    talk.close()


def test_quotes_for_tasks_that_run_elsewhere_are_forgotten(served: CommandServer) -> None:
    assert served.folder is not None
    talk = Talk(served.folder.directory)
    for number in range(9):
        talk.say({"do": "quote", "id": number, "quote": f"q{number}", "category": "c", "elsewhere": True})
        assert talk.until("quoted", "error")["event"] == "quoted"
    assert set(served._quotes) == {"q6", "q7", "q8"}
    talk.close()


def test_a_command_that_is_kept_stays_until_somebody_has_asked_how_it_ended(served: CommandServer) -> None:
    assert served.folder is not None
    kept = Talk(served.folder.directory)
    kept.say({"do": "submit", "id": 1, "argv": ["sh", "-c", "exit 5"], "key": "mine", "keep": True})
    kept.until("submitted")
    kept.close()
    talk = Talk(served.folder.directory)
    for number in range(12):
        run(talk, number)
    asked = talk_until_end(talk, {"do": "submit", "id": 2, "argv": ["sh", "-c", "exit 5"], "key": "mine", "keep": True})
    assert asked["exit_code"] == 5
    assert asked["attempts"] == 1
    for number in range(12):
        run(talk, number)
    assert "mine" not in served._by_key
    talk.close()
