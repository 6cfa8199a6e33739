"""A task's working directory: its content before the task, and where its outputs go afterwards."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from headway.model.errors import InputError
from headway.model.task import Task
from headway.workers.attempt import AttemptFolder, remove_tree
from headway.workers.sandbox import missing_outputs, prepare_directory, publish, stamps, undeclared
from headway.workers.sources import Sources
from tests.journal.test_storage_faults import files_of_at_most


def make(directory: Path, *files: str) -> None:
    for name in files:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(name)


def tree(directory: Path) -> list[str]:
    return sorted(
        os.path.relpath(os.path.join(folder, name), directory)
        for folder, _, names in os.walk(directory)
        for name in names
    )


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    directory = tmp_path / "flow"
    directory.mkdir()
    return directory


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "attempt").mkdir()
    return tmp_path / "attempt" / "work"


def test_inputs_and_sources_are_linked_but_not_outputs_of_other_tasks(flow: Path, work: Path) -> None:
    make(
        flow,
        "script.py",
        "lib/a.py",
        "data/raw.txt",
        "data/made.txt",
        "part_a",
        "part_b",
        ".headway/runs/1/x",
        ".hidden",
    )
    sources = Sources(flow)
    sources.add_produced(["part_a", "part_b", "data/made.txt", "out/result"])
    task = Task("t", "t", "…", inputs=("part_a",), outputs=("out/result",))
    prepare_directory(work, task, flow, sources)
    seen = {name: os.readlink(work / name) for name in os.listdir(work) if os.path.islink(work / name)}
    assert seen.keys() == {"script.py", "lib", "part_a", ".hidden"}
    assert (work / "lib" / "a.py").read_text() == "lib/a.py"
    assert sorted(os.listdir(work / "data")) == ["raw.txt"]
    assert (work / "out").is_dir() and not (work / "out").is_symlink()


def test_a_new_source_is_found_although_outputs_change_the_directory(flow: Path, work: Path) -> None:
    make(flow, "one")
    sources = Sources(flow)
    sources.add_produced(["made"])
    assert list(sources.entries(set(), {})) == ["one"]
    before = sources.modified_ns(".")
    make(flow, "made")
    sources.expect_change(".", before)
    assert list(sources.entries(set(), {})) == ["one"]
    make(flow, "two")
    assert sorted(sources.entries(set(), {})) == ["one", "two"]
    make(flow, "three")
    sources.forget()
    assert sorted(sources.entries(set(), {})) == ["one", "three", "two"]


def test_outputs_are_published_and_publishing_can_be_repeated(flow: Path, work: Path) -> None:
    task = Task("t", "t", "…", outputs=("a", "deep/b", "folder"))
    make(flow, "a", "folder/old")
    make(work, "deep/b", "folder/new")
    (work / "a").write_text("fresh")
    steps = publish(work, task, flow)
    assert next(steps) == "a"  # a crash here …
    assert list(publish(work, task, flow)) == ["deep/b", "folder"]  # … is repaired by repeating it
    assert (flow / "a").read_text() == "fresh"
    assert tree(flow) == ["a", "deep/b", "folder/new"]
    assert list(publish(work, task, flow)) == []


def test_a_directory_replaces_a_file_but_a_file_no_directory(flow: Path, work: Path) -> None:
    make(flow, "x/kept", "y")
    make(work, "x", "y/new")
    list(publish(work, Task("t", "t", "…", outputs=("y",)), flow))
    with pytest.raises(InputError, match="but a directory of that name exists"):
        list(publish(work, Task("t", "t", "…", outputs=("x",)), flow))
    assert tree(flow) == ["x/kept", "y/new"]


def test_sources_beside_an_input_are_linked(flow: Path, work: Path) -> None:
    make(flow, "data/a", "data/b", "data/deep/c", "other/d")
    sources = Sources(flow)
    sources.add_produced(["out"])
    prepare_directory(work, Task("t", "t", "…", inputs=("data/a",), outputs=("out",)), flow, sources)
    assert [(work / name).read_text() for name in ("data/a", "data/b", "data/deep/c", "other/d")] == [
        "data/a", "data/b", "data/deep/c", "other/d",
    ]  # fmt: skip


def samples(count: int, suffix: str = ".fq", folder: str = "") -> list[str]:
    return [f"{folder}s{number}{suffix}" for number in range(count)]


def seen_by(task: Task, flow: Path, work: Path) -> list[str]:
    sources = Sources(flow)
    sources.add_produced([*task.outputs, *samples(500, ".bam")])
    prepare_directory(work, task, flow, sources)
    return sorted(os.listdir(work))


def test_of_many_files_of_a_kind_only_those_are_linked_that_are_declared_or_named(flow: Path, work: Path) -> None:
    make(
        flow, *samples(500), *samples(500, ".fq.idx"), *samples(9, ".bam"), "align.py", "helpers.py", "ref.fa", "lib/a"
    )
    task = Task("t", "t", "./align.py s7.fq s2.fq --all=s49?.fq", inputs=("s7.fq",), outputs=("s7.bam",))
    families = [f"s{number}.fq{end}" for number in (2, 7) for end in ("", ".idx")]
    assert seen_by(task, flow, work) == sorted(
        ["align.py", "helpers.py", "lib", "ref.fa", *families, *(f"s{number}.fq" for number in range(490, 500))]
    )


def test_a_crowded_directory_of_sources_is_linked_as_a_whole(flow: Path, work: Path) -> None:
    make(flow, *samples(500, folder="data/"), "few/a", "few/b")
    task = Task("t", "t", "…", inputs=("data/s1.fq", "data/s2.fq", "few/a"), outputs=("out",))
    assert seen_by(task, flow, work) == ["data", "few"]
    assert os.path.islink(work / "data") and len(os.listdir(work / "data")) == 500
    assert not os.path.islink(work / "few") and sorted(os.listdir(work / "few")) == ["a", "b"]


def test_of_many_directories_only_those_are_entered_that_are_declared_or_named(flow: Path, work: Path) -> None:
    make(flow, *(f"s{number}/reads" for number in range(500)), "notes")
    task = Task("t", "t", "cat s3/reads", inputs=("s1/reads",), outputs=("s2/count",))
    assert seen_by(task, flow, work) == ["notes", "s1", "s2", "s3"]
    assert (work / "s1" / "reads").exists() and (work / "s2" / "reads").exists() and os.path.islink(work / "s3")


def test_a_directory_as_an_input_shows_the_outputs_in_it(flow: Path, work: Path) -> None:
    make(flow, "data/raw", "data/made")
    sources = Sources(flow)
    sources.add_produced(["data/made", "out"])
    prepare_directory(work, Task("t", "t", "…", inputs=("data",), outputs=("out",)), flow, sources)
    assert sorted(os.listdir(work / "data")) == ["made", "raw"]


def test_an_absolute_link_into_the_working_directory_is_no_output(work: Path) -> None:
    make(work, "a")
    (work / "b").symlink_to(work / "a")
    assert missing_outputs(work, Task("t", "t", "…", outputs=("a", "b"))) == ["b"]


def test_stamps_change_when_an_output_is_written(flow: Path) -> None:
    make(flow, "a", "d/x", "d/y")
    task = Task("t", "t", "…", outputs=("a", "d", "absent"))
    before = stamps(flow, task)
    assert before.keys() == {"a", "d"}
    assert stamps(flow, task) == before
    (flow / "d" / "y").write_text("longer than before")
    after = stamps(flow, task)
    assert after["a"] == before["a"] and after["d"] != before["d"]


def test_an_output_outside_the_directory_through_a_link_is_refused(flow: Path, work: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (flow / "out").symlink_to(tmp_path / "elsewhere")
    make(work, "out/x")
    with pytest.raises(InputError, match="out/x would leave"):
        list(publish(work, Task("t", "t", "…", outputs=("out/x",)), flow))
    assert not (tmp_path / "elsewhere" / "x").exists()


def test_outputs_cross_file_systems(work: Path) -> None:
    shm = Path(f"/dev/shm/headway-test-{os.getpid()}")
    shm.mkdir()
    try:
        if shm.stat().st_dev == work.parent.stat().st_dev:
            pytest.skip("needs two file systems")
        make(shm, "y/old")
        make(work, "x", "y/new")
        list(publish(work, Task("t", "t", "…", outputs=("x", "y")), shm))
        assert tree(shm) == ["x", "y/new"]
        assert tree(work) == []
    finally:
        remove_tree(shm)


def test_an_output_that_crosses_file_systems_appears_whole(work: Path) -> None:
    shm = Path(f"/dev/shm/headway-test-{os.getpid()}")
    shm.mkdir()
    try:
        if shm.stat().st_dev == work.parent.stat().st_dev:
            pytest.skip("needs two file systems")
        make(shm, "x")
        make(work, "x")
        (work / "x").write_text("longer " * 100)
        with files_of_at_most(100), pytest.raises(OSError, match="File too large"):
            list(publish(work, Task("t", "t", "…", outputs=("x",)), shm))
        assert (shm / "x").read_text() == "x"
        list(publish(work, Task("t", "t", "…", outputs=("x",)), shm))
        assert (shm / "x").read_text() == "longer " * 100 and tree(shm) == ["x"]
    finally:
        remove_tree(shm)


@pytest.mark.parametrize("output", ["results/out", "results/deep/out"])
def test_a_folder_without_permission_is_named(tmp_path: Path, flow: Path, work: Path, output: str) -> None:
    (work / output).parent.mkdir(parents=True)
    (work / output).touch()
    (flow / "results").mkdir(mode=0o555)
    for folder in (tmp_path, *list(tmp_path.parents)[:-2]):
        folder.chmod(0o755)
    root = os.geteuid() == 0
    if root:  # root may write everywhere
        os.seteuid(65534)
    try:
        with pytest.raises(InputError) as caught:
            list(publish(work, Task("t", "t", "…", outputs=(output,)), flow))
    finally:
        if root:
            os.seteuid(0)
    what = "this folder cannot be written to (Permission denied); change its permissions, then `headway run` again"
    assert str(caught.value) == f"{flow}/results: {what}"


def test_outputs_cross_to_another_mount_of_the_same_file_system(work: Path, flow: Path) -> None:
    """rename(2) refuses that, although both are on one device."""
    place = flow / "mounted"
    place.mkdir()
    if subprocess.run(["mount", "--bind", place, place], capture_output=True, check=False).returncode:
        pytest.skip("needs permission to mount")
    try:
        (work / "mounted" / "folder").mkdir(parents=True)
        (work / "mounted" / "file").write_text("new")
        (work / "mounted" / "folder" / "inside").write_text("new")
        (place / "folder").mkdir()
        (place / "folder" / "earlier").write_text("old")
        outputs = ("mounted/file", "mounted/folder")
        assert list(publish(work, Task("t", "t", "…", outputs=outputs), flow)) == list(outputs)
        found = {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}
        assert found == {"file": "new", "folder/inside": "new"}
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_link_to_a_folder_crosses_file_systems_as_a_link(work: Path, tmp_path: Path) -> None:
    shm = Path(f"/dev/shm/headway-test-{os.getpid()}")
    shm.mkdir()
    try:
        if shm.stat().st_dev == work.parent.stat().st_dev:
            pytest.skip("needs two file systems")
        make(tmp_path / "elsewhere", "data")
        make(work, "x")
        (work / "y").symlink_to(tmp_path / "elsewhere")
        (shm / ".y.headway-new").symlink_to("half-way")  # left by a crash
        list(publish(work, Task("t", "t", "…", outputs=("x", "y")), shm))
        assert (shm / "y").readlink() == tmp_path / "elsewhere"
        assert tree(tmp_path / "elsewhere") == ["data"]
        assert not (work / "y").is_symlink()
    finally:
        remove_tree(shm)


def test_missing_outputs_include_links_to_temporary_files(flow: Path, work: Path) -> None:
    make(flow, "source")
    make(work, "real", "scratch")
    (work / "to_scratch").symlink_to("scratch")
    (work / "to_source").symlink_to(flow / "source")
    (work / "to_real").symlink_to("real")
    (work / "dangling").symlink_to("nowhere")
    task = Task("t", "t", "…", outputs=("real", "to_scratch", "to_source", "to_real", "dangling", "absent"))
    assert missing_outputs(work, task) == ["to_scratch", "dangling", "absent"]


def test_an_attempt_is_claimed_once(tmp_path: Path) -> None:
    folder = AttemptFolder(tmp_path / "tasks" / "t" / "1")
    assert folder.claim()
    assert not AttemptFolder(tmp_path / "tasks" / "t" / "1").claim()
    assert folder.result() is None


def test_a_half_written_result_is_no_result(tmp_path: Path) -> None:
    folder = AttemptFolder(tmp_path / "1")
    folder.claim()
    (tmp_path / "1" / "result.json").write_text('{"task": "t", "att')
    assert folder.result() is None


def test_a_directory_without_permissions_is_removed(tmp_path: Path) -> None:
    make(tmp_path, "work/deep/file")
    (tmp_path / "work" / "deep").chmod(0o500)
    (tmp_path / "work" / "link").symlink_to(tmp_path)
    remove_tree(tmp_path / "work")
    assert os.listdir(tmp_path) == []


def test_a_strict_task_sees_its_inputs_only(flow: Path, work: Path) -> None:
    make(flow, "plot.py", "util.py", "lib/a.py", "d/1.fq", "d/2.fq", "d/x", "made.txt", ".hidden")
    sources = Sources(flow)
    sources.add_produced(["made.txt", "out/result"])
    task = Task(
        "t", "t", "util.py", inputs=("plot.py", "lib", "d/1.fq", "made.txt"), outputs=("out/result",), strict=True
    )
    prepare_directory(work, task, flow, sources)
    assert tree(work) == ["d/1.fq", "made.txt", "plot.py"]
    assert (work / "lib").readlink() == flow / "lib"
    assert (work / "made.txt").is_symlink()
    assert (work / "out").is_dir()


def test_programs_are_copied_for_a_strict_task_and_data_are_linked(flow: Path, work: Path) -> None:
    make(flow, "run.sh")
    (flow / "run.sh").chmod(0o755)
    (flow / "large").write_bytes(b"x" * 300_000)
    task = Task("t", "t", "…", inputs=("run.sh", "large", "none"), outputs=("o",), strict=True)
    prepare_directory(work, task, flow, Sources(flow))
    assert not (work / "run.sh").is_symlink() and os.access(work / "run.sh", os.X_OK)
    assert (work / "large").is_symlink() and (work / "none").is_symlink()
    (work / "new.txt").touch()
    assert list(undeclared(work, task)) == ["new.txt"]


def test_what_a_check_shows_is_seen_like_an_input(flow: Path, work: Path) -> None:
    make(flow, "a", "b", "c1", "c2")
    task = Task("t", "t", "…", inputs=("a",), outputs=("o",), strict=True, shown=("b", "c1"))
    prepare_directory(work, task, flow, Sources(flow))
    assert tree(work) == ["a", "b", "c1"]


def test_a_strict_task_that_declares_the_whole_directory_sees_it(flow: Path, work: Path) -> None:
    make(flow, "a", "lib/b")
    prepare_directory(work, Task("t", "t", "…", inputs=(".",), outputs=("o",), strict=True), flow, Sources(flow))
    assert sorted(os.listdir(work)) == ["a", "lib"]
