"""Reading workflow files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from headway.formats import safe_yaml
from headway.formats.headway_yaml import parse_workflow, read_workflow
from headway.formats.headway_yaml_out import headway_yaml
from headway.model.job import Wish
from headway.model.task import Task
from headway.model.workflow import Workflow
from tests.formats.samples import put_documented_samples

REPOSITORY = Path(__file__).parents[2]
WORDS = """\
name: words
tasks:
  split:
    run: split -n l/4 words.txt part_
    inputs: [words.txt]
    outputs: [part_aa, part_ab, part_ac, part_ad]
  count:                       # a category of four tasks: count[aa] …
    each: {part: [aa, ab, ac, ad]}
    run: wc -w < part_{part} > count_{part}
    inputs: ["part_{part}"]
    outputs: ["count_{part}"]
  total:
    needs: [count]             # files imply dependencies too; this states one
    run: cat count_* | paste -sd+ | bc > total
    inputs: ["count_*"]
    outputs: [total]
    resources: {cores: 1, memory: 200 MB, time: 5m}   # a hint, never needed
"""


@pytest.fixture(params=["libyaml", "pure Python"], autouse=True)
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of PyYAML's parsers read the same workflow."""
    monkeypatch.setattr(safe_yaml, "_Loader", yaml.CBaseLoader if request.param == "libyaml" else yaml.BaseLoader)


def flow(tasks: str) -> Workflow:
    return parse_workflow(("name: w\ntasks:\n" + tasks).encode())


def only(keys: str) -> Task:
    """The single task with these keys, one per line."""
    (task,) = flow("  t:\n" + "".join(f"    {line}\n" for line in keys.splitlines()))
    return task


def test_the_words_example(tmp_path: Path) -> None:
    path = tmp_path / "workflow.yaml"
    path.write_text(WORDS)
    words = read_workflow(path)
    assert words.name == "words"
    assert list(words.tasks) == ["split", *(f"count[{part}]" for part in ("aa", "ab", "ac", "ad")), "total"]
    count = words.tasks["count[ab]"]
    assert count.category == "count"
    assert count.command == "wc -w < part_ab > count_ab"
    assert (count.inputs, count.outputs, count.parents) == (("part_ab",), ("count_ab",), ("split",))
    assert words.tasks["total"].parents == ("count[aa]", "count[ab]", "count[ac]", "count[ad]")
    assert words.tasks["total"].hints == {"cores": 1, "memory_bytes": 200_000_000, "walltime_s": 300}
    assert words.widths() == [1, 4, 1]


def test_the_least_that_must_be_written() -> None:
    assert only("run: echo") == Task(id="t", category="t", command="echo")


def test_every_key_reaches_the_task() -> None:
    task = only(
        "each: {p: [x]}\n"
        "run: go {p}\n"
        "inputs: ['/in/{p}', 'a*']\n"
        "outputs: ['{p}.out']\n"
        "env: {A: '{p}', B: 010, EMPTY: }\n"
        "setup: ['module load {p}', ulimit -n 5]\n"
        "container: image:{p}\n"
        "resources: {cores: 0.5, memory: 1.5 GiB, disk: 2 GB, time: 1-02:00:00, gpus: 2, nodes: 3, licence: 1.5}\n"
        "limit: {memory: 4 GB, time: 3h}\n"
        "priority: -1.5\n"
        "retries: 3\n"
        "sandbox: false\n"
        "malleable: true\n"
        "notice: 90s\n"
        "shell: bash -e -o 'pipefail'\n"
    )
    assert task == Task(
        id="t[x]",
        category="t",
        command="go x",
        inputs=("/in/x", "a*"),
        outputs=("x.out",),
        row="p=x",
        environment={"A": "x", "B": "010", "EMPTY": ""},
        setup=("module load x", "ulimit -n 5"),
        container="image:x",
        hints={
            "cores": 0.5,
            "memory_bytes": 1_610_612_736,
            "disk_bytes": 2_000_000_000,
            "walltime_s": 93_600,
            "gpus": 2,
            "nodes": 3,
            "licence": 1.5,
        },
        limits={"memory_bytes": 4_000_000_000, "walltime_s": 10_800},
        priority=-1.5,
        retries=3,
        sandbox=False,
        malleable=True,
        notice_s=90,
        shell=("bash", "-e", "-o", "pipefail"),
    )


@pytest.mark.parametrize(
    "written", ["true", "no", "5", "01", "1.10", "1_000", "0x1F", "1e3", "~", "null", "2024-01-01", "1:30:00", ".5"]
)
def test_scalars_stay_as_written(written: str) -> None:
    """YAML would convert these to a boolean, a number, null or a date."""
    assert only(f"run: {written}").command == written
    assert only(f"run: x\nenv: {{A: {written}}}").environment == {"A": written}
    assert only(f"run: x\ninputs: [{written}]").inputs == (written,)
    assert list(flow(f"  t: {{each: {{p: [{written}]}}, run: x}}\n").tasks) == [f"t[{written}]"]


def test_task_names_that_look_like_yaml_numbers() -> None:
    assert list(flow("  no: {run: x}\n  01: {run: x}\n  1: {run: x}\n").tasks) == ["no", "01", "1"]


def test_several_lines_are_kept() -> None:
    assert only("run: |\n  one\n    two\n  three").command == "one\n  two\nthree\n"
    assert only("run: >-\n  one\n  two").command == "one two"


@pytest.mark.parametrize(
    ("run", "command"),
    [
        ("echo {part}", "echo aa"),
        ("{part}{part}", "aaaa"),
        ("echo ${part}", "echo ${part}"),
        ("echo $part {part}", "echo $part aa"),
        ("echo {{part}}", "echo {{part}}"),
        ("awk '{print}' {part}", "awk '{print}' aa"),
        ("awk '{print {part}}'", "awk '{print aa}'"),
        ("awk '{{part}; print}'", "awk '{aa; print}'"),
        ("echo {a,b} {other} { other } {}", "echo {a,b} {other} { other } {}"),
        ("printf '%s %d%%' {part}", "printf '%s %d%%' aa"),
        ("echo {PART} {part.x}", "echo {PART} {part.x}"),
    ],
)
def test_only_names_of_each_are_placeholders(run: str, command: str) -> None:
    quoted = run.replace("'", "''")
    (task,) = flow(f"  t: {{each: {{part: [aa]}}, run: '{quoted}'}}\n")
    assert task.command == command


def test_without_each_all_braces_stay() -> None:
    assert only("run: echo {part}").command == "echo {part}"


def test_placeholders_in_values_stay() -> None:
    tasks = flow("  t: {each: {a: ['{b}'], b: ['{a}']}, run: 'echo {a} {b}'}\n")
    assert tasks.tasks["t[{b},{a}]"].command == "echo {b} {a}"


def test_each_combination_is_a_task() -> None:
    tasks = flow("  t: {each: {x: [1, 2], y: [a, b]}, run: '{x}{y}'}\n")
    assert {task.id: task.command for task in tasks} == {"t[1,a]": "1a", "t[1,b]": "1b", "t[2,a]": "2a", "t[2,b]": "2b"}


def test_resources_are_filled_in() -> None:
    tasks = flow("  t: {each: {p: [1, 2]}, run: x, resources: {memory: '{p} GB'}}\n")
    assert [task.hints for task in tasks] == [{"memory_bytes": 10**9}, {"memory_bytes": 2 * 10**9}]


@pytest.mark.parametrize(
    ("needs", "parents"),
    [
        ("a", ("a[1]", "a[2]")),
        ("[a]", ("a[1]", "a[2]")),
        ("'a[2]'", ("a[2]",)),
        ("['a[2]', b]", ("a[2]", "b")),
        ("['a[{p}]', b]", ("b", "a[2]")),
        ("'{q}'", ("b",)),
        ("[a, 'a[1]']", ("a[1]", "a[2]")),
        ("[]", ()),
    ],
)
def test_needs_name_categories_or_tasks(needs: str, parents: tuple[str, ...]) -> None:
    tasks = flow(
        "  a: {each: {n: [1, 2]}, run: x}\n"
        "  b: {run: x}\n"
        f"  c: {{each: {{p: [2], q: [b]}}, run: x, needs: {needs}}}\n"
    )
    assert set(tasks.tasks["c[2,b]"].parents) == set(parents)
    assert len(tasks.tasks["c[2,b]"].parents) == len(parents)


def test_needs_may_name_a_later_task() -> None:
    assert flow("  a: {run: x, needs: b}\n  b: {run: x}\n").tasks["a"].parents == ("b",)


def test_a_single_text_is_a_list_of_one() -> None:
    task = only("run: x\ninputs: i\noutputs: o\nsetup: s")
    assert (task.inputs, task.outputs, task.setup) == (("i",), ("o",), ("s",))


def test_aliases_repeat_a_value() -> None:
    tasks = flow("  a: {run: x, resources: &r {cores: 2}}\n  b: {run: x, resources: *r}\n")
    assert tasks.tasks["b"].hints == {"cores": 2}


def test_str_tag_json_and_byte_order_mark() -> None:
    assert only("run: !!str 5").command == "5"
    assert parse_workflow(b'\xef\xbb\xbf{"name": "w", "tasks": {"t": {"run": "x"}}}').tasks["t"].command == "x"
    assert parse_workflow(b"name: w\r\ntasks:\r\n  t:\r\n    run: x\r\n").tasks["t"].command == "x"


@pytest.mark.parametrize("word", ["true", "True", "yes", "on", "false", "No", "off"])
def test_sandbox_accepts_yaml_booleans(word: str) -> None:
    assert only(f"run: x\nsandbox: {word}").sandbox is yaml.safe_load(word)


def test_strict_sandboxes_of_a_task_and_of_all_tasks_with_outputs() -> None:
    task = only("run: x\noutputs: y\nsandbox: strict")
    assert task.strict and task.isolated
    text = (
        "name: w\nsandbox: strict\ntasks:\n"
        "  bare: {run: x}\n"
        "  made: {run: x, outputs: a}\n"
        "  own: {run: x, outputs: b, sandbox: true}\n"
        "  off: {run: x, outputs: c, sandbox: false}\n"
    )
    tasks = parse_workflow(text.encode()).tasks
    assert [name for name, task in tasks.items() if task.strict] == ["made"]
    assert [name for name, task in tasks.items() if task.isolated] == ["made", "own"]


def test_equal_values_are_shared_between_tasks() -> None:
    first, second = flow("  t: {each: {p: [1, 2]}, run: x, env: {A: b}, setup: s, resources: {cores: 1}}\n")
    assert first.environment is second.environment
    assert first.setup is second.setup
    assert first.hints is second.hints


def test_a_hundred_thousand_tasks_from_one_line() -> None:
    tasks = flow(
        f"  t: {{each: {{a: {list(range(400))}, b: {list(range(250))}}}, run: 'x {{a}} {{b}}', outputs: '{{a}}/{{b}}'}}"
        "\n"
        "  all: {run: y, needs: t, inputs: '*/*'}\n"
    )
    assert len(tasks) == 100_001
    assert tasks.tasks["t[399,249]"].command == "x 399 249"
    assert len(tasks.tasks["all"].parents) == 100_000


def documented() -> list[str]:
    text = (REPOSITORY / "docs" / "workflow-file.md").read_text()
    return re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", documented())
def test_the_examples_in_the_documentation_are_read(example: str, tmp_path: Path) -> None:
    put_documented_samples(tmp_path)
    whole = example if "tasks:" in example else "name: example\ntasks:\n" + example
    assert len(parse_workflow(whole.encode(), directory=tmp_path)) >= 1


def test_auto_among_the_inputs_is_no_path() -> None:
    flow = parse_workflow(
        b"name: w\ntasks:\n  a: {run: echo > x, outputs: x}\n  b: {run: cat x y ./auto > z, inputs: [y, auto, ./auto]}"
    )
    task = flow.tasks["b"]
    assert (task.inputs, task.parents, task.auto_inputs) == (("y", "auto", "x"), ("a",), True)
    assert parse_workflow(headway_yaml(flow)).tasks == flow.tasks


def test_what_a_task_says_of_its_jobs_is_read_and_written_again() -> None:
    text = b"""
name: w
tasks:
  t:
    run: x
    resources: {gpus: 1}
    partition: short,long
    constraint: a&b
    account: lab
    qos: 7
    gpu-type: a100
  u: {run: x}
"""
    read = parse_workflow(text)
    assert read.tasks["t"].wish == Wish("short,long", "a&b", "lab", "7", "a100")
    assert read.tasks["u"].wish is None
    assert list(parse_workflow(headway_yaml(read))) == list(read)
