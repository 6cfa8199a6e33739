"""What commands can name: their own files, values of `config`, and figures of `each` in amounts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.formats.arithmetic import Arithmetic, NoArithmeticError
from headway.formats.headway_yaml import parse_workflow
from headway.formats.headway_yaml_out import headway_yaml
from headway.model.command_as_run import with_amounts
from headway.model.errors import HeadwayError
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow


def flow(tasks: str, values: str = "", **given: Any) -> Workflow:
    top = f"config: {values}\n" if values else ""
    return parse_workflow(f"name: w\n{top}tasks:\n{tasks}".encode(), "w.yaml", **given)


def command(keys: str, config: str = "") -> str:
    (task,) = flow(f"  t: {{{keys}}}\n", config)
    return task.command


def complaint(tasks: str, values: str = "", **given: Any) -> str:
    with pytest.raises(HeadwayError) as caught:
        flow(tasks, values, **given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- the task's own files ---


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("run: 'cat {inputs} > {outputs}', inputs: [a, 'b c'], outputs: d", "cat a 'b c' > d"),
        ("run: 'cat {inputs[1]} > {outputs[0]}', inputs: [a, 'b c'], outputs: [d, e]", "cat 'b c' > d"),
        ("run: 'cat {inputs}', inputs: ['my reads/*.fq', '[ab].txt', -x]", "cat 'my reads/'*.fq [ab].txt ./-x"),
        ("run: 'cat {inputs}', inputs: ['[$(touch x)]*']", "cat '[$(touch x)]'*"),
        ("run: 'cat {inputs}', inputs: [\"it's\", '$x', '{task}']", """cat 'it'"'"'s' '$x' '{task}'"""),
        (
            "run: 'echo ${inputs} {{inputs}} $ { inputs; }', inputs: a",
            "echo ${inputs} {{inputs}} $ { inputs; }",
        ),
        ("run: 'echo {task} {cores} {memory_mb}'", "echo t {cores} {memory_mb}"),
        ("run: 'print(f\"{inputs} {task}\")', shell: python3", 'print(f"{inputs} {task}")'),
        ("run: 'cat {inputs}', shell: /bin/bash -x, inputs: a", "cat a"),
        ("run: 'cat {inputs}', inputs: [auto, a]", "cat a"),
    ],
)
def test_own_files(keys: str, expected: str) -> None:
    assert command(keys) == expected


def test_own_files_of_many_tasks() -> None:
    tasks = flow(
        "  t:\n    each: {p: [a, b c]}\n    run: x {p} {inputs} {outputs[0]} {task}\n"
        "    setup: '# {inputs} {p}'\n    inputs: ['in {p}', '%s']\n    outputs: '{p}.o'\n"
    )
    assert [task.command for task in tasks] == [
        "x a 'in a' %s a.o 't[a]'",
        "x b c 'in b c' %s 'b c.o' 't[b c]'",
    ]
    assert [task.setup for task in tasks] == [("# 'in a' %s a",), ("# 'in b c' %s b c",)]


def test_names_of_the_user_win() -> None:
    assert command("run: 'x {inputs} {task}', inputs: a", "{inputs: mine}") == "x mine t"
    tasks = flow("  t: {each: {task: [1], cores: [2]}, run: 'x {task} {cores}'}\n")
    assert tasks.tasks["t[1,2]"].command == "x 1 2"


def test_files_that_a_task_does_not_have() -> None:
    assert "w.yaml:3: the command of task 't' names {inputs}, and the task has no 'inputs'" in complaint(
        "  t: {run: 'cat {inputs}'}\n"
    )
    assert "names {outputs[1]}, and the task has 1 outputs; count from 0" in complaint(
        "  t: {run: 'cat {outputs[1]}', outputs: a}\n"
    )


def test_a_literal_placeholder_survives_writing_and_reading() -> None:
    written = Workflow("w", [Task("t", "t", "echo {inputs} {task}", inputs=("a",))])
    assert parse_workflow(headway_yaml(written)).tasks == written.tasks


@pytest.mark.parametrize(("cores", "expected"), [(0.5, "1 64 ${cores} {{cores}}"), (3.9, "3 64 ${cores} {{cores}}")])
def test_amounts_are_whole_numbers(cores: float, expected: str) -> None:
    given = Resources(cores=cores, memory_bytes=64_999_999)
    assert with_amounts("{cores} {memory_mb} ${cores} {{cores}}", given) == expected


# --- config ---

CONFIG = "{genome: hg38, ref: 'refs/{genome}.fa', n: 3, parts: [a, b], empty: ''}"


def test_values_are_filled_in_everywhere() -> None:
    (task,) = flow(
        "  t:\n    run: x {ref} {parts} ${genome} {{genome}} '{empty}'\n    inputs: ['{ref}', 'p/{parts}']\n"
        "    outputs: '{genome}.o'\n    env: {G: '{genome}'}\n    setup: s {n}\n    container: 'i:{n}'\n"
        "    resources: {cores: '{n}', memory: '{n * 2} GB'}\n",
        CONFIG,
    )
    assert task.command == "x refs/hg38.fa a b ${genome} {{genome}} ''"
    assert (task.inputs, task.outputs) == (("refs/hg38.fa", "p/a", "p/b"), ("hg38.o",))
    assert (task.environment, task.setup, task.container) == ({"G": "hg38"}, ("s 3",), "i:3")
    assert task.hints == {"cores": 3, "memory_bytes": 6e9}


@pytest.mark.parametrize(
    ("each", "ids"),
    [
        ("{p: '{parts}'}", ["t[a]", "t[b]"]),
        ("{p: '1..{n}'}", ["t[1]", "t[2]", "t[3]"]),
        ("{p: [x, '{genome}']}", ["t[x]", "t[hg38]"]),
        ("[{p: '{n}', q: '{{n}}'}]", ["t[3,{{n}}]"]),
        ("{genome: [x]}", ["t[x]"]),
    ],
)
def test_values_in_each(each: str, ids: list[str]) -> None:
    tasks = flow(f"  t:\n    each: {each}\n    run: x {{genome}}\n", CONFIG)
    assert list(tasks.tasks) == ids
    assert tasks.tasks[ids[0]].command == ("x x" if "genome: [x]" in each else "x hg38")


def test_a_value_may_contain_placeholders() -> None:
    tasks = flow(
        "  t: {each: {p: [1, 2]}, run: 'x {p} {files}', outputs: '{path}', inputs: [a, 'b c']}\n",
        "{path: 'out/{p}.txt', files: '{inputs} > {outputs}'}",
    )
    assert [task.command for task in tasks] == ["x 1 a 'b c' > out/1.txt", "x 2 a 'b c' > out/2.txt"]
    (task,) = flow("  t: {run: 'x {path} {inputs}', inputs: '{path}'}\n", "{l: [1, 2], d: in, path: '{d}/{l}.txt'}")
    assert (task.inputs, task.command) == (("in/1.txt", "in/2.txt"), "x in/1 2.txt in/1.txt in/2.txt")


def test_a_list_stands_for_all_its_items_in_inputs_and_needs() -> None:
    tasks = flow(
        "  t: {each: {p: '{parts}'}, run: 'x {p}'}\n"
        "  u: {run: 'y {inputs}', needs: 't[{parts}]', inputs: '{parts}-{parts}-{others}'}\n",
        "{parts: [a, b], others: [1, 2]}",
    )
    assert tasks.tasks["u"].parents == ("t[a]", "t[b]")
    assert tasks.tasks["u"].inputs == ("a-a-1", "a-a-2", "b-b-1", "b-b-2")


def test_the_name_of_a_sheet(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("s,t\na,1\nb,2\n")
    tasks = "  t: {each: {sheet: '{name}.csv', where: {t: '{kept}'}, default: {u: '{kept}'}}, run: 'x {s} {u}'}\n"
    assert [task.command for task in flow(tasks, "{name: mine, kept: 2}", directory=tmp_path)] == ["x b 2"]


def test_given_values_replace_those_of_the_file() -> None:
    task = "  t: {each: {p: '{parts}'}, run: 'x {p} {ref}'}\n"
    tasks = flow(task, CONFIG, config={"genome": "hg19", "parts": "c, d"})
    assert [each.command for each in tasks] == ["x c refs/hg19.fa", "x d refs/hg19.fa"]
    assert len(flow(task, CONFIG, config={"parts": ["x", "y", "z"]})) == 3


@pytest.mark.parametrize(
    ("config", "given", "words"),
    [
        ("{genome: a}", {"genom": "x"}, "--set: there is no 'genom' in 'config' of w.yaml; did you mean 'genome'?"),
        ("", {"genom": "x"}, "--set: there is no 'genom' in 'config' of w.yaml; add it under 'config'"),
        ("{parts: [a]}", {"parts": ""}, "--set: parts is a list and gets no values; write --set parts=a,b"),
        ("[a]", {}, "w.yaml:2: 'config' is a list, not a mapping"),
        ("{a-b: 1}", {}, "w.yaml:2: 'a-b' in 'config' is not a word"),
        ("{a: {b: c}}", {}, "w.yaml:2: 'a' in 'config' is a mapping, not text or a list of texts"),
        ("{a: []}", {}, "w.yaml:2: 'a' in 'config' has no values"),
        ("{a: }", {}, "w.yaml:2: 'a' in 'config' is empty"),
        ("{a: [[b]]}", {}, "an item of 'a' in 'config' is a list"),
    ],
)
def test_errors_in_config(config: str, given: dict[str, str], words: str) -> None:
    assert words in complaint("  t: {run: x}\n", config, config=given)


def test_a_value_of_each_must_not_be_there_twice() -> None:
    assert "has the value 'a' twice" in complaint("  t: {each: {p: '{l}'}, run: x}\n", "{l: [a, a]}")
    assert "has the value 'a' twice" in complaint("  t: {each: {p: [a, '{l}']}, run: x}\n", "{l: a}")


# --- arithmetic in amounts ---


def hints(resources: str, each: str = "[{size: 10, ram: 4 GB}, {size: 20, ram: 4 GB}]") -> list[dict[str, float]]:
    return [task.hints for task in flow(f"  t:\n    each: {each}\n    run: x\n    resources: {{{resources}}}\n")]


def test_amounts_from_columns() -> None:
    assert hints("memory: '{size * 2 + 1} MB', time: '{max(size // 3, 5)}m'") == [
        {"memory_bytes": 21e6, "walltime_s": 300},
        {"memory_bytes": 41e6, "walltime_s": 360},
    ]
    first, second = hints("memory: '{ram}', cores: 2, gpus: '{(1 + 1) / 2}'")
    assert first == {"memory_bytes": 4e9, "cores": 2, "gpus": 1}
    assert first is second, "equal amounts are shared"
    (task,) = flow("  t: {each: {size: [3]}, run: x, limit: {memory: '{size}GB'}}\n")
    assert task.limits == {"memory_bytes": 3e9}


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ("memory: '{siz * 2} MB'", "'siz' is no name in its 'each' or in 'config'; did you mean 'size'?"),
        ("memory: '{siz} MB'", "'siz' is no name"),
        ("memory: '{ram * 2} MB'", "for task 't[10,4 GB]', ram is '4 GB', not a number"),
        ("memory: '{size / 0} MB'", "it divides by 0"),
        ("memory: '{size ** 2} MB'", "'size ** 2' is no arithmetic: numbers, names, + - * / // %"),
        ("memory: '{size if 1 else 2} MB'", "is no arithmetic"),
        ("memory: '{__import__(1)} MB'", "is no arithmetic"),
        ("memory: '{min()} MB'", "is no arithmetic"),
        ("memory: '{size *} MB'", "this is no arithmetic"),
        ("memory: '{} MB'", "this is no arithmetic"),
        ("memory: '{1e300 * 1e300} MB'", "the number is too large"),
        ("memory: '{size}'", "resource 'memory' of task 't[10,4 GB]' is '10' without a unit"),
        ("memory: '{0 - size} MB'", "resource 'memory' of task 't[10,4 GB]' is '-10 MB'"),
        ("gpus: '{size / 3}'", "resource 'gpus' of task 't[10,4 GB]' is 3.33333, neither a whole number"),
        ("memory: '{size MB'", "'{size MB'"),
        ("cpus: '{size}'", "did you mean 'cores'?"),
    ],
)
def test_errors_in_amounts(resources: str, words: str) -> None:
    with pytest.raises(HeadwayError, match=r"^w.yaml:6: ") as caught:
        hints(resources)
    assert words in str(caught.value)


NUMBERS = st.integers(0, 99).map(str) | st.floats(1e-6, 99).map(repr)  # what is divided by 5e-324 has no result
EXPRESSIONS = st.recursive(
    NUMBERS | st.just("x"),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner)
        | st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner)
        | inner.map("-{}".format)
    ),
    max_leaves=6,
).filter(lambda text: len(text) <= 200)


@given(EXPRESSIONS)
def test_arithmetic_is_pythons(text: str) -> None:
    try:
        expected = float(eval(text, {"x": 7.0, "min": min, "max": max}))
    except ZeroDivisionError:
        with pytest.raises(NoArithmeticError):
            Arithmetic(text).text({"x": "7"})
    else:
        assert float(Arithmetic(text).text({"x": "7"})) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.text("x1.+-*/%()[]{}'\"minax, ", max_size=30))
def test_any_text_is_arithmetic_or_an_error(text: str) -> None:
    try:
        arithmetic = Arithmetic(text)
        arithmetic.text(dict.fromkeys(arithmetic.names, "2"))
    except NoArithmeticError as problem:
        assert str(problem)
