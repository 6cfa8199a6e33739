"""Where a history is kept."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from headway.history.location import history_location
from headway.model.errors import InputError


def test_option_environment_and_default_in_this_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    monkeypatch.setenv("HEADWAY_HISTORY", "/of/the/environment.db")
    assert history_location("mine.db") == str(tmp_path / "mine.db")
    assert history_location("~/mine.db") == "/home/somebody/mine.db"
    assert history_location() == "/of/the/environment.db"
    assert history_location("none") == ""
    monkeypatch.setenv("HEADWAY_HISTORY", "none")
    assert history_location() == ""
    assert history_location("mine.db") == str(tmp_path / "mine.db")
    monkeypatch.delenv("HEADWAY_HISTORY")
    assert history_location() == "/data/headway/history.db"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert history_location() == "/home/somebody/.local/share/headway/history.db"


def test_a_user_without_a_home_has_no_history_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.chdir(tmp_path)
    for variable in ("HOME", "XDG_DATA_HOME", "HEADWAY_HISTORY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert history_location() == ""
    assert history_location("~/mine.db") == ""
    assert history_location("mine.db") == str(tmp_path / "mine.db")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert history_location() == "/data/headway/history.db"


def test_a_server_is_its_address_without_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    assert history_location("postgresql://db/history") == "postgresql://db/history"
    monkeypatch.setenv("HEADWAY_HISTORY", "postgresql://ada:s3cret@db/history")
    assert history_location() == "postgresql://ada@db/history"
    with pytest.raises(InputError, match=r"mysql://…: a history is a file, or a PostgreSQL database; write a path"):
        history_location("mysql://db/history")
