"""Temporary outputs in the engine: when they are deleted, and what a crash or a failure in between means."""

from __future__ import annotations

import pytest

from headway.model import records
from headway.model.outcome import Ending
from headway.model.records import Known
from headway.model.task import Fingerprint, Task
from tests.engine.runs import PretendRun

MAKE = Task("make", "make", "make", outputs=("log", "x"), temp=("x",))
READ = Task("read", "read", "read", inputs=("x",), outputs=("r",))
OTHER = Task("other", "other", "other", inputs=("x",), outputs=("o",))
LOG = Task("after", "after", "after", inputs=("log",), outputs=("a",))


def kinds(run: PretendRun) -> list[str]:
    return [records.kind(record) for record in run.log]


def test_a_deletion_that_no_record_confirms_is_repeated_before_the_end() -> None:
    run = PretendRun([MAKE, READ])
    run.deletes = False
    with pytest.raises(AssertionError):  # it waits for the record
        run.to_the_end()
    assert "discard" in kinds(run)
    run.deletes = True
    run.record(records.Resumed(run.now, "0"))
    assert [decision.path for decision in run.decide() if isinstance(decision, records.Discard)] == ["x"]
    assert run.engine.finished == "succeeded"


def test_a_file_stays_until_its_last_reader_has_succeeded() -> None:
    run = PretendRun([MAKE, READ, OTHER], lambda launch: Ending.EXIT_CODE if launch.task == "other" else Ending.SUCCESS)
    run.to_the_end()
    assert "discard" not in kinds(run)
    assert run.engine.finished == "failed"


def known(task: Task, **inputs: str) -> Known:
    return Known(task.id, Fingerprint(task.recipe(), inputs), "1", {}, {"x": "digest"} if task is MAKE else {})


def later_run(ends: Ending) -> PretendRun:
    """A run in which `read` has changed, and `other` and `after` have not."""
    run = PretendRun([], lambda launch: ends if launch.task == "make" else Ending.SUCCESS, keep_going=True)
    changed = Task("read", "read", "changed", inputs=("x",), outputs=("r",))
    run.record(records.ResultsKnown(0.0, [known(MAKE), known(READ, x="digest"), known(OTHER, x="digest"), known(LOG)]))
    run.record(records.TasksAdded(0.0, [MAKE, changed, OTHER, LOG]))

    def read(task: str) -> records.InputsRead:
        gone = not run.engine.tasks["make"].attempts
        missing = ["x"] if task == "make" and gone else []
        inputs = run.engine.tasks[task].task.inputs
        digests = {path: run.engine.temporary(run.engine.tasks[task].task)[path] for path in inputs if path == "x"}
        deleted = ["x"] if gone and "x" in inputs else []
        return records.InputsRead(run.now, task, 0, digests, missing_outputs=missing, deleted=deleted)

    run.inputs = read
    run.to_the_end()
    return run


def test_only_what_has_changed_and_the_producer_run_again() -> None:
    run = later_run(Ending.SUCCESS)
    launches = [record for record in run.log if isinstance(record, records.Launch)]
    assert [(launch.task, launch.remake) for launch in launches] == [("make", True), ("read", False)]
    assert run.engine.tasks["make"].attempted.outputs == ()  # nothing is gone any more
    assert [record.path for record in run.log if isinstance(record, records.Discard)] == ["x"]


def test_a_producer_that_fails_when_it_is_needed_again_takes_only_the_reader_with_it() -> None:
    run = later_run(Ending.EXIT_CODE)
    phases = {task: state.phase.name for task, state in run.engine.tasks.items()}
    assert phases == {"make": "FAILED", "read": "CUT_OFF", "other": "SUCCEEDED", "after": "SUCCEEDED"}
    assert run.engine.finished == "failed"
