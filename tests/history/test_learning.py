"""A run begins with what earlier ones taught, and a resumed one with the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.drivers import learning as learning_module
from headway.drivers.learning import Learning, history_key
from headway.history.sqlite import SqliteHistory
from headway.model.records import HistoryKey, HistoryRead, decode, encode
from headway.model.task import Task
from tests.engine.runs import GB, PretendRun
from tests.history.observations import observation


def known(number: int, **more) -> HistoryRead:
    return HistoryRead(0.0, [observation(each, memory=each * GB, **more) for each in range(1, number + 1)])


def test_the_first_allocation_is_sized_from_the_history() -> None:
    run = PretendRun([Task("count[9]", "count", "true"), Task("new", "new", "true")])
    run.record(known(3))
    run.to_the_end()
    (count,), (new,) = run.launches("count[9]"), run.launches("new")
    assert count.resources.memory_bytes == 3 * GB
    assert count.why["memory_bytes"].rule == "max-seen"
    assert new.why["memory_bytes"].rule == "share-of-machine"


def test_applying_the_journal_again_rebuilds_what_was_learned() -> None:
    run = PretendRun([Task("count[9]", "count", "true")])
    run.record(known(5))
    again = PretendRun([Task("count[9]", "count", "true")])
    again.record(decode(encode(known(5))))
    assert run.to_the_end() == again.to_the_end()
    assert run.log == again.log


def key_for(path: Path) -> HistoryKey:
    return HistoryKey(str(path), "here", "flow")


def test_many_categories_share_what_may_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_module, "MOST_OF_A_CATEGORY", 8)
    monkeypatch.setattr(learning_module, "MOST_IN_ALL", 20)
    names = [f"c{number}" for number in range(30)]
    history = SqliteHistory(tmp_path / "history.db")
    for name in names:
        history.add("here", "flow", [observation(number, category=name) for number in range(10)])
    learning = Learning(key_for(tmp_path / "history.db"), pytest.fail)
    assert len(learning.observations(names[:1])) == 8
    assert len(learning.observations(names[:5])) == 20
    assert len(learning.observations(None)) == 30, "one of each, at least"
    assert learning.observations([]) == []


def test_records_are_of_a_digestible_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_module, "_OBSERVATIONS_A_RECORD", 4)
    SqliteHistory(tmp_path / "history.db").add("here", "flow", [observation(number) for number in range(10)])
    read = Learning(key_for(tmp_path / "history.db"), pytest.fail).read(["count"], 5.0)
    assert [len(record.observations) for record in read] == [4, 4, 2]
    ended = [seen.ended_at for record in read for seen in record.observations]
    assert ended == sorted(ended)


def test_looking_begins_no_history(tmp_path: Path) -> None:
    learning = Learning(key_for(tmp_path / "history.db"), pytest.fail, read_only=True)
    assert learning.observations(["count"]) == []
    assert list(tmp_path.iterdir()) == []


def test_damage_that_is_found_while_reading_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    history = SqliteHistory(path)
    history.add("here", "flow", [observation(number) for number in range(1000)])
    history.close()
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)
    warnings: list[str] = []
    learning = Learning(key_for(path), warnings.append)
    assert learning.observations(["count"]) == []
    assert learning.recorder("uid", lambda name: Task(name, name, "")) is None
    assert len(warnings) == 1 and "malformed" in warnings[0]


def test_no_history_is_no_key(tmp_path: Path) -> None:
    assert history_key("none", "flow") is None
    assert history_key(str(tmp_path / "h.db"), "flow", "cluster") == HistoryKey(
        str(tmp_path / "h.db"), "cluster", "flow"
    )
