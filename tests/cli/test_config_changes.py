"""A task that runs since a value of `config` changed says so, in the dry run and in `headway why`."""

from __future__ import annotations

import shutil

import pytest

from tests.cli.bench import SMALL, Bench

FLOW = """
    name: changes
    config:
      minq: 20
      genome: hg38
      reference: "refs/{genome}.fa"
      parts: [a, b]
      password: no
    tasks:
      call: {run: "echo {minq} {reference} > called", outputs: called}
      each:
        each: {p: "{parts}"}
        run: echo {p} {minq} > part-{p}
        outputs: "part-{p}"
      join: {run: "echo {parts} > joined", outputs: joined}
      name: {run: "true > {genome}.txt", outputs: "{genome}.txt", env: {Q: "{minq}"}}
      secret: {run: "echo {password} > secret", outputs: secret}
      same: {run: "echo same > same", outputs: same}
"""


@pytest.fixture
def ran(bench: Bench) -> Bench:
    bench.write(FLOW)
    bench.succeeds("run", "-q", *SMALL)
    return bench


def runs(bench: Bench, *args: str) -> dict[str, str]:
    answer = bench.json("run", "-n", *SMALL, *args)
    return {task["task"]: task["why"] for task in answer["tasks"] if task["verdict"] == "runs"}


def test_each_task_names_the_values_that_changed_it(ran: Bench) -> None:
    minq = "config minq is 30, was 20 (--set minq=30)"
    assert runs(ran, "--set", "minq=30") == {
        "call": f"its command changed: {minq}",
        "each[a]": f"its command changed: {minq}",
        "each[b]": f"its command changed: {minq}",
        "name": f"its environment changed: {minq}",
    }
    genome = "config genome is x y, was hg38 (--set 'genome=x y')"
    found = runs(ran, "--set", "minq=30", "--set", "genome=x y")
    assert found["call"] == f"its command changed: {minq}, {genome}", "`reference` follows from `genome`"
    name = f"its command, environment and outputs changed: {minq}, {genome}, output x y.txt is missing"
    assert found["name"] == name
    parts = runs(ran, "--set", "parts=a,c")
    assert parts == {
        "each[c]": "no earlier result",
        "join": "its command changed: config parts is a,c, was a,b (--set parts=a,c)",
    }


def test_why_and_the_next_run_compare_with_the_run_that_made_the_result(ran: Bench) -> None:
    ran.succeeds("run", "-q", *SMALL, "--set", "minq=30", "call")
    assert ran.json("why", "call")["because"] == "its command changed: config minq is 30, was 20 (--set minq=30)"
    ran.succeeds("run", "-q", *SMALL, "--set", "minq=30")
    told = ran.succeeds("why", "each[a]")
    assert "it ran because: its command changed: config minq is 30, was 20 (--set minq=30)" in told
    assert "settings of the run: " in told and "--set minq=30" in told
    assert runs(ran)["call"] == "its command changed: config minq is 20, was 30"
    ran.write(FLOW.replace("minq: 20", "minq: 25"))
    assert runs(ran)["call"] == "its command changed: config minq is 25, was 30"
    shutil.rmtree(ran.directory / ".headway" / "runs" / "2")
    assert runs(ran)["call"] == "its command changed", "the run that made it is gone"
    assert runs(ran)["each[a]"] == "its command changed: config minq is 25, was 30"


def test_a_value_is_not_named_where_only_the_files_of_other_tasks_changed(bench: Bench) -> None:
    bench.write("""
        name: list
        config: {sheet: pilot.tsv, minq: 20}
        tasks:
          call:
            each: {sheet: "{sheet}"}
            run: echo {sample} > {outputs}
            outputs: "calls/{sample}"
          merge: {run: "cat {inputs} > m", inputs: [{from: call}], outputs: m}
          filter: {run: "grep -c {minq} {inputs} > f || true", inputs: [{from: call}], outputs: f}
          named: {run: "wc {inputs} > n", inputs: "{sheet}", outputs: n}
    """)
    for sheet, rows in (("pilot.tsv", "sample\na\n"), ("s.tsv", "sample\na\nb\n")):
        (bench.directory / sheet).write_text(rows)
    bench.succeeds("run", "-q", *SMALL)
    found = runs(bench, "--set", "sheet=s.tsv", "--set", "minq=30")
    assert found["merge"] == "its command changed"
    assert found["filter"] == "its command changed: config minq is 30, was 20 (--set minq=30)"
    sheet = "its command changed: config sheet is s.tsv, was pilot.tsv (--set sheet=s.tsv)"
    assert found["named"] == f"{sheet}, input s.tsv is new, pilot.tsv is no longer an input"
    bench.succeeds("run", "-q", *SMALL, "--set", "sheet=s.tsv")
    assert bench.json("why", "merge")["because"] == "its command changed, input calls/b is new"


def test_what_config_does_not_explain_is_not_attributed_to_it(ran: Bench) -> None:
    ran.write(FLOW.replace("echo {minq} {reference}", "echo q {minq} {reference}").replace("echo same", "echo other"))
    found = runs(ran, "--set", "minq=30")
    assert found["call"] == "its command changed", "the file was edited as well"
    assert found["same"] == "its command changed"
    assert found["each[a]"].endswith("config minq is 30, was 20 (--set minq=30)")
    assert runs(ran, "--set", "password=geheim")["secret"] == "its command changed", "a secret is not told"


def test_a_value_that_is_not_text_is_refused_in_one_sentence(bench: Bench) -> None:
    bench.write(FLOW)
    assert "is not text in UTF-8" in bench.fails(2, "run", "--set", "minq=\udcff")
