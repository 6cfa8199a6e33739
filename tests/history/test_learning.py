"""A run starts with what earlier runs taught, and a resumed run knows the same."""

from __future__ import annotations

from headway.model.codec import decode, encode
from headway.model.records import HistoryRead
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
