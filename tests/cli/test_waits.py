"""`headway waits` as users meet it: the table, the JSON, the page, and one sentence for every mistake."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from headway.waiting import WAITS
from tests.cli.bench import Bench
from tests.cli.test_simulate import trace

SMALL = ("waits", "lublin", "--machine", "32", "--jobs", "600", "--load", "0.9")


def test_the_table(bench: Bench) -> None:
    lines = bench.succeeds(*SMALL).splitlines()
    assert re.match(r"lublin.*: 600 jobs on 32 nodes; conservative backfilling, rules of pyss", lines[0])
    assert "has the smallest error: " in lines[2] and "times the error of the scheduler's own plan" in lines[2]
    rows = {line.split()[0] for line in lines[4:]}
    assert WAITS.keys() <= rows


def test_the_document(bench: Bench) -> None:
    found = json.loads(bench.succeeds(*SMALL, "--models", "corrected-estimate,scheduler-estimate", "--json"))
    assert found["policy"] == {"backfill": "conservative", "nodes": "counts", "rules": "pyss", "depth": 1}
    assert (found["jobs"], found["machine"], found["seed"], found["warm_up_days"]) == (600, 32, 0, 0.0)
    corrected, plan = found["models"]
    assert plan["to_wait"]["to_plan"] == 1.0 and corrected["to_wait"]["to_plan"] < 0.8
    assert corrected["to_wait"]["jobs"] < corrected["all"]["jobs"] == 600
    assert set(corrected["to_wait"]["covered"]) >= {"0.5", "0.9", "0.95"}
    assert corrected["to_wait"]["pinball_s"]["0.9"] < plan["to_wait"]["pinball_s"]["0.9"]


def test_the_seed_determines_the_scores(bench: Bench) -> None:
    log = trace(bench)
    asked = ("waits", log, "--models", "asa", "--json")
    assert bench.succeeds(*asked) == bench.succeeds(*asked, "--seed", "0")
    assert bench.succeeds(*asked) != bench.succeeds(*asked, "--seed", "4")


def test_the_queue_is_as_asked_for(bench: Bench) -> None:
    """Nobody overtakes: jobs 2 to 5 wait for 90, 130, 120 and 140 s, as planned when they come."""
    found = json.loads(
        bench.succeeds("waits", trace(bench), "--backfill", "fcfs", "--models", "scheduler-estimate", "--json")
    )
    (model,) = found["models"]
    assert model["to_wait"]["jobs"] == 4 and model["to_wait"]["mean_wait_s"] == 120.0
    assert model["to_wait"]["absolute_error_s"] == 0.0 and model["to_wait"]["to_plan"] is None


def test_warm_up(bench: Bench) -> None:
    found = json.loads(bench.succeeds(*SMALL, "--models", "quantile-bound", "--warm-up", "0.5", "--json"))
    assert 0 < found["models"][0]["all"]["jobs"] < 600


def test_the_page(bench: Bench) -> None:
    bench.succeeds(*SMALL, "--models", "corrected-estimate,asa", "--html", "waits.html")
    page = (bench.directory / "waits.html").read_text()

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            found.append(tag)

    found: list[str] = []
    Tags().feed(page)
    assert found.count("svg") == 1 and found.count("circle") == 24 and found.count("table") == 3
    assert "corrected-estimate" in page and "http" not in page
    assert "this file exists" in bench.fails(2, *SMALL, "--html", "waits.html")
    bench.succeeds(*SMALL, "--models", "asa", "--html", "waits.html", "--force")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("lublin", "--models", "corected-estimate"), "there is no model of waits called 'corected-estimate'"),
        (("lublin", "--models", ","), "no model is named"),
        (("lublin", "--cancelled", "one-second"), "this is for logs, and lublin is none"),
        (("lublin", "--depth", "2"), "only --backfill easy has a depth"),
        (("lublin", "--html", "nowhere/waits.html"), "there is no such folder"),
        (("lublin", "--jobs", "5", "--load", "0.01"), "no job has to wait in this queue"),
        (("lublin", "--jobs", "500", "--warm-up", "100000"), "no job has to wait after the warm-up"),
        (("lublin", "--warm-up", "-1"), "-1"),
        (("missing.swf",), "missing.swf"),
    ],
)
def test_one_sentence_for_every_mistake(bench: Bench, args: tuple[str, ...], words: str) -> None:
    said = bench.fails(2, "waits", *args)
    assert words in said and "Traceback" not in said
    assert len(said.strip().splitlines()) == 1


def test_a_log_refuses_generator_options_and_is_not_overwritten(bench: Bench) -> None:
    log = trace(bench)
    assert "this is a log" in bench.fails(2, "waits", log, "--load", "0.5")
    assert "this is the log itself" in bench.fails(2, "waits", log, "--html", log, "--force")
