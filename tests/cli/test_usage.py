"""`usage` on runs that are over, failed, reused, and beside one that is not."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from headway.report.run.usage_table import SORTS
from tests.cli.bench import SMALL, Bench, interrupt
from tests.cli.test_command_line_docs import TEXT, keys


def test_a_failed_run_by_category(finished: Bench) -> None:
    text = finished.succeeds("usage", "1")
    assert text.startswith("demo, run 1: failed; 5 tasks, 4 attempts\n")
    assert re.search(r"^make +2 +2 ", text, re.MULTILINE)
    assert re.search(r"^broken +0 of 1 +1 ", text, re.MULTILINE)
    assert re.search(r"^after +0 of 1 +- +- ", text, re.MULTILINE)
    assert re.search(r"^memory: asked .* on average, used .* \(AWE .*%\)", text, re.MULTILINE)


def test_reused_results_are_listed_without_figures(finished: Bench) -> None:
    found = {row["task"]: row for row in finished.json("usage", "2", "--by", "task")["rows"]}
    assert {name: row["state"] for name, row in found.items()} == {
        "make[a]": "reused",
        "make[b]": "reused",
        "noisy": "reused",
        "broken": "failed",
        "after": "cut off",
    }
    assert found["make[a]"]["memory_asked_bytes"] is None
    assert found["make[a]"]["attempts"] == 0
    line = next(line for line in finished.succeeds("usage", "--by", "task").splitlines() if line.startswith("noisy"))
    assert set(line.split()[2:]) == {"-"}


def test_the_same_figures_as_status(finished: Bench) -> None:
    status, usage = finished.json("status", "1"), finished.json("usage", "1")
    whole = usage["all"]
    assert whole["attempts"] == status["attempts"]
    assert whole["run_time_s"] == status["run_time_s"]
    rows = {row["category"]: row for row in usage["rows"]}
    assert rows.keys() == {each["category"] for each in status["categories"]}
    for each in status["categories"]:
        row = rows[each["category"]]
        assert row["tasks"] == each["tasks"]["total"]
        assert {name: row[name] for name in ("succeeded", "failed", "cut_off")} == {
            name: each["tasks"][name] for name in ("succeeded", "failed", "cut_off")
        }
        for resource, short, unit, held in (
            ("memory_bytes", "memory", "_bytes", "byte"),
            ("cores", "cores", "", "core"),
            ("disk_bytes", "disk", "_bytes", "byte"),
        ):
            ledger = each["resources"][resource]
            assert row[f"{short}_asked{unit}"] == ledger["asked_mean"]
            assert row[f"{short}_used{unit}"] == ledger["used_mean"]
            assert row[f"{short}_most{unit}"] == ledger["used_max"]
            assert row[f"{short}_wasted_{held}_s"] == ledger["wasted_s"]
            assert row[f"{short}_awe"] == ledger["awe"]


def test_the_same_figures_as_why(bench: Bench) -> None:
    bench.write(
        """
        name: retried
        tasks:
          grow:
            run: |
              if [ -e once ]; then exit 0; fi
              touch once; exit 1
            retries: 1
        """
    )
    bench.succeeds("run", "-q", *SMALL)
    (row,) = bench.json("usage", "--by", "task")["rows"]
    first, last = bench.json("why", "grow")["attempts"]
    assert (row["attempts"], row["last_attempt"], row["last_ending"]) == (2, 2, last["ending"])
    assert row["memory_asked_bytes"] == last["given"]["memory_bytes"]
    assert row["memory_used_bytes"] == last["used"]["memory_bytes"]["value"]
    assert row["cores_used"] == last["used"]["cores_peak"]["value"]
    assert row["last_run_time_s"] == last["used"]["wall_s"]["value"]
    cpu = [attempt["used"]["cpu_s"]["value"] for attempt in (first, last)]
    assert row["cpu_time_s"] == pytest.approx(sum(cpu))
    assert row["run_time_s"] == pytest.approx(sum(each["used"]["wall_s"]["value"] for each in (first, last)))


def test_a_category_by_its_tasks(finished: Bench) -> None:
    found = finished.json("usage", "1", "--category", "make")
    assert found["by"] == "task"
    assert sorted(row["task"] for row in found["rows"]) == ["make[a]", "make[b]"]
    assert found["all"]["tasks"] == 2
    (only,) = finished.json("usage", "1", "--category", "make", "--by", "category")["rows"]
    assert only["category"] == "make"


def test_some_tasks_by_a_pattern_or_a_column(finished: Bench) -> None:
    (row,) = finished.json("usage", "1", "--category", "m*[b]")["rows"]
    assert (row["task"], row["tasks"]) == ("make[b]", 1)
    for words in (("m*[b]",), ("1", "m*[b]"), ("make[b]",)):
        assert [row["task"] for row in finished.json("usage", *words)["rows"]] == ["make[b]"]
    assert "run 1 has no category or task '*[z]'" in finished.fails(2, "usage", "1", "*[z]")
    assert "'noisy' is one name too many" in finished.fails(2, "usage", "make", "--category", "noisy")
    assert "there is no run 9 here" in finished.fails(2, "usage", "9")
    (row,) = (found := finished.json("usage", "1", "--only", "part=a"))["rows"]
    assert (row["category"], row["tasks"], row["attempts"], found["all"]["tasks"]) == ("make", 1, 1, 1)
    assert "noisy has no task with part=a" in finished.fails(2, "usage", "--category", "noisy", "--only", "part=a")


def test_top_says_how_many_more_there_are(finished: Bench) -> None:
    text = finished.succeeds("usage", "1", "--by", "task", "--top", "2", "--sort", "name")
    assert "after " in text
    assert "make[a]" not in text
    assert "… and 3 more tasks (--top N shows more; --csv and --json have all)" in text
    assert re.search(r"^all +3 of 5 ", text, re.MULTILINE), "the total is still of all"


def test_csv_has_every_row_in_full(finished: Bench) -> None:
    rows = list(csv.DictReader(io.StringIO(finished.succeeds("usage", "1", "--by", "task", "--csv", "--sort", "name"))))
    assert [row["task"] for row in rows] == ["after", "broken", "make[a]", "make[b]", "noisy"]
    expected = {row["task"]: row for row in finished.json("usage", "1", "--by", "task")["rows"]}
    for row in rows:
        assert row.keys() == expected[row["task"]].keys()
        assert row["run_time_s"] == str(expected[row["task"]]["run_time_s"])


@pytest.mark.parametrize("sort", SORTS)
def test_every_column_can_be_sorted_by(finished: Bench, sort: str) -> None:
    assert "all" in finished.succeeds("usage", "1", "--sort", sort)


def test_usage_during_a_run_and_after_it_was_stopped(bench: Bench) -> None:
    bench.write(
        """
        name: w
        tasks:
          a:
            run: touch begun; while [ ! -e go ]; do sleep 0.05; done
          b: {needs: a, run: "true"}
        """
    )
    process = bench.start("run", "-q", *SMALL)
    bench.wait_for_file("begun")
    found = bench.json("usage", "--by", "task")
    assert found["state"] == "running"
    a, b = sorted(found["rows"], key=lambda row: str(row["task"]))
    assert (a["state"], a["memory_asked_bytes"], a["memory_used_bytes"]) == ("running", 500_000_000, None)
    assert (b["state"], b["attempts"]) == ("waiting", 0)
    assert "nothing has been measured in this run" in bench.succeeds("usage")
    interrupt(process)
    interrupt(process)
    (bench.directory / "go").touch()
    process.communicate(timeout=300)
    assert bench.json("usage")["state"] in ("stopped", "succeeded")


def test_mistakes_are_one_sentence(finished: Bench, tmp_path: Path) -> None:
    assert "has no category or task 'mak'; did you mean 'make'" in finished.fails(2, "usage", "1", "--category", "mak")
    assert "contradict each other" in finished.fails(2, "usage", "--csv", "--json")
    assert "--sort" in finished.fails(2, "usage", "--sort", "beauty")
    assert "--top" in finished.fails(2, "usage", "--top", "0")
    assert "99" in finished.fails(2, "usage", "99")
    finished.fails(2, "usage", "-C", str(tmp_path))


@pytest.mark.parametrize("by", ["task", "category"])
def test_every_key_is_documented(finished: Bench, by: str) -> None:
    found = keys(finished.json("usage", "1", "--by", by))
    assert len(found) > 20
    assert {key for key in found if f"`{key}`" not in TEXT} == set()
