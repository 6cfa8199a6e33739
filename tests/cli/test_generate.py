"""`headway generate`: families listed, workflows written, nothing overwritten, mistakes explained."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from headway.formats.wfformat import parse_wfformat
from headway.formats.wfformat_out import wfformat
from headway.generators import GENERATORS, MemoryModel, generate
from tests.cli.bench import Bench

DOCS = Path(__file__).parents[2] / "docs"


def test_it_writes_what_the_generator_makes(bench: Bench) -> None:
    told = bench.succeeds("generate", "montage", "--tasks", "50", "--seed", "1")
    assert "montage: 50 tasks of 9 categories in 9 levels" in told
    assert "wrote montage-50-1.json; now try `headway run montage-50-1.json --synthetic --scale 0.1`" in told
    assert (bench.directory / "montage-50-1.json").read_bytes() == wfformat(generate("montage", 50, 1))
    assert [entry.name for entry in bench.directory.iterdir()] == ["montage-50-1.json"]


def test_compressed_and_the_same_every_time(bench: Bench) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        bench.succeeds("generate", "ligo", "--tasks", "20", "-o", name)
    first, second = ((bench.directory / name).read_bytes() for name in ("a.json.gz", "b.json.gz"))
    assert first == second
    assert gzip.decompress(first) == wfformat(generate("ligo", 20, 0))


def test_standard_output_holds_the_workflow_alone(bench: Bench) -> None:
    done = bench("generate", "sipht", "--tasks", "13", "-o", "-")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["workflow"]["specification"]["tasks"]) == 13
    assert "13 tasks" in done.stderr
    assert not list(bench.directory.iterdir())


def test_another_number_of_tasks_is_mentioned(bench: Bench) -> None:
    done = bench("generate", "genome", "--tasks", "50", "--json")
    assert "no shape with 50 tasks, so this one has 49" in done.stderr
    answer = json.loads(done.stdout)
    assert (answer["family"], answer["tasks"], answer["levels"]) == ("epigenomics", 49, 9)
    assert Path(answer["file"]).name == "epigenomics-50-0.json"


@pytest.mark.parametrize(
    ("options", "model"),
    [
        (["--memory-model"], MemoryModel()),
        (["--memory-mean", "10MB:20MB"], MemoryModel(mean_bytes=(1e7, 2e7))),
        (["--memory-model", "--memory-mean", "1GB"], MemoryModel(mean_bytes=(1e9, 1e9))),
    ],
)
def test_memory_models(bench: Bench, options: list[str], model: MemoryModel) -> None:
    text = bench.succeeds("generate", "ligo", "--tasks", "20", "-o", "-", *options)
    assert text.encode() == wfformat(generate("ligo", 20, 0, model))
    instance = parse_wfformat(text.encode())
    assert all(recorded.memory_bytes for recorded in instance.recorded.values())


def test_without_a_family_it_lists_them(bench: Bench) -> None:
    listed = bench.json("generate")["families"]
    assert [family["name"] for family in listed] == list(GENERATORS)
    shown = bench.succeeds("generate")
    assert all(name in shown for name in GENERATORS)
    assert not list(bench.directory.iterdir())


def test_nothing_is_overwritten_without_force(bench: Bench) -> None:
    bench.write("mine", "w.json")
    assert "this file exists; --force" in bench.fails(2, "generate", "ligo", "-o", "w.json")
    assert (bench.directory / "w.json").read_text() == "mine"
    bench.succeeds("generate", "ligo", "-o", "w.json", "--force")
    assert json.loads((bench.directory / "w.json").read_text())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["montag"], "did you mean 'montage'?"),
        (["montage", "--tasks", "10"], "at least 11"),
        (["montage", "--tasks", "0"], "--tasks"),
        (["montage", "--tasks", "many"], "--tasks"),
        (["montage", "--seed", "-1"], "--seed"),
        (["montage", "-o", "w.yaml"], "end in .json or .json.gz"),
        (["montage", "-o", "there"], "end in .json"),
        (["montage", "-o", "-", "--json"], "cannot both"),
        (["montage", "--memory-mean", "2GB:1GB"], "the smaller first"),
        (["montage", "--memory-mean", "0GB:1GB"], "not a range"),
        (["montage", "--memory-mean", "lots"], "200 MB"),
    ],
)
def test_mistakes(bench: Bench, words: list[str], complaint: str) -> None:
    assert complaint in bench.fails(2, "generate", *words)
    assert not list(bench.directory.iterdir())


def test_an_output_that_cannot_be_written(bench: Bench) -> None:
    assert "cannot write this" in bench.fails(3, "generate", "montage", "-o", "nowhere/w.json")


def test_the_documentation_tells_of_every_family_and_key(bench: Bench) -> None:
    families = (DOCS / "synthetic.md").read_text()
    assert {name for name in GENERATORS if f"`{name}`" not in families} == set()
    reference = (DOCS / "command-line.md").read_text()
    keys = {*bench.json("generate", "ligo"), *bench.json("generate"), *bench.json("generate")["families"][0]}
    assert {key for key in keys if f"`{key}`" not in reference} == set()
