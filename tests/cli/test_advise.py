"""`headway advise` as users meet it: configuration, table, page, JSON, and one sentence for every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import headway
from tests.api.test_same_answers import as_json, same_place
from tests.cli.bench import SMALL, Bench
from tests.cli.test_replay import trace

DOCS = (Path(__file__).parents[2] / "docs" / "advise.md").read_text()
WORKFLOW = "name: w\ntasks:\n  square:\n    each: {n: 1..7}\n    run: 'echo {n}'\n    resources: {memory: 500 MB}\n"


def test_by_default_the_configuration_of_the_tool_that_wrote_the_log(bench: Bench) -> None:
    text = bench.succeeds("advise", trace(bench, tasks=20))
    assert text.startswith("// Advice of `headway advise` from trace.csv: 20 tasks of one category.\n")
    assert "    withName: 'align' {\n" in text
    assert "8 GB'][Math.min(task.attempt, 3) - 1] }" in text


def test_with_a_file_a_table_is_printed(bench: Bench) -> None:
    done = bench("advise", trace(bench, tasks=20), "-o", "advice.config", "--html", "advice.html")
    assert done.stderr == "wrote advice.config\nwrote advice.html\n"
    lines = done.stdout.splitlines()
    body = next(line.split() for line in lines if line.startswith("align"))
    assert body[:5] == ["align", "20", "8", "GB", "2"]
    assert any(
        line.startswith("Each task of the log sized from the tasks before it: 0 of 15 attempts") for line in lines
    )
    assert (bench.directory / "advice.config").read_text() == bench.succeeds("advise", "trace.csv")
    assert "<svg" in (bench.directory / "advice.html").read_text()


def test_the_document_and_the_function_say_the_same(bench: Bench) -> None:
    document = bench.json("advise", trace(bench, tasks=20), "--for", "slurm", "--failures", "0", "--retries", "1")
    with same_place(bench):
        assert as_json(headway.advise("trace.csv", tool="slurm", failures=0, retries=1)) == document
    assert (document["for"], document["tasks"], document["failures"], document["attempts"]) == ("slurm", 20, 0, 2)
    (each,) = document["categories"]
    assert (each["category"], each["records"], each["trial"]["tasks"]) == ("align", 20, 15)
    keys = {*document, *each, *each["trial"], *bench.json("advise", trace(bench))["left_alone"][0]}
    assert {key for key in keys if f"`{key}`" not in DOCS} == set()


def test_several_logs_are_runs_of_one_pipeline(bench: Bench) -> None:
    one, two = trace(bench, "one.csv"), trace(bench, "two.csv")
    assert "Left as they are, with fewer than 5 records: align (3)." in bench.succeeds("advise", one)
    document = bench.json("advise", one, two)
    assert (document["logs"], document["tasks"], document["categories"][0]["records"]) == (["one.csv", "two.csv"], 6, 6)


def test_without_a_log_the_history_of_this_directory(bench: Bench) -> None:
    assert "nothing has been learned in this directory yet; name the LOG" in bench.fails(2, "advise")
    bench.write(WORKFLOW)
    bench.succeeds("run", *SMALL)
    document = bench.json("advise")
    assert document["for"] == "headway"
    assert (document["categories"][0]["category"], document["categories"][0]["records"]) == ("square", 7)
    assert document["categories"][0]["asked_memory_bytes"] == 500e6
    advised = yaml.safe_load(document["config"])["tasks"]["square"]["resources"]
    assert advised["memory"] == "100 MB"
    bench.write(WORKFLOW.replace("500 MB", advised["memory"]))
    bench.succeeds("run", *SMALL)
    assert bench.json("status")["state"] == "succeeded"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["missing.csv"], "missing.csv: this file does not exist"),
        (
            ["--failures", "lots"],
            "invalid value for '--failures': 'lots' is not a share of attempts; write for example",
        ),
        (["--fewest", "1"], "invalid value for '--fewest'"),
        (["--most-memory", "lots"], "invalid value for '--most-memory': 'lots' is not an amount of memory or disk"),
        (["--for", "nextfow"], "invalid value for '--for': 'nextfow' is not one of 'nextflow'"),
        (["--workflow", "main.cwl"], "--workflow: this is for --for cwl; leave it out"),
        (["-o", "trace.csv"], "trace.csv: two of the files are the same; name another FILE"),
        (["-o", "a", "--html", "a"], "a: two of the files are the same; name another FILE"),
        (["-o", "there"], "there: this file exists; --force overwrites it"),
        (["--html", "no/page.html"], "no: there is no such folder; make it, or name another FILE"),
    ],
)
def test_mistakes(bench: Bench, args: list[str], error: str) -> None:
    bench.write("", "there")
    assert bench.fails(2, "advise", trace(bench), *args).startswith(f"headway: {error}")
    assert not (bench.directory / "a").exists()


def test_the_function_names_what_is_wrong_as_the_command_does(bench: Bench) -> None:
    log = trace(bench)
    with same_place(bench):
        with pytest.raises(headway.HeadwayError, match="--for: there is no tool called 'nextfow'; did you mean"):
            headway.advise(log, tool="nextfow")
        with pytest.raises(headway.HeadwayError, match="--most-memory: 'lots' is not an amount"):
            headway.advise(log, most_memory="lots")
