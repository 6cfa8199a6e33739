"""`status --by COLUMN` and `--only` of a run in which a sample failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.bench import SMALL, Bench

FLOW = """
    name: cohort
    tasks:
      align:
        each: samples.csv
        run: echo {sample} > {outputs}
        outputs: "{sample}.bam"
      call:
        each: samples.csv
        run: test {sample} != s2; cp {inputs} {outputs}
        inputs: "{sample}.bam"
        outputs: "{sample}.vcf"
      merge:
        run: cat {inputs} > {outputs}
        inputs: "*.vcf"
        outputs: all.txt
"""


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    home: Path = tmp_path_factory.mktemp("cohort")
    bench = Bench(home / "work", home)
    bench.write(FLOW)
    bench.write("sample,tissue\ns1,lung\ns2,liver\ns3,lung\n", "samples.csv")
    for _ in range(2):
        assert bench("run", "-k", *SMALL).returncode == 1
    return bench


def test_the_table(cohort: Bench) -> None:
    text = cohort.succeeds("status", "1", "--by", "sample")
    rows = [line.split() for line in text.splitlines()]
    assert [row for row in rows if row[:1] in (["sample"], ["s1"], ["s2"], ["s3"])] == [
        ["sample", "align", "call"],
        ["s1", "✓", "✓"],
        ["s2", "✓", "✗"],
        ["s3", "✓", "✓"],
    ]
    assert "merge  - cut off" in text
    assert "✗ call[s2]: its command exited with code 1" in text
    again = [line.split() for line in cohort.succeeds("status", "--by", "sample").splitlines()]
    assert ["s1", "↺", "↺"] in again and ["s2", "↺", "✗"] in again


def test_the_document(cohort: Bench) -> None:
    found = cohort.json("status", "--by", "tissue")
    assert found["by"] == "tissue" and found["run"] == "2"
    lung, liver = found["rows"]
    reused = [{"category": "align", "reused": 2}, {"category": "call", "reused": 2}]
    assert lung == {"value": "lung", "state": "reused", "steps": reused}
    assert liver["state"] == "failed"
    assert found["totals"] == [{"category": "align", "reused": 3}, {"category": "call", "reused": 2, "failed": 1}]
    assert found["others"] == [{"category": "merge", "cut_off": 1}]


def test_only_some_tasks_count(cohort: Bench) -> None:
    found = cohort.json("status", "1", "--only", "sample=s2,s3")
    counts = {state: number for state, number in found["tasks"].items() if number}
    assert counts == {"total": 4, "succeeded": 3, "failed": 1}
    assert [each["category"] for each in found["categories"]] == ["align", "call"]
    assert [each["task"] for each in found["failed"]] == ["call[s2]"]
    assert cohort.json("status", "1", "--only", "tissue=lung")["failed"] == []
    table = cohort.json("status", "1", "--by", "sample", "--only", "tissue=lung")
    assert [row["value"] for row in table["rows"]] == ["s1", "s3"] and table["others"] == []


def test_mistakes_are_one_sentence(cohort: Bench, bench: Bench) -> None:
    assert "no task has a column 'smaple'; did you mean 'sample'?" in cohort.fails(2, "status", "--by", "smaple")
    assert "no task has the sample 's9'" in cohort.fails(2, "status", "--only", "sample=s9")
    bench.write("name: one\ntasks: {t: {run: 'true'}}\n")
    bench.succeeds("run", *SMALL)
    assert "no task has columns here; `each` in the workflow file" in bench.fails(2, "status", "--by", "sample")
