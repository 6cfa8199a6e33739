"""What a journal says of files that tasks made."""

from __future__ import annotations

from msgspec import structs

from headway.journal.results import UNKNOWN, Earlier, earlier_in
from headway.model import records
from headway.model.outcome import Ending, Outcome, Stamp
from headway.model.records import Known
from headway.model.resources import Resources
from headway.model.task import Fingerprint, Task


def test_files_are_remembered_that_a_task_in_place_made_before_its_outputs_were_renamed() -> None:
    """It starts again, and its earlier result no longer counts; its earlier file is still there."""
    task = Task("t", "t", "…", outputs=("new",), sandbox=False)
    before = Known("t", Fingerprint(task.recipe(), {}), "1", {"old": Stamp(1, 1, "digest")})
    launch = records.Launch(0.0, "t", 1, "n", "j", Resources(), "its outputs changed")
    journal = [records.ResultsKnown(0.0, [before]), records.TasksAdded(0.0, [task]), launch]
    begun = {"t": Fingerprint(task.recipe(), {})}
    assert earlier_in(journal) == Earlier({}, {"old": Stamp(1, 1, "digest"), "new": UNKNOWN}, begun)


def test_a_success_whose_inputs_were_changed_meanwhile_is_no_result_for_later_runs() -> None:
    task, made = Task("t", "t", "…", outputs=("out",)), {"out": Stamp(1, 1, "digest")}
    read = records.InputsRead(0.0, "t", 0, {"in": "before"})
    launch = records.Launch(0.0, "t", 1, "n", "j", Resources(), "no earlier result")
    ended = records.TaskEnded(2.0, Outcome("t", 1, Ending.SUCCESS, 1.0, 2.0, outputs=made))
    journal = [records.TasksAdded(0.0, [task]), read, launch]
    assert earlier_in([*journal, ended]).known.keys() == {"t"}
    assert earlier_in([*journal, structs.replace(ended, inputs_moved=True)]) == Earlier({}, made, {})
