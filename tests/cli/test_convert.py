"""`headway convert`, as users call it."""

from __future__ import annotations

import gzip
import json
import os
import stat
from pathlib import Path

import pytest
from msgspec import structs

from headway.formats.headway_yaml import read_workflow
from headway.formats.read_any import read_instance
from tests.cli.bench import Bench
from tests.cli.test_command_line_docs import TEXT, keys

WORDS = """
    name: words
    tasks:
      split: {run: split words.txt, inputs: words.txt, outputs: [part_a, part_b]}
      count:
        each: {part: [a, b]}
        run: wc -w < part_{part} > count_{part}
        inputs: ["part_{part}"]
        outputs: ["count_{part}"]
        env: {LC_ALL: C}
        resources: {memory: 200 MB, time: 5m}
      total: {run: cat count_* > total, inputs: ["count_*"], outputs: total}
"""


@pytest.fixture
def words(bench: Bench) -> Bench:
    bench.write(WORDS)
    return bench


def test_there_and_back_loses_only_the_columns(words: Bench) -> None:
    assert words.succeeds("convert", "workflow.yaml", "w.json") == (
        "wrote w.json: words as WfFormat 1.5, 4 tasks in 3 categories\n"
    )
    words.succeeds("convert", "w.json", "back.yaml")
    there, back = (read_workflow(words.directory / name) for name in ("workflow.yaml", "back.yaml"))
    assert [structs.replace(task, row="") for task in there] == list(back)


def test_the_target_may_be_named_by_an_option(words: Bench) -> None:
    assert "wrote w.json" in words.succeeds("convert", "workflow.yaml", "-o", "w.json")
    assert (words.directory / "w.json").exists()


def test_a_gz_target_is_compressed(words: Bench) -> None:
    words.succeeds("convert", "workflow.yaml", "w.json.gz")
    words.succeeds("convert", "workflow.yaml", "w.json")
    packed, plain = words.directory / "w.json.gz", words.directory / "w.json"
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert len(read_instance(packed).workflow) == 4


def test_to_standard_output(words: Bench) -> None:
    done = words("convert", "workflow.yaml", "-", "--to", "wfformat")
    assert done.returncode == 0
    assert json.loads(done.stdout)["name"] == "words"
    assert "4 tasks" in done.stderr


def test_a_run_is_written_with_its_measurements(finished: Bench, tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    answer = finished.json("convert", ".", str(target))
    assert (answer["tasks"], answer["recorded"], answer["left_out"]["recorded"]) == (5, 3, 0)
    instance = read_instance(target)
    assert set(instance.recorded) == {"make[a]", "make[b]", "noisy"}  # the others failed or never ran
    assert all(recorded.run_s and recorded.memory_bytes for recorded in instance.recorded.values())
    assert instance.file_bytes == {"a.txt": 2, "b.txt": 2}
    assert "run 2 of demo" in instance.description
    finished.succeeds("convert", ".", str(target), "--run", "1", "--force")
    assert "run 1 of demo" in read_instance(target).description


def test_it_says_what_a_workflow_file_cannot_hold(finished: Bench, tmp_path: Path) -> None:
    said = finished.succeeds("convert", ".", str(tmp_path / "run.yaml"))
    assert "left out" in said
    assert "3 tasks" in said
    assert len(read_workflow(tmp_path / "run.yaml")) == 5


def test_nothing_is_overwritten_without_force(words: Bench) -> None:
    target = words.write("mine", "w.json")
    target.chmod(0o640)
    assert "exists" in words.fails(2, "convert", "workflow.yaml", "w.json")
    assert target.read_text() == "mine"
    words.succeeds("convert", "workflow.yaml", "w.json", "--force")
    assert json.loads(target.read_bytes())["name"] == "words"
    assert [path.name for path in words.directory.iterdir() if path.name.endswith(".part")] == []


def test_what_is_written_has_the_users_permissions(words: Bench) -> None:
    words.succeeds("convert", "workflow.yaml", "w.json")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((words.directory / "w.json").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize(
    ("args", "words_said"),
    [
        (["workflow.yaml", "w.txt"], "--to wfformat"),
        (["workflow.yaml", "-"], "--to wfformat"),
        (["workflow.yaml", "-", "--to", "yaml", "--json"], "would mix"),
        (["workflow.yaml", "nowhere/w.json"], "no such folder"),
        (["workflow.yaml", "."], "--to wfformat"),
        (["workflow.yaml", "w.yaml.gz", "--to", "yaml"], "not packed"),
        (["workflow.yaml", "folder.json"], "directory"),
        (["workflow.yaml", "w.json", "--run", "1"], "a file has no runs"),
        ([".", "w.json"], "nothing has been run here"),
        (["missing.json", "w.json"], "here are workflow.yaml"),
        (["folder.json/..", "w.json", "--run", "7"], "nothing has been run here"),
    ],
)
def test_a_mistake_is_reported_in_one_sentence(words: Bench, args: list[str], words_said: str) -> None:
    (words.directory / "folder.json").mkdir()
    assert words_said in words.fails(2, "convert", *args)
    assert not (words.directory / "w.json").exists()


def test_an_invalid_source_leaves_the_target_unchanged(words: Bench) -> None:
    words.write("{", "broken.json")
    words.write("mine", "w.yaml")
    assert "broken.json:1: this is not JSON" in words.fails(2, "convert", "broken.json", "w.yaml", "--force")
    assert (words.directory / "w.yaml").read_text() == "mine"


def test_every_key_of_the_json_is_documented(words: Bench) -> None:
    found = keys(words.json("convert", "workflow.yaml", "w.json"))
    assert len(found) > 8
    assert {key for key in found if f"`{key}`" not in TEXT} == set()
