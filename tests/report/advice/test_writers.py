"""Advice as configuration: amounts in each tool's own units, and names that cannot break out of their place."""

from __future__ import annotations

import doctest
import re

import pytest
import yaml

from headway.model.advice import Advice, CategoryAdvice, LeftAlone, Trial
from headway.report.advice import cwl, hints, nextflow, slurm, snakemake, table, tools, words, yaml_text
from headway.report.advice.page import page

MIB = 2.0**20
HOSTILE = ["plain", "a:b", "it's", '"q"', "back\\slash", "größe 😀", "new\nline", "yes", "</pre><script>", "*/ } {{x}}"]


def category(name: str, unit: float = MIB) -> CategoryAdvice:
    trial = Trial(95, 97, 2, 0, 0, held_gb_h=30.0, asked_gb_h=100.0, used_gb_h=20.0)
    return CategoryAdvice(
        name, 100, trial, (1200 * unit, 2400 * unit, 8 * 1024 * unit), (300.0, 600.0, 7200.0), 2,
        asked_memory_bytes=8 * 1024 * unit, asked_cpus=4.0,
        used_memory_bytes=tuple(amount * unit for amount in (700, 800, 900, 950, 1000, 1100)),
        used_time_s=(10.0,) * 6, used_cpus=1.9,
    )  # fmt: skip


def advice(*names: str, unit: float = MIB, attempts: int = 3) -> Advice:
    return Advice([category(name, unit) for name in names], [LeftAlone("rare", 2)], 0.03, 5, attempts, unit)


@pytest.mark.parametrize("module", [words, nextflow, cwl, yaml_text, tools])
def test_examples(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def test_nextflow() -> None:
    text = nextflow.config(advice("RNASEQ:ALIGN"), ["trace.txt"])
    assert "    maxRetries = 2\n" in text
    assert "    withName: 'RNASEQ:ALIGN' {\n        cpus = 2\n" in text
    assert "memory = { ['1200 MB', '2400 MB', '8 GB'][Math.min(task.attempt, 3) - 1] }" in text
    assert "time = { ['5 min', '10 min', '2 h'][Math.min(task.attempt, 3) - 1] }" in text
    assert "Left as they are, with fewer than 5 records: rare (2)." in text


def test_every_value_says_where_it_comes_from() -> None:
    text = " ".join(nextflow.config(advice("ALIGN"), ["trace.txt"]).replace("//", "").split())
    assert "100 records: asked for 8 GB, used up to 1.07 GB and 10 s" in text
    assert "2 of 97 attempts would have failed (2 out of memory); 70 of 100 GB·h of memory (70%) saved" in text


def test_snakemake() -> None:
    profile = yaml.safe_load(snakemake.config(advice("align", "a:b", unit=1e6), ["x"]))
    assert profile["restart-times"] == 2
    assert profile["set-threads"] == {"align": 2}
    assert profile["set-resources"] == {
        "align": {
            "mem_mb": "[1200, 2400, 8192][min(attempt, 3) - 1]",
            "runtime": "[5, 10, 120][min(attempt, 3) - 1]",
        }
    }
    assert "no rule can have such a name: 'a:b'" in snakemake.config(advice("align", "a:b"), ["x"])


def test_slurm() -> None:
    lines = slurm.config(advice("align"), ["x"]).splitlines()
    assert {"#SBATCH --mem=1200M", "#SBATCH --time=00:05:00", "#SBATCH --cpus-per-task=2"} <= set(lines)
    assert "# if that runs out of memory: --mem=2400M, then --mem=8G" in lines
    assert all(line.startswith("#") or not line for line in lines)


def test_cwl() -> None:
    overrides = yaml.safe_load(cwl.config(advice("align"), ["x"], "main.cwl"))["cwltool:overrides"]
    assert overrides == {"main.cwl#align": {"requirements": {"ResourceRequirement": {"ramMin": 1200, "coresMin": 2}}}}


def test_headway() -> None:
    snippet = yaml.safe_load(hints.config(advice("align", unit=1e6), ["x"]))
    assert snippet == {"tasks": {"align": {"resources": {"cores": 2, "memory": "1.2 GB", "time": "5m"}}}}


@pytest.mark.parametrize("write", [snakemake.config, cwl.config, hints.config])
def test_hostile_names_stay_names_in_yaml(write: tools.Tool) -> None:
    document = yaml.safe_load(write(advice(*HOSTILE), ["a\nlog: x"]))  # type: ignore[operator]
    found = document.get("tasks") or document.get("set-resources") or document["cwltool:overrides"]
    if write is hints.config:
        assert list(found) == HOSTILE
    elif write is snakemake.config:
        assert list(found) == ["plain", "yes"]
    assert "log" not in document


def test_hostile_names_stay_in_their_place_elsewhere() -> None:
    text = nextflow.config(advice(*HOSTILE), ["a\n} evil {"])
    selectors = re.findall(r"withName: '([^'\n]*)' \{", text)
    assert len(selectors) == len(HOSTILE)
    begins = ("//", "withName", "cpus", "memory", "time", "errorStrategy", "maxRetries", "}", "process {")
    assert all(line.lstrip().startswith(begins) for line in text.splitlines() if line)
    outside_comments = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
    assert outside_comments.isascii()
    assert all(line.startswith("#") or not line for line in slurm.config(advice(*HOSTILE), ["a\nb"]).splitlines())


def test_a_tool_that_does_not_retry_gets_plain_amounts() -> None:
    each = CategoryAdvice(
        "a", 9, Trial(), (1200 * MIB,), (300.0,), used_memory_bytes=(1.0,) * 6, used_time_s=(1.0,) * 6
    )
    text = nextflow.config(Advice([each], [], 0.0, 5, 1, MIB), ["x"])
    assert "        memory = '1200 MB'\n        time = '5 min'\n" in text
    assert "maxRetries" not in text
    assert yaml.safe_load(snakemake.config(Advice([each], [], 0.0, 5, 1), ["x"]))["set-resources"]["a"]["runtime"] == 5


@pytest.mark.parametrize("tool", tools.TOOLS)
def test_nothing_to_advise(tool: str) -> None:
    text = tools.TOOLS[tool].write(Advice([], [LeftAlone("a", 1)], 0.03, 5, 3), ["x"])
    assert "Left as they are, with fewer than 5 records: a (1)." in text


def test_memory_that_is_kept_says_why() -> None:
    each = CategoryAdvice("a", 9, Trial(4, 4), (), (300.0,), asked_memory_bytes=8e9, used_memory_bytes=(7e9,) * 6,
                          used_time_s=(1.0,) * 6)  # fmt: skip
    kept = Advice([each], [], 0.03, 5, 3)
    assert "keep the memory as it is" in " ".join(nextflow.config(kept, ["x"]).replace("//", "").split())
    assert "memory =" not in nextflow.config(kept, ["x"])
    assert "as asked" in table.config(kept, ["x"])


def test_the_riskiest_lines_come_first_with_their_reasons() -> None:
    calm = category("calm")
    few = CategoryAdvice("few", 6, Trial(1, 1), (2e9,), (), used_memory_bytes=(1e9,) * 6, used_time_s=(1.0,) * 6)
    lost = CategoryAdvice("lost", 90, Trial(85, 90, 5, 0, 1), (2e9,), (), asked_memory_bytes=1e9,
                          used_memory_bytes=(1e8, 1e8, 1e8, 1e8, 1e9, 3e9), used_time_s=(1.0,) * 6)  # fmt: skip
    found = words.risks(Advice([calm, few, lost], [], 0.03, 5, 3))
    assert [each.category for each, _ in found] == ["lost", "calm", "few"]
    assert found[0][1] == (
        "1 task would have failed for good; 5 of 90 attempts would have failed; the greatest peak is 30.0 times the "
        "median; tasks used up to 3 GB, more than they asked for"
    )
    assert found[2][1] == "only 6 records"


def test_the_page_is_one_file_and_escapes_names() -> None:
    made = advice(*HOSTILE)
    text = page(made, ["<log>"], "nextflow", nextflow.config(made, ["<log>"]))
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org", "")
    assert text.count("<svg") == 2
    assert "The riskiest lines" in text
    assert "&lt;log&gt;" in text
    unasked = CategoryAdvice("a", 9, Trial(4, 4), (2e9,), (), used_memory_bytes=(1e9,) * 6, used_time_s=(1.0,) * 6)
    assert page(Advice([unasked], [], 0.03, 5, 3), ["x"], "table", "").count("<svg") == 1
    assert "<svg" not in page(Advice([], [LeftAlone("a", 1)], 0.03, 5, 3), ["x"], "table", "")
