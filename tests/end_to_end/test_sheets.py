"""Workflows over a sample sheet, with values of `config` and placeholders in commands, as users run them."""

from __future__ import annotations

import re
from pathlib import Path

import headway
from tests.end_to_end.project import Flow
from tests.formats.samples import DOCUMENTATION, put_documented_samples


def eight_lines() -> str:
    (example,) = re.findall(r"^```yaml\n(name: samples\n.*?)^```", DOCUMENTATION, re.MULTILINE | re.DOTALL)
    return example


def ran(flow: Flow) -> set[str]:
    return {launch.task for launch in flow.launches()}


def test_the_eight_lines_of_the_documentation(tmp_path: Path) -> None:
    assert len(eight_lines().splitlines()) == 8
    put_documented_samples(tmp_path)
    flow = Flow(tmp_path, eight_lines())
    flow.headway("run")
    counts = {path.stem: path.read_text().strip() for path in (tmp_path / "counts").iterdir()}
    assert counts == {"s1": "2", "s2": "1", "s3": "1"}
    assert ran(flow) == {"count[s1]", "count[s2]", "count[s3]"}
    # A changed row runs only its own task, a new row only the new one.
    sheet = tmp_path / "samples.tsv"
    sheet.write_text(sheet.read_text().replace("TATA", "TAT") + "s4\treads/s1_1.fa.gz\tTTT\t7\n")
    flow.headway("run")
    assert ran(flow) == {"count[s2]", "count[s4]"}
    # Another figure that only hints use runs nothing.
    sheet.write_text(sheet.read_text().replace("\t120", "\t121"))
    flow.headway("run")
    assert ran(flow) == set()


def test_three_hundred_samples_of_the_documentation(tmp_path: Path) -> None:
    rows = [f"s{i}\treads/s{i}.fa.gz\tGATTACA\t{i}" for i in range(1, 301)]
    (tmp_path / "samples.tsv").write_text("\n".join(["sample\treads\tmotif\tsize_mb", *rows]))
    (tmp_path / "workflow.yaml").write_text(eight_lines())
    tasks = list(headway.show(tmp_path / "workflow.yaml").instance.workflow)
    assert len(tasks) == 300
    assert tasks[6].command == "zcat reads/s7.fa.gz | grep -c GATTACA > counts/s7.txt"
    assert tasks[6].hints == {"memory_bytes": 14e6}


PLACEHOLDERS = """
name: own
tasks:
  join:
    run: cat {inputs} > {outputs[0]}; echo {task} {cores} {memory_mb} $N > {outputs[1]}
    setup: "[ {cores} -ge 1 ]"
    env: {N: "n{cores}"}
    inputs: ["my file.txt", "part *.txt", "it's"]
    outputs: [all of it.txt, "figures"]
    resources: {cores: 1, memory: 50 MB}
  python:
    shell: python3
    run: |
      cores, inputs = 7, "x"
      print(f"{cores} {inputs} {{task}}", file=open("said", "w"))
    inputs: "my file.txt"
    outputs: said
"""


def test_placeholders_in_commands(tmp_path: Path) -> None:
    for name in ("my file.txt", "part 1.txt", "part 2.txt", "it's"):
        (tmp_path / name).write_text(f"{name}\n")
    flow = Flow(tmp_path, PLACEHOLDERS)
    flow.headway("run")
    assert (tmp_path / "all of it.txt").read_text() == "my file.txt\npart 1.txt\npart 2.txt\nit's\n"
    task, cores, memory_mb, variable = (tmp_path / "figures").read_text().split()
    assert (task, cores, variable) == ("join", "1", "n1")
    assert int(memory_mb) >= 50
    assert (tmp_path / "said").read_text() == "7 x {task}\n"
    # Other amounts leave results valid; another order of the inputs does not.
    flow.write(PLACEHOLDERS.replace("cores: 1", "cores: 2"))
    flow.headway("run")
    assert ran(flow) == set()
    flow.write(PLACEHOLDERS.replace('"my file.txt", "part *.txt"', '"part *.txt", "my file.txt"'))
    flow.headway("run")
    assert ran(flow) == {"join"}
    assert (tmp_path / "all of it.txt").read_text().startswith("part 1.txt")


CONFIG = """
name: greetings
config: {who: [ann, bob], greeting: hello, mark: "!"}
tasks:
  greet:
    each: {name: "{who}"}
    run: echo {greeting} {name} > {outputs}
    outputs: "{name}.txt"
  mark:
    run: "echo '{mark}' > mark.txt"
    outputs: mark.txt
  all:
    run: cat {inputs} > {outputs}
    inputs: ["{who}.txt", mark.txt]
    outputs: all.txt
"""


def test_config_and_set(tmp_path: Path) -> None:
    flow = Flow(tmp_path, CONFIG)
    flow.headway("run")
    assert (tmp_path / "all.txt").read_text() == "hello ann\nhello bob\n!\n"
    flow.headway("run", "--set", "mark=?")
    assert ran(flow) == {"mark", "all"}
    foreseen = flow.json("run", "-n", "--set", "greeting=bye", "--set", "mark=?")["tasks"]
    assert {task["task"] for task in foreseen if task["verdict"] == "runs"} == {"greet[ann]", "greet[bob]"}
    flow.headway("run", "--detach", "--set", "greeting=bye", "--set", "who=ann,cleo")
    flow.headway("attach", code=None)
    assert (tmp_path / "all.txt").read_text() == "bye ann\nbye cleo\n!\n"
    headway.run(tmp_path / "workflow.yaml", set={"who": ["ann"], "greeting": 7, "mark": True})
    assert (tmp_path / "all.txt").read_text() == "7 ann\ntrue\n"


def test_set_of_other_verbs_and_its_errors(tmp_path: Path) -> None:
    flow = Flow(tmp_path, CONFIG)
    assert flow.json("show", "--set", "who=a,b,c")["tasks"] == 5
    written = flow.headway("convert", "workflow.yaml", "-", "--to", "yaml", "--set", "greeting=hi").stdout
    assert "run: echo hi bob > bob.txt" in written
    for words, complaint in (
        (["run", "--set", "greting=x"], "there is no 'greting' in 'config' of workflow.yaml; did you mean 'greeting'?"),
        (["run", "--set", "greeting"], "'greeting' is not a name with a value; write for example --set genome=hg38"),
        (["run", "--set", "=x"], "'=x' is not a name with a value"),
        (["plan", "workflow.yaml", "--on", "lublin", "--set", "mark=?"], "this is for a real queue"),
        (["show", "--set", "who="], "who is a list and gets no values"),
    ):
        said = flow.headway(*words, code=2).stderr
        assert said.count("\n") == 1 and complaint in said, said
    assert not (tmp_path / ".headway" / "runs").exists()
