"""`headway history`: what it says, to people and to programs."""

from __future__ import annotations

import csv
import json
import re
import time
from pathlib import Path

import click
import pytest

from headway.cli.history import command
from headway.history.sqlite import SqliteHistory
from headway.model.outcome import Ending
from tests.cli.bench import Bench
from tests.history.observations import GB, observation

TEXT = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()


@pytest.fixture
def taught(bench: Bench) -> Bench:
    """Two workflows were run here, one of them also elsewhere."""
    now = time.time()
    history = SqliteHistory(bench.history)
    counts = [observation(number, memory=number * GB, ended_at=now - 86400 * number) for number in range(1, 10)]
    history.add("here", "words", [*counts, observation(99, ending=Ending.MEMORY, attempt=2, ended_at=now)])
    history.add("here", "words", [observation(1, category="total", ended_at=now)])
    history.add("here", "old one", [observation(1, category="fit", run="r0", ended_at=1000)])
    history.add("there", "words", [observation(1, run="r2", ended_at=now - 50)])
    history.close()
    return bench


def test_the_overview(taught: Bench) -> None:
    lines = taught.succeeds("history").splitlines()
    assert lines[0] == f"13 attempts at tasks of 3 workflows on here, there, in {taught.history}"
    table = "\n".join(lines[1:])
    assert re.search(r"words \(here\)\s*\n  count +10 +1 +5 GB +9 GB +2 s +2 s +\d{4}-", table)
    assert re.search(r"  total +1 +- +500 MB", table)
    assert table.index("words (here)") < table.index("words (there)") < table.index("old one (here)"), "newest first"


def test_the_overview_for_programs(taught: Bench) -> None:
    answer = taught.json("history")
    assert answer["history"] == str(taught.history)
    count = next(each for each in answer["categories"] if (each["site"], each["category"]) == ("here", "count"))
    assert (count["workflow"], count["observations"], count["failures"]) == ("words", 10, 1)
    assert count["memory_bytes"] == {"median": 5 * GB, "most": 9 * GB}
    assert count["run_s"]["most"] == pytest.approx(2)


def test_nothing_is_known_yet(bench: Bench) -> None:
    done = bench("history")
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing has been learned yet" in done.stderr and str(bench.history) in done.stderr
    assert bench.json("history") == {"history": str(bench.history), "categories": []}
    assert "no history is kept" in bench("history", HEADWAY_HISTORY="none").stderr
    assert "nothing is known of a workflow 'words'" in bench.fails(2, "history", "show", "words")
    assert "nothing has been learned yet" in bench("history", "export").stderr
    assert "nothing has been learned yet" in bench("history", "prune", "--keep", "1").stderr
    assert not bench.history.exists()


def test_one_workflow_and_one_category(taught: Bench) -> None:
    words = taught.succeeds("history", "show", "words")
    assert "count" in words and "total" in words and "old one" not in words
    attempts = taught.succeeds("history", "show", "words", "count", "--top", "4")
    assert "total" not in attempts
    assert re.search(r"count\[99\], attempt 2 +memory +2 s +10 B +1 GB +≥ 500 MB", attempts)
    assert "count[2]" in attempts and "count[7]" not in attempts
    answer = taught.json("history", "show", "words", "count", "--top", "1")
    assert answer == json.loads(taught.succeeds("history", "--json", "show", "words", "count", "--top", "1"))
    assert [(each["site"], each["task"]) for each in answer["attempts"]] == [
        ("here", "count[99]"),
        ("there", "count[1]"),
    ]


def test_names_that_are_wrong(taught: Bench) -> None:
    assert "did you mean 'words'?" in taught.fails(2, "history", "show", "wordz")
    assert "did you mean 'count'?" in taught.fails(2, "history", "show", "words", "cuont")
    assert "did you mean 'headway history show words'?" in taught.fails(2, "history", "words")
    assert "did you mean 'prune'?" in taught.fails(2, "history", "prun")


def test_control_characters_in_names_are_not_printed(bench: Bench) -> None:
    history = SqliteHistory(bench.history)
    history.add("here", "\x1b[31mred\x1b[0m", [observation(1, category="a\nb\x1b]0;title\x07")])
    history.close()
    assert "\x1b" not in bench.succeeds("history")
    assert "\x1b" not in bench.succeeds("history", "show", "\x1b[31mred\x1b[0m", "a\nb\x1b]0;title\x07")
    assert "\x1b" not in bench.succeeds("history", "prune", "--keep", "0")


def test_export_as_lines(taught: Bench) -> None:
    lines = [json.loads(line) for line in taught.succeeds("history", "export").splitlines()]
    assert len(lines) == 13
    (failed,) = [line for line in lines if line["ending"] == "memory"]
    assert failed["task"] == "count[99]"
    assert failed["used"]["memory_bytes"] == {"value": 0.5 * GB, "quality": "lower-bound"}
    assert failed["given"]["memory_bytes"] == GB
    only = taught.succeeds("history", "export", "words", "total").splitlines()
    assert [json.loads(line)["category"] for line in only] == ["total"]
    assert "did you mean" in taught.fails(2, "history", "export", "wordz")


def test_export_as_a_table(taught: Bench) -> None:
    done = taught("history", "export", "-o", "history.csv")
    assert (done.stdout, done.stderr) == ("", "wrote 13 attempts to history.csv\n")
    with (taught.directory / "history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 13
    (total,) = [row for row in rows if row["category"] == "total"]
    assert (float(total["used_memory_bytes"]), total["used_memory_bytes_quality"]) == (0.5 * GB, "exact")
    assert "this file exists" in taught.fails(2, "history", "export", "-o", "history.csv")
    taught.succeeds("history", "export", "words", "total", "-o", "history.csv", "--force")
    assert len((taught.directory / "history.csv").read_text().splitlines()) == 2
    assert "cannot write this" in taught.fails(3, "history", "export", "-o", "nowhere/history.csv")
    assert [entry.name for entry in taught.directory.iterdir()] == ["history.csv"]


def observations(bench: Bench) -> int:
    return sum(each["observations"] for each in bench.json("history")["categories"])


def test_pruning_lists_what_it_would_remove_and_removes_it_with_yes(taught: Bench) -> None:
    output = taught.succeeds("history", "prune", "--older-than", "5d")
    assert "6 attempts would be removed:" in output and "words, count (here)" in output and "old one, fit" in output
    assert "nothing was removed" in output
    assert observations(taught) == 13
    answer = taught.json("history", "prune", "--older-than", "5d", "--keep", "6")
    assert (sum(each["observations"] for each in answer["found"]), answer["removed"]) == (4, 0)
    assert taught.json("history", "prune", "--workflow", "old one", "--yes")["removed"] == 1
    assert "removed 4" in taught.succeeds("history", "prune", "--older-than", "5d", "--keep", "6", "-y")
    assert observations(taught) == 8
    assert "nothing to remove" in taught.succeeds("history", "prune", "--keep", "100", "--yes")
    assert "nothing says what to forget" in taught.fails(2, "history", "prune", "--yes")
    assert "nothing is known" in taught.fails(2, "history", "prune", "--workflow", "wrods")


def test_another_file_before_or_after_the_verb_or_in_the_settings(taught: Bench) -> None:
    other = taught.directory / "other.db"
    SqliteHistory(other).add("here", "elsewhere", [observation()])
    assert "elsewhere" in taught.succeeds("history", "--file", str(other))
    assert "elsewhere" in taught.succeeds("history", "--file", str(other), "show", "elsewhere")
    assert "elsewhere" in taught.succeeds("history", "show", "elsewhere", "--file", str(other))
    (taught.directory / "headway.toml").write_text('history = "other.db"\n')
    assert "words" in taught.succeeds("history"), "the environment is stronger"
    del taught.environment["HEADWAY_HISTORY"]
    assert "elsewhere" in taught.succeeds("history")
    (taught.directory / "headway.toml").write_text("history = 3\n")
    assert "headway.toml:1: history: 3 is not a file" in taught.fails(2, "history")


def test_a_history_that_cannot_be_read(bench: Bench) -> None:
    bench.history.parent.mkdir(parents=True, exist_ok=True)
    bench.history.write_bytes(b"nonsense " * 2000)
    assert "file is not a database" in bench.fails(3, "history")
    assert "a PostgreSQL database" in bench.fails(2, "history", "--file", "mysql://db/history")


@pytest.mark.parametrize("name", ["show", "export", "prune", "why"])
def test_the_documentation_has_every_option(name: str) -> None:
    section = TEXT[TEXT.index("## `headway history`") :]
    section = section[: section.index("\n## ", 3)]
    assert f"history {name}" in section
    for parameter in command.commands[name].params:
        if isinstance(parameter, click.Option) and parameter.name not in ("as_json", "history"):
            assert any(f"`{word}" in section for word in parameter.opts), parameter.opts


def test_the_documentation_has_every_key(taught: Bench) -> None:
    answer = taught.json("history", "show", "words", "count")
    pruned = taught.json("history", "prune", "--keep", "1")
    keys = {*answer, *answer["categories"][0], *answer["attempts"][0], *pruned, *pruned["found"][0]}
    assert {key for key in keys if f"`{key}`" not in TEXT} == set()
