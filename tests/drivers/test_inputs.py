"""Digests that notice every change and read no more than they must."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from headway.drivers.digests import Digests
from headway.drivers.inputs import QUICK_FILES, InputReader, check_sources
from headway.model.errors import InputError
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.workers.sandbox import full_stamps


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_digests_depend_on_content_only(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("same")
    (tmp_path / "b").write_text("same")
    (tmp_path / "c").write_text("other")
    digests = Digests()
    a, b, c = (digests.of(tmp_path / name) for name in "abc")
    assert a == b == (a[0], 4)
    assert a != c


def test_a_directory_changes_with_what_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "x").write_text("1")
    before = Digests().of(folder)
    assert before[1] == 1
    (folder / "deep" / "x").write_text("2")
    changed = Digests().of(folder)
    (folder / "deep" / "x").rename(folder / "deep" / "y")
    renamed = Digests().of(folder)
    assert len({before[0], changed[0], renamed[0]}) == 3


def test_an_unchanged_file_is_not_read_again_in_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "big").write_text("x" * 1000)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 100)  # a change time cannot be set
    first = Digests(tmp_path / "cache.db")
    digest = first.of(tmp_path / "big")
    first.save()
    second = Digests(tmp_path / "cache.db")
    assert second.unread_bytes(tmp_path / "big") == 0
    monkeypatch.setattr("builtins.open", None)
    assert second.of(tmp_path / "big") == digest


def test_a_file_that_was_just_written_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "fresh").write_text("x" * 1000)
    first = Digests(tmp_path / "cache.db")
    first.of(tmp_path / "fresh")
    first.save()
    assert Digests(tmp_path / "cache.db").unread_bytes(tmp_path / "fresh") == 1000


def test_a_change_is_noticed_by_size_time_or_inode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    digests = Digests()
    seen = set()
    path.write_text("one")
    age(path, 100)
    seen.add(digests.of(path)[0])
    path.write_text("two")  # same size
    age(path, 50)
    seen.add(digests.of(path)[0])
    (tmp_path / "new").write_text("six")  # same size and time, another inode
    age(tmp_path / "new", 50)
    os.utime(tmp_path / "new", ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    (tmp_path / "new").rename(path)
    seen.add(digests.of(path)[0])
    assert len(seen) == 3


def test_a_broken_cache_is_only_a_loss_of_time(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_text("nonsense" * 1000)
    (tmp_path / "file").write_text("x")
    age(tmp_path / "file", 100)
    digests = Digests(tmp_path / "cache.db")
    assert digests.of(tmp_path / "file")[1] == 1
    digests.save()


def test_reading_a_task_s_inputs(tmp_path: Path) -> None:
    for name in ("a_1", "a_2", "b"):
        (tmp_path / name).write_text(name)
    reader = InputReader(tmp_path, Digests())
    task = Task("t", "t", "…", inputs=("a_*", "b", "gone", "none_*"), outputs=("b", "later"))
    seen = reader.read(task, 5.0)
    assert seen.input_bytes == 7
    assert list(seen.digests) == ["a_1", "a_2", "b"]
    assert seen.missing_inputs == ["gone", "none_*"]
    assert seen.missing_outputs == ["later"]


def test_a_pattern_never_matches_the_tasks_own_outputs(tmp_path: Path) -> None:
    for name in ("x.txt", "all.txt", "sub/old.txt", "subway/s.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    task = Task("t", "t", "…", inputs=("*.txt", "*/*.txt"), outputs=("all.txt", "sub"))
    reader = InputReader(tmp_path, Digests())
    seen = reader.read(task, 0.0)
    assert reader.linked(seen.inputs) == ("x.txt", "subway/s.txt")


def test_an_output_with_a_new_time_and_the_same_content_is_as_before(tmp_path: Path) -> None:
    (tmp_path / "made").write_text("same")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").write_text("same")
    task = Task("t", "t", "…", outputs=("made", "folder"))
    before = {path: [made] for path, made in full_stamps(tmp_path, task).items()}
    for path in (tmp_path / "made", tmp_path / "folder" / "x"):
        age(path, -100)
    reader = InputReader(tmp_path, Digests())
    assert not reader.is_quick(task, before)  # a directory may hold any amount
    now = reader.read(task, 0.0, {}, before).outputs
    assert all(now[path].is_among(before[path]) for path in ("made", "folder"))
    (tmp_path / "made").write_text("Same")
    (tmp_path / "folder" / "x").rename(tmp_path / "folder" / "y")
    now = reader.read(task, 0.0, {}, before).outputs
    assert not any(now[path].is_among(before[path]) for path in ("made", "folder"))


def test_inputs_that_no_task_produces_are_reported_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    good = Workflow("w", [Task("a", "a", "…", inputs=("there",), outputs=("d/x",)), Task("b", "b", "…", inputs=("d",))])
    check_sources(good, tmp_path)
    bad = Workflow("w", [Task("a", "a", "…", inputs=("nowhere",)), Task("b", "b", "…", inputs=("neither",))])
    with pytest.raises(InputError, match=r"input 'nowhere' of task 'a' does not exist.*1 more"):
        check_sources(bad, tmp_path)


def test_inputs_that_an_ancestor_without_declared_outputs_may_produce_are_not_reported(tmp_path: Path) -> None:
    check_sources(Workflow("w", [Task("a", "a", "…"), Task("b", "b", "…", inputs=("x",), parents=("a",))]), tmp_path)


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "folder" / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "folder"):
        assert Digests().of(path)[1] == 0


@pytest.mark.parametrize("name", ["mid", "m*"])
def test_an_absolute_path_to_a_task_s_output_is_refused(tmp_path: Path, name: str) -> None:
    tasks = [Task("a", "a", "…", outputs=("mid",)), Task("b", "b", "…", inputs=(f"{tmp_path}/{name}",))]
    with pytest.raises(InputError, match="is made by task 'a'") as caught:
        check_sources(Workflow("w", tasks), tmp_path)
    assert f"write '{name}'" in str(caught.value)


def test_each_input_is_looked_at_a_few_times_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(QUICK_FILES + 100):
        (tmp_path / f"{number}").touch()
    task = Task("t", "t", "true", inputs=tuple(f"{number}" for number in range(QUICK_FILES + 100)))
    looks = 0

    def count(*of: Any, **how: Any) -> os.stat_result:
        nonlocal looks
        looks += 1
        return real(*of, **how)

    real = os.stat
    monkeypatch.setattr(os, "stat", count)
    check_sources(Workflow("w", [task]), tmp_path)
    reader = InputReader(tmp_path, Digests())
    assert not reader.is_quick(task)  # so many are read in another thread
    assert len(reader.read(task, 0.0).digests) == len(task.inputs)
    assert looks <= 4 * len(task.inputs) + 10
