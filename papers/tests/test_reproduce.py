"""`headway reproduce` as users meet it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.bench import Bench
from tests.cli.test_command_line_docs import keys

from headway_papers.synthetic_logs import DISTRIBUTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text()


def test_without_the_data_it_says_what_is_missing_and_goes_on(bench: Bench) -> None:
    done = bench("reproduce", "bucketing", "--tasks", "15", "--seed", "4", "--json")
    assert done.returncode == 0, done.stderr
    sentence = done.stderr.splitlines()[0]
    assert sentence.startswith("headway: HEADWAY_DATA is not set, so the logs of the paper are missing")
    document = json.loads(done.stdout)
    assert document["seeds"] == [4]
    assert document["verdicts"] == []
    assert {cell["kind"] for cell in document["cells"]} == {"generated"}
    assert {cell["workflow"] for cell in document["cells"]} == set(DISTRIBUTIONS)
    assert len(document["cells"]) == 5 * 10 * 2
    timed = [(timing["allocator"], timing["records"]) for timing in document["times"]]
    assert len(timed) == 15
    assert ("ladder", 5_000) in timed
    assert {key for key in keys(document) if f"`{key}`" not in PAGE and not key.isdigit()} == set()


def test_tables_and_page(bench: Bench) -> None:
    done = bench("reproduce", "bucketing", "--tasks", "15", "--full", "--html", "page.html", HEADWAY_DATA="none")
    assert done.returncode == 0, done.stderr
    assert "there is no folder ipdps2024-bucketing in none" in done.stderr
    assert "wrote page.html" in done.stderr
    assert "Seeds: 0, 1, 2" in done.stdout
    for title in ("Figure 5", "Figure 6", "by lag, failures at full cost", "by lag, failures as observed", "Table I"):
        assert title in done.stdout
    assert "none: they are about the paper's logs" in done.stdout
    assert max(map(len, re.findall("^ladder .*", done.stdout, re.MULTILINE))) <= 100
    page = (bench.directory / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert not re.search(r"https?:|<script|<link", page)


def test_mistakes(bench: Bench) -> None:
    assert "there is no such folder" in bench.fails(2, "reproduce", "bucketing", "--html", "none/page.html")
    bench.write("mine", "page.html")
    assert "--force overwrites it" in bench.fails(2, "reproduce", "bucketing", "--html", "page.html")
    assert "'bucketing'" in bench.fails(2, "reproduce", "baking")
    assert "--seed" in bench.fails(2, "reproduce", "bucketing", "--seed", "-1")
