"""Files that earlier runs made and no task makes now are part of no input; the user's own files are."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from headway.drivers.digests import Digests
from headway.drivers.inputs import InputReader
from headway.drivers.strays import Strays, adopt, check_in_place, find_strays
from headway.journal.results import UNKNOWN, Earlier, earlier_in, orphans_among
from headway.model.deferred import Deferred, DeferredBlock
from headway.model.errors import InputError
from headway.model.records import (
    Decision,
    Event,
    Finish,
    Known,
    ResultsKnown,
    RunStarted,
    TasksAdded,
    TasksDeferred,
)
from headway.model.task import Fingerprint, Task
from headway.model.workflow import Workflow
from headway.workers.contents import full_stamp

OURS = "workflow.yaml"


def make(directory: Path, *paths: str) -> None:
    for path in paths:
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(path)


def known(directory: Path, task: str, *outputs: str, owner: str | None = OURS) -> Known:
    fingerprint = Fingerprint(Task(task, "t", "…", outputs=outputs).recipe(), {})
    return Known(task, fingerprint, "1", {path: full_stamp(directory / path) for path in outputs}, owner=owner)


def strays_in(directory: Path, workflow: Workflow, *results: Known) -> dict[str, str]:
    earlier = adopt(Earlier({each.task: each for each in results}, {}, {}), workflow, OURS, directory)
    return find_strays(earlier, workflow, OURS, directory, Digests())


def test_a_file_of_a_task_that_is_gone_is_an_orphan_until_its_content_changes(tmp_path: Path) -> None:
    make(tmp_path, "c/a", "c/b", "workflow.yaml")
    now = Workflow("w", [Task("t[a]", "t", "…", outputs=("c/a",))])
    results = (known(tmp_path, "t[a]", "c/a"), known(tmp_path, "t[b]", "c/b"))
    assert strays_in(tmp_path, now, *results) == {"c/b": ""}
    (tmp_path / "c/b").touch()
    assert strays_in(tmp_path, now, *results) == {"c/b": ""}
    (tmp_path / "c/b").write_text("c/B")  # of the same size
    assert strays_in(tmp_path, now, *results) == {}
    (tmp_path / "c/b").unlink()
    assert strays_in(tmp_path, now, *results) == {}


def test_a_file_of_another_workflow_belongs_to_it_as_long_as_its_file_exists(tmp_path: Path) -> None:
    make(tmp_path, "c/b", "other.yaml")
    now = Workflow("w", [Task("t", "t", "…", outputs=("x",))])
    result = known(tmp_path, "t[b]", "c/b", owner="other.yaml")
    assert strays_in(tmp_path, now, result) == {"c/b": "other.yaml"}
    (tmp_path / "other.yaml").rename(tmp_path / "new.yaml")
    assert strays_in(tmp_path, now, result) == {"c/b": ""}
    in_code = known(tmp_path, "t[b]", "c/b", owner="code:analysis")
    assert strays_in(tmp_path, now, in_code) == {"c/b": "code:analysis"}
    not_recorded = known(tmp_path, "t[b]", "c/b", owner=None)
    assert strays_in(tmp_path, now, not_recorded) == {"c/b": "?"}


def test_a_file_that_a_task_may_have_left_half_written_counts_as_made(tmp_path: Path) -> None:
    make(tmp_path, "half")
    now = Workflow("w", [Task("t", "t", "…", outputs=("x",))])
    earlier = adopt(Earlier({}, {"half": UNKNOWN, "never": UNKNOWN}, {}), now, OURS, tmp_path)
    assert find_strays(earlier, now, OURS, tmp_path, Digests()) == {"half": ""}


def test_of_a_former_directory_only_the_files_are_strays_that_no_task_makes_now(tmp_path: Path) -> None:
    make(tmp_path, "out/a", "out/b", "out/deep/c")
    result = known(tmp_path, "t", "out")
    make(tmp_path, "out/mine")
    now = Workflow("w", [Task("n", "n", "…", outputs=("out/a",))])
    assert strays_in(tmp_path, now, result) == {"out/b": "", "out/deep/c": ""}
    again = Workflow("w", [Task("n", "n", "…", outputs=("out",))])
    assert strays_in(tmp_path, again, result) == {}


def test_inputs_do_not_include_orphans(tmp_path: Path) -> None:
    make(tmp_path, "c/a", "c/b", "c/mine", "d/x/b", "e/b")
    flow = Workflow(
        "w", [Task("t[a]", "t", "…", outputs=("c/a",)), Task("all", "all", "…", inputs=("c/*", "c", "d/*"))]
    )
    strays = Strays({"c/b": "", "d/x": "", "e/b": ""}, flow)
    reader = InputReader(tmp_path, Digests(), strays)
    seen = reader.read(Task("all", "all", "…", inputs=("c/*", "c", "d/*", "e")), 0.0)
    assert list(seen.inputs) == ["c/a", "c/mine", "c"]
    assert seen.missing_inputs == ["d/*", "e"]
    assert reader.linked(["c"]) == ("c/a", "c/mine")
    (tmp_path / "c/b").unlink()
    clean = InputReader(tmp_path, Digests()).read(Task("all", "all", "…", inputs=("c",)), 0.0)
    assert clean.digests["c"] == seen.digests["c"]
    explicit = reader.read(Task("t", "t", "…", inputs=("e/b",)), 0.0)
    assert list(explicit.inputs) == ["e/b"]  # the user names it


def test_files_of_another_workflow_are_left_out_only_beside_our_own(tmp_path: Path) -> None:
    make(tmp_path, "c/a", "c/theirs", "d/theirs")
    flow = Workflow("w", [Task("t[a]", "t", "…", outputs=("c/a",))])
    reader = InputReader(tmp_path, Digests(), Strays({"c/theirs": "b.yaml", "d/theirs": "b.yaml"}, flow))
    assert list(reader.read(Task("x", "x", "…", inputs=("c/*", "d/*", "d")), 0.0).inputs) == ["c/a", "d/theirs", "d"]


def test_a_task_added_later_makes_its_file_an_ordinary_one(tmp_path: Path) -> None:
    make(tmp_path, "c/a")
    flow = Workflow("w")
    reader = InputReader(tmp_path, Digests(), Strays({"c/a": ""}, flow))
    task = Task("x", "x", "…", inputs=("c/*",))
    assert reader.read(task, 0.0).missing_inputs == ["c/*"]
    flow.add([Task("t[a]", "t", "…", outputs=("c/a",))])
    assert list(reader.read(task, 0.0).inputs) == ["c/a"]


def journal(*records: Event | Decision, **started: object) -> list[Event | Decision]:
    about: dict[str, object] = {"name": "w", "directory": "", "source": "", "version": "", "sizer": "", "order": ""}
    return [
        msgspec.convert({"kind": "run-started", "at": 0, "run": "1", "uid": "a" * 12} | about | started, RunStarted),
        *records,
    ]


def orphans(*found: str, of: list[Event | Decision], folders: tuple[str, ...] = ()) -> list[str]:
    return orphans_among(found, of, folders.__contains__)


def test_what_an_entry_may_make_is_no_orphan_until_its_tasks_are_known() -> None:
    files, to_come = ("c/a", "c/b", "d/b", "c"), {"t": ["c/*"], "u": ["e/*/x"]}
    now = TasksAdded(0, [Task("t[a]", "t", "…", outputs=("c/a",))], ("t",))
    assert orphans(*files, of=journal(to_come=to_come)) == ["d/b", "c"]
    assert orphans(*files, of=journal(to_come=to_come), folders=("c",)) == ["d/b"]
    assert orphans(*files, of=journal(now, to_come=to_come)) == ["c/b", "d/b"]
    failed = TasksAdded(0, [Task("t", "t", "")], ("t",), "no such column")
    assert orphans(*files, of=journal(failed, to_come=to_come)) == ["d/b", "c"]
    in_part = TasksAdded(0, [], ("t",), left_out={"c/b": "t[b]"})
    assert orphans(*files, of=journal(in_part, to_come=to_come)) == ["c/a", "d/b"]
    assert orphans("e/1/x", "e/1/x/y", "e/1/y", of=journal(to_come=to_come)) == ["e/1/y"]


def test_what_an_old_journal_or_a_stopped_program_leaves_open_is_no_orphan() -> None:
    later = TasksDeferred(0, Deferred((DeferredBlock("t"),)))
    assert orphans("x", of=journal()) == ["x"]
    assert orphans("x", of=journal(tasks=["s"])) == []  # there may have been entries that were not chosen
    assert orphans("x", of=journal(tasks=["s"], to_come={})) == ["x"]
    assert orphans("x", of=journal(later)) == []
    assert orphans("x", of=journal(growing=True)) == []
    assert orphans("x", of=journal(Finish(1, "failed"), growing=True)) == []
    assert orphans("x", of=journal(Finish(1, "succeeded"), growing=True)) == ["x"]


def test_results_of_an_entry_keep_their_owner_unless_it_has_them_no_more(tmp_path: Path) -> None:
    make(tmp_path, "c/a", "c/b", "c/d")
    results = [known(tmp_path, f"t[{name}]", f"c/{name}") for name in "abd"]
    results[0] = known(tmp_path, "t[a]", "c/a", owner="")  # it was gone for some time
    added = TasksAdded(0, [Task("t[a]", "t", "…", outputs=("c/a",))], ("t",), left_out={"c/b": "t[b]"})
    seen = earlier_in(journal(ResultsKnown(0, results), added, owner=OURS, to_come={"t": ["c/*"]}))
    assert {task: each.owner for task, each in seen.known.items()} == {"t[a]": OURS, "t[b]": OURS, "t[d]": ""}


def test_a_task_that_runs_in_the_workflow_s_directory_must_not_see_orphans(tmp_path: Path) -> None:
    task = Task("x", "x", "cat c/*", inputs=("c/*",), outputs=("y",), sandbox=False)
    with pytest.raises(InputError, match=r"reads 'c/b'.*`headway clean --orphans`"):
        check_in_place(Workflow("w", [task]), {"c/b": ""}, "w")
    check_in_place(Workflow("w", [task]), {"c/b": "other.yaml", "d/b": ""}, "w")
    (warning,) = check_in_place(Workflow("w", [Task("x", "x", "cat c/*", inputs=("c",))]), {"c/b": ""}, "w")
    assert "c/b" in warning
