"""The real tools accept advice, and a small pipeline that follows it asks for less memory and does not fail."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import headway
from headway.report.advice.nextflow import selector
from tests import nextflow as real

NAMES = ["NFCORE_RNASEQ:RNASEQ:FASTQC", "a.b+c*", "it's", '"quoted"', "back\\slash", "!not", "größe", "a\nb", "$x{1}"]
TRACE = "trace.enabled = true\ntrace.overwrite = true\ntrace.raw = true\ntrace.file = 'trace.txt'\nexecutor.cpus = 8\n"
FIELDS = "trace.fields = 'task_id,process,tag,status,start,realtime,peak_rss,memory,cpus,%cpu,time,attempt'\n"
# A task that needs more than it may have ends as if the kernel had killed it. A shorter one would not be measured.
PIPELINE = """
process EAT {
    memory '2 GB'
    time '1 h'
    tag "$mb"
    input: val mb
    script:
    \"""
    ulimit -v ${task.memory.toKilo()}
    python3 -c "import time; held = b'x' * ($mb << 20); time.sleep(2.5)" || exit 137
    \"""
}
workflow LARGE {
    take: sizes
    main: EAT(sizes)
}
workflow { LARGE(Channel.fromList(params.sizes.toString().tokenize('-'))) }
"""


def traced(names: list[str], path: Path, tasks: int = 6) -> Path:
    """A trace with tasks of these names, which ask for 8 GB and use 1."""
    with path.open("w", newline="") as file:
        table = csv.writer(file, delimiter="\t")
        table.writerow(["task_id", "process", "status", "start", "realtime", "peak_rss", "memory", "cpus", "%cpu"])
        for number in range(tasks * len(names)):
            name = names[number % len(names)]
            table.writerow([number, name, "COMPLETED", number, 60_000, 10**9 + number, 8 * 2**30, 4, "150.0"])
    return path


@pytest.fixture(scope="module")
def nextflow() -> None:
    if problem := real.get():
        pytest.skip(problem)


@pytest.mark.usefixtures("nextflow")
def test_nextflow_reads_the_configuration_whatever_the_names(tmp_path: Path) -> None:
    headway.advise(traced(NAMES, tmp_path / "trace.tsv"), tool="nextflow", output=tmp_path / "nextflow.config")
    done = real.nextflow(tmp_path, "config")
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.count("withName") == len(NAMES)
    assert "withName:'NFCORE_RNASEQ:RNASEQ:FASTQC'" in done.stdout


@pytest.mark.usefixtures("nextflow")
def test_a_selector_matches_its_own_name_only(tmp_path: Path) -> None:
    """By the regular expressions of the Java in which Nextflow compares them."""
    letters = [[ord(letter) for letter in name] for name in [*NAMES, "axb+c*"]]
    names = ", ".join(f"new String({each} as int[], 0, {len(each)})" for each in letters)
    patterns = ", ".join(map(selector, NAMES))
    code = f"println([{patterns}].collect {{ p -> [{names}].count {{ it ==~ p }} }})"
    assert real.java(tmp_path, "groovy.ui.GroovyMain", "-e", code).stdout.strip() == str([1] * len(NAMES))


@pytest.fixture(scope="module")
def pipeline(nextflow: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the pipeline ran once, with the requests that its author wrote."""
    directory = tmp_path_factory.mktemp("pipeline")
    (directory / "main.nf").write_text(PIPELINE)
    (directory / "nextflow.config").write_text(TRACE + FIELDS)
    done = real.nextflow(directory, "run", "main.nf", "--sizes", "150-155-160-165-170-175")
    assert done.returncode == 0, done.stdout
    return directory


def test_a_nextflow_pipeline_that_follows_the_advice(pipeline: Path) -> None:
    """The same tasks, and one that needs more than the first amount: its retry has enough."""
    advised = headway.advise(pipeline / "trace.txt", output=pipeline / "advice.config")
    assert (advised.tool, [each.category for each in advised.advice.categories]) == ("nextflow", ["LARGE:EAT"])
    done = real.nextflow(pipeline, "run", "main.nf", "-c", "advice.config", "--sizes", "150-160-170-175-300")
    assert done.returncode == 0, done.stdout
    with (pipeline / "trace.txt").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["status"] for row in rows if row["tag"] != "300"] == ["COMPLETED"] * 4
    assert max(int(row["memory"]) for row in rows if row["tag"] != "300") <= 400 * 2**20 < 2 * 2**30
    large = sorted((int(row["attempt"]), row["status"]) for row in rows if row["tag"] == "300")
    assert large[0] == (1, "FAILED")
    assert large[-1][1] == "COMPLETED"


SNAKEFILE = """
rule all:
    input: expand("{n}.txt", n=range(150, 156))

rule eat:
    output: "{n}.txt"
    benchmark: "benchmarks/eat/{n}.tsv"
    threads: 2
    resources: mem_mb=2000, runtime=60
    shell:
        "echo {resources.mem_mb} {resources.runtime} {threads} > {output};"
        "ulimit -v $(({resources.mem_mb} * 1000));"
        "python3 -c \\"import time; held = b'x' * ({wildcards.n} << 20); time.sleep(2)\\""
"""


def snakemake(directory: Path, *args: str) -> str:
    command = [sys.executable, "-m", "snakemake", "--cores", "8", "--quiet", "progress", *args]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_snakemake_workflow_that_follows_the_advice(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    snakemake(tmp_path, "--benchmark-extended")
    before = (tmp_path / "150.txt").read_text()
    profile = tmp_path / "profile"
    profile.mkdir()
    advised = headway.advise(tmp_path / "benchmarks", output=profile / "config.yaml")
    assert (advised.tool, [each.category for each in advised.advice.categories]) == ("snakemake", ["eat"])
    assert advised.advice.categories[0].asked_memory_bytes == 2e9
    dry = snakemake(tmp_path, "--profile", "profile", "--dry-run", "--forceall", "--verbose")
    assert f"mem_mb={round(advised.advice.categories[0].memory_bytes[0] / 1e6)}" in dry
    snakemake(tmp_path, "--profile", "profile", "--forceall")
    after = (tmp_path / "150.txt").read_text()
    assert before.split() == ["2000", "60", "2"]
    assert after.split()[:2] == [str(round(advised.advice.categories[0].memory_bytes[0] / 1e6)), "5"]
    assert 160 < int(after.split()[0]) <= 500


TOOL = """
cwlVersion: v1.2
class: CommandLineTool
baseCommand: [sh, -c, 'echo $0 $1 > o.txt']
{own}
arguments: ["$(runtime.ram)", "$(runtime.cores)"]
inputs: []
outputs: {{o: {{type: File, outputBinding: {{glob: o.txt}}}}}}
"""
WORKFLOW = """
cwlVersion: v1.2
class: Workflow
inputs: []
outputs: {a: {type: File, outputSource: align/o}, b: {type: File, outputSource: sort it/o}}
steps:
  align: {run: align.cwl, in: [], out: [o]}
  sort it: {run: plain.cwl, in: [], out: [o]}
"""


def cwltool(directory: Path, *args: str) -> dict[str, str]:
    command = [sys.executable, "-m", "cwltool", "--quiet", "--outdir", "out", *args]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: Path(file["path"]).read_text().strip() for name, file in json.loads(done.stdout).items()}


def test_cwltool_runs_tools_and_steps_with_the_advised_memory(tmp_path: Path) -> None:
    (tmp_path / "align.cwl").write_text(
        TOOL.format(own="requirements: {ResourceRequirement: {ramMin: 8000, coresMin: 2}}")
    )
    (tmp_path / "plain.cwl").write_text(TOOL.format(own=""))
    (tmp_path / "main.cwl").write_text(WORKFLOW)
    log = traced(["align", "sort it"], tmp_path / "trace.tsv")
    for name, workflow in (("tools.yml", ""), ("steps.yml", "main.cwl")):
        headway.advise(log, tool="cwl", workflow=workflow, output=tmp_path / name)
    wanted = yaml.safe_load((tmp_path / "tools.yml").read_text())["cwltool:overrides"]["align.cwl"]
    megabytes = wanted["requirements"]["ResourceRequirement"]["ramMin"]
    assert 1000 <= megabytes < 2000
    assert cwltool(tmp_path, "main.cwl")["a"] == "8000 2"
    assert cwltool(tmp_path, "--overrides", "tools.yml", "main.cwl")["a"] == f"{megabytes} 2"
    assert cwltool(tmp_path, "--overrides", "steps.yml", "main.cwl")["b"] == f"{megabytes} 2"
