"""Every mistake in a workflow file is reported in one sentence: where, what, and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from headway.formats import headway_yaml, safe_yaml
from headway.formats.headway_yaml import parse_workflow, read_workflow
from headway.model.errors import HeadwayError, InputError, WorkflowError

TASK = "name: w\ntasks:\n  t:\n    run: x\n"  # the next line is line 5
NUMBERS = ", ".join(map(str, range(1001)))


@pytest.fixture(params=["libyaml", "pure Python"], autouse=True)
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with both of PyYAML's parsers, which differ in wording but not in line and advice."""
    monkeypatch.setattr(safe_yaml, "_Loader", yaml.CBaseLoader if request.param == "libyaml" else yaml.BaseLoader)


def complaint(text: str | bytes) -> str:
    """The error sentence about an invalid file; any other exception fails the test."""
    with pytest.raises(HeadwayError) as caught:
        parse_workflow(text if isinstance(text, bytes) else text.encode(), "flow/workflow.yaml")
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 400
    return sentence


# What is wrong: the file, its line, and words that must be in the sentence.
NOT_YAML = {
    "empty": ("", 1, ["empty", "write a name"]),
    "only comments": ("# nothing\n", 1, ["empty"]),
    "not UTF-8": (b"name: w\ntasks: \xe9\n", 2, ["0xe9", "UTF-8"]),
    "UTF-16": ("name: w".encode("utf-16"), 1, ["UTF-8"]),
    "control character": ("name: w\ntasks: \x07\n", 2, [r"'\x07'", "remove"]),
    "tab": ("name: w\ntasks:\n\tt: {run: x}\n", 3, ["tab", "spaces"]),
    "tab in a block": ("name: w\ntasks:\n  t:\n    run: |\n\techo\n", 5, ["tab", "spaces"]),
    "colon in a command": ("name: w\ntasks:\n  t:\n    run: echo a: b\n", 4, ["mapping values", "quotes"]),
    "open quote": ("name: w\ntasks:\n  t: {run: 'x}\n\n\n", 3, ["quoted scalar", "close"]),
    "open bracket": (TASK + "    inputs: [a, b\n", 5, ["flow sequence", "bracket"]),
    "braces without quotes": (TASK + "    inputs: [a_{p}]\n", 5, ["quotes"]),
    "odd first character": (TASK + "    env: {A: @x}\n", 5, ["cannot start", "quotes"]),
    "bad indentation": (TASK + "   env: {}\n", 5, ["indentation"]),
    "unknown escape": (TASK + '    env: {A: "\\q"}\n', 5, ["escape", "single quotes"]),
    "huge escape": ('name: "\\UFFFFFFFF"\n', 1, []),
    "surrogate escape": ('name: "\\ud800"\n', 1, []),
    "NUL escape": (TASK + '    env: {A: "\\0"}\n', 5, ["escape code"]),
    "two documents": (TASK + "---\nname: v\n", 5, ["second", "one document"]),
    "duplicate key": (TASK + "    run: y\n", 5, ["'run'", "line 4"]),
    "duplicate task": (TASK + "  t: {run: y}\n", 5, ["'t'", "line 3"]),
    "duplicate key by alias": ("&n name: w\n*n : v\n", 2, ["'name'", "line 1"]),
    "list as key": (TASK + "    ? [a]\n    : b\n", 5, ["key", "text"]),
    "unknown alias": (TASK + "    inputs: *nobody\n", 5, ["*nobody", "&nobody"]),
    "alias of itself": (TASK + "    inputs: &me [*me]\n", 5, ["*me"]),
    "alias of what is redefined": ("- &a x\n- &a [*a]\n", 2, ["*a"]),
    "merge key": (TASK + "    <<: {inputs: x}\n", 5, ["'<<'", "not merged"]),
    "Python tag": (TASK + "    inputs: !!python/object/apply:os.system [x]\n", 5, ["python/object/apply:os.system"]),
    "own tag": (TASK + "    inputs: !secret x\n", 5, ["'!secret'", "remove"]),
    "int tag": (TASK + "    retries: !!int 5\n", 5, ["'!!int'"]),
    "tag directive": ("# x\n%TAG !a! b\n---\nname: w\n", 2, ["%TAG", "remove"]),
    "many tag directives": ("".join(f"%TAG !a{n}! b\n" for n in range(100_000)) + "--- a", 1, ["%TAG"]),
    "deep lists": ("a: " + "[" * 1_000_000, 1, ["100 deep"]),
    "deep blocks": ("- " * 1_000_000, 1, ["100 deep"]),
    "deep mappings": ("{a: " * 200_000, 1, ["100 deep"]),
}
WRONG_KEYS = {
    "a text": ("words", 1, ["'words'", "mapping"]),
    "a list": ("- a\n- b\n", 1, ["list", "mapping"]),
    "no name": ("tasks:\n  t: {run: x}\n", 1, ["'name'", "missing"]),
    "no tasks": ("name: w\n", 1, ["'tasks'", "missing"]),
    "no value for tasks": ("name: w\ntasks:\n", 2, ["'tasks'", "empty"]),
    "no task": ("name: w\ntasks: {}\n", 2, ["'tasks'", "at least one"]),
    "list of tasks": ("name: w\ntasks:\n  - run: x\n", 2, ["'tasks'", "list"]),
    "empty name": ("name: ''\ntasks: {t: {run: x}}\n", 1, ["name", "empty"]),
    "name is a list": ("name: [w]\ntasks: {t: {run: x}}\n", 1, ["'name'", "list"]),
    "task is a text": ("name: w\ntasks:\n  t: echo\n", 3, ["task 't'", "'echo'", "run:"]),
    "task is nothing": ("name: w\ntasks:\n  t:\n", 3, ["task 't'", "empty"]),
    "unknown top key": ("name: w\ntask:\n  t: {run: x}\n", 2, ["'task'", "did you mean 'tasks'?"]),
    "task key at the top": ("name: w\nenv: {A: b}\ntasks: {t: {run: x}}\n", 2, ["'env'", "inside a task"]),
    "unknown key": (TASK + "    input: x\n", 5, ["'input'", "task 't'", "did you mean 'inputs'?"]),
    "unheard-of key": (TASK + "    zzz: x\n", 5, ["'zzz'", "run, each, inputs"]),
    "resource beside run": (TASK + "    memory: 2 GB\n", 5, ["'memory'", "under 'resources'"]),
    "endless key": (TASK + f"    ? {'k' * 100_000}\n    : x\n", 5, ["'kkk"]),
}
WRONG_VALUES = {
    "no run": ("name: w\ntasks:\n  t:\n    inputs: x\n", 3, ["task 't'", "'run'"]),
    "run is nothing": ("name: w\ntasks:\n  t:\n    run:\n", 4, ["'run'", "empty"]),
    "run is blank": ("name: w\ntasks:\n  t:\n    run: ' '\n", 4, ["'run'", "empty"]),
    "run is a list": ("name: w\ntasks:\n  t:\n    run: [a, b]\n", 4, ["'run'", "list"]),
    "inputs are nothing": (TASK + "    inputs:\n", 5, ["'inputs'", "empty"]),
    "inputs are null": (TASK + "    inputs: ~\n", 5, ["'inputs'", "empty"]),
    "inputs are a mapping": (TASK + "    inputs: {a: b}\n", 5, ["'inputs'", "mapping", "list of texts"]),
    "an input is a mapping": (TASK + "    inputs:\n      - a\n      - {p}\n", 7, ["'inputs'", "mapping", "quotes"]),
    "an input is nothing": (TASK + "    inputs:\n      - a\n      -\n", 7, ["'inputs'", "empty"]),
    "empty path": (TASK + "    inputs: ['']\n", 3, ["task 't'", "''"]),
    "output above": (TASK + "    outputs: a/../../x\n", 3, ["'../x'", "inside"]),
    "absolute output": (TASK + "    outputs: /tmp/x\n", 3, ["'/tmp/x'", "inside"]),
    "output pattern": (TASK + "    outputs: 'x*'\n", 3, ["'x*'", "pattern"]),
    "output in our directory": (TASK + "    outputs: .headway/x\n", 3, ["'.headway/x'"]),
    "env is a list": (TASK + "    env: [A=b]\n", 5, ["'env'", "list", "{LC_ALL: C}"]),
    "env name": (TASK + "    env:\n      A: b\n      B=C: d\n", 7, ["'B=C'", "letters"]),
    "env value": (TASK + "    env:\n      A: [b]\n", 6, ["'A'", "list"]),
    "container is an option": (TASK + "    container: --privileged\n", 5, ["'--privileged'", "'-'"]),
    "two environments": (TASK + "    uv: a.txt\n    conda: b.yaml\n", 5, ["both 'conda' and 'uv'", "remove one"]),
    "container and conda": (TASK + "    container: x\n    conda: b.yaml\n", 6, ["both 'container' and 'conda'"]),
    "module is an option": (TASK + "    modules: [gcc, --purge]\n", 5, ["'--purge'", "'-'"]),
    "container is nothing": (TASK + "    container:\n", 5, ["'container'", "empty"]),
    "priority": (TASK + "    priority: high\n", 5, ["'priority'", "'high'", "number"]),
    "priority nan": (TASK + "    priority: .nan\n", 5, ["'priority'", "'.nan'"]),
    "priority inf": (TASK + "    priority: -.inf\n", 5, ["'priority'", "'-.inf'"]),
    "priority overflows": (TASK + "    priority: -1e999\n", 5, ["'priority'", "'-1e999'"]),
    "retries": (TASK + "    retries: -1\n", 5, ["'retries'", "'-1'", "at least 0"]),
    "retries in parts": (TASK + "    retries: 1.5\n", 5, ["'retries'", "'1.5'", "whole"]),
    "endless retries": (TASK + f"    retries: {'9' * 5000}\n", 5, ["'retries'"]),
    "strict without outputs": (TASK + "    sandbox: strict\n", 3, ["strict sandbox", "no outputs", "'outputs'"]),
    "sandbox of all": ("sandbox: tight\n" + TASK, 1, ["'sandbox'", "'tight'", "strict, true or false"]),
    "sandbox": (TASK + "    sandbox: maybe\n", 5, ["'sandbox'", "'maybe'", "true or false"]),
    "malleable": (TASK + "    malleable: 4\n", 5, ["'malleable'", "'4'", "true or false"]),
    "notice": (TASK + "    notice: 60\n", 5, ["'notice'", "60s or 60m"]),
    "partition": (TASK + "    partition: --uid=0\n", 5, ["'partition' of task 't'", "'partition: long'"]),
    "braces in an account": (TASK + "    account: '{lab}'\n", 5, ["'account'", "Slurm cannot know"]),
    "type of no GPU": (TASK + "    gpu-type: a100\n", 5, ["asks for no GPU", "gpus: 1"]),
    "notice at once": (TASK + "    limit: {time: 5m}\n    notice: 5m\n", 6, ["'notice' of task", "at once"]),
    "no notice at all": (TASK + "    notice: 0s\n", 5, ["'notice'", "nothing"]),
    "resources": (TASK + "    resources: lots\n", 5, ["'resources'", "'lots'", "{cores: 1"]),
    "time without unit": (TASK + "    resources:\n      time: 90\n", 6, ["'time'", "90s or 90m"]),
    "memory without unit": (TASK + "    resources: {memory: 200}\n", 5, ["'memory'", "200 MB or 200 GB"]),
    "disk without unit": (TASK + "    resources: {disk: -2.5}\n", 5, ["'disk'", "unit"]),
    "negative memory": (TASK + "    resources: {memory: -2 GB}\n", 5, ["'memory'", "'-2 GB'", "200 MB"]),
    "unknown unit": (TASK + "    resources: {time: 5 fortnights}\n", 5, ["'5 fortnights'", "90m"]),
    "no time": (TASK + "    resources: {time: 0s}\n", 5, ["'time'", "'0s'"]),
    "endless time": (TASK + f"    resources: {{time: '{'9' * 1_000_000}!'}}\n", 5, ["'time'", "45s"]),
    "time beyond numbers": (TASK + f"    resources: {{time: '{'9' * 90}:00'}}\n", 5, ["'time'", "90m"]),
    "time null": (TASK + "    resources: {time: ~}\n", 5, ["'time'", "empty"]),
    "endless memory": (TASK + "    resources: {memory: 1e400 GB}\n", 5, ["'1e400 GB'"]),
    "cores nan": (TASK + "    resources: {cores: .nan}\n", 5, ["'cores'", "'.nan'"]),
    "cores inf": (TASK + "    resources: {cores: .inf}\n", 5, ["'cores'", "'.inf'"]),
    "cores negative": (TASK + "    resources: {cores: -1}\n", 5, ["'cores'", "'-1'", "at least 0"]),
    "no cores": (TASK + "    resources: {cores: 0}\n", 5, ["'cores'", "more than 0"]),
    "cores as a list": (TASK + "    resources: {cores: [1]}\n", 5, ["'cores'", "list", "number"]),
    "one and a half GPUs": (TASK + "    resources: {gpus: 1.5}\n", 5, ["'gpus'", "whole", "0.5"]),
    "no nodes": (TASK + "    resources: {nodes: 0}\n", 5, ["'nodes'", "at least 1"]),
    "another word for it": (TASK + "    resources: {cpus: 2}\n", 5, ["'cpus'", "did you mean 'cores'?"]),
    "the model's word for it": (TASK + "    resources: {memory_bytes: 2}\n", 5, ["did you mean 'memory'?"]),
    "misspelt resource": (TASK + "    resources: {memmory: 2 GB}\n", 5, ["'memmory'", "did you mean 'memory'?"]),
    "name of an extra": (TASK + "    resources: {'a b': 2}\n", 5, ["'a b'", "letter"]),
}
WRONG_EACH = {
    "not a mapping": (TASK + "    each: [a, b]\n", 5, ["'each'", "the text 'a'", "{part: [aa, ab]}"]),
    "no names": (TASK + "    each: {}\n", 5, ["'each'", "empty"]),
    "no list": (TASK + "    each: {p: aa}\n", 5, ["'p'", "'aa'", "[aa, ab]"]),
    "no values": (TASK + "    each: {p: []}\n", 5, ["'p'", "no values"]),
    "a list as value": (TASK + "    each:\n      p:\n        - a\n        - [b]\n", 8, ["'p'", "list"]),
    "nothing as value": (TASK + "    each:\n      p:\n        - a\n        -\n", 8, ["'p'", "empty"]),
    "value twice": (TASK + "    each: {p: [a, b, a]}\n", 5, ["'p'", "'a'", "twice"]),
    "not a word": (TASK + "    each: {a-b: [1]}\n", 5, ["'a-b'", "letters"]),
    "line break in a value": (TASK + '    each: {p: ["a\\nb"]}\n', 5, [r"'a\nb'", "control character"]),
    "ids that are the same": (TASK + "    each: {p: ['a,b', a], q: [c, 'b,c']}\n", 3, ["'t[a,b,c]'"]),
    "a million tasks": (TASK + f"    each: {{p: &n [{NUMBERS}], q: *n}}\n", 3, ["1,002,001 tasks", "1,000,000"]),
    "a googol of tasks": (TASK + f"    each: {{a: &n [{NUMBERS}], b: *n, c: *n, d: *n, e: *n}}\n", 3, ["tasks"]),
    "too many paths": (
        TASK + f"    each: {{a: &n [{NUMBERS}], b: [1, 2, 3]}}\n    inputs: [{', '.join(['x'] * 5000)}]\n",
        3,
        ["15,015,000 paths"],
    ),
    "too much text": (TASK + f"    each: {{p: [{NUMBERS}]}}\n    env: {{A: '{{p}}{'x' * 1_000_000}'}}\n", 3, ["text"]),
    "too many dependencies": (
        "name: w\ntasks:\n"
        f"  a: {{each: {{p: &n [{NUMBERS}], q: &m [1, 2, 3, 4]}}, run: x}}\n"
        "  b:\n    each: {p: *n, q: *m}\n    run: x\n    needs: a\n",
        7,
        ["10,000,000 dependencies", "in between"],
    ),
}
WRONG_GRAPH = {
    "task name empty": (TASK + "  '': {run: x}\n", 5, ["name", "empty"]),
    "task name an option": (TASK + "  --all: {run: x}\n", 5, ["'--all'", "'-'"]),
    "task name with a bracket": (TASK + "  'a[b]': {run: x}\n", 5, ["'a[b]'", "bracket"]),
    "task name with a tab": (TASK + '  "a\\tb": {run: x}\n', 5, [r"'a\tb'", "control"]),
    "task name endless": (TASK + f"  ? {'n' * 5000}\n  : {{run: x}}\n", 5, ["'nnn", "200 characters"]),
    "needs itself": (TASK + "    needs: t\n", 5, ["task 't'", "itself"]),
    "needs itself by id": (TASK + "    each: {p: [1]}\n    needs: ['t[1]']\n", 3, ["t[1] -> t[1]"]),
    "needs an unknown task": (TASK + "    needs: u\n", 5, ["task 't'", "'u'", "does not exist"]),
    "needs a misspelt task": (TASK + "  cound: {run: x}\n  u: {run: x, needs: count}\n", 6, ["did you mean 'cound'?"]),
    "needs a stranger": (TASK + "  u:\n    run: x\n    needs:\n      - t\n      - zz\n", 9, ["'zz'", "are t"]),
    "needs a task not there": (
        TASK + "    each: {p: [1, 2]}\n  u:\n    run: x\n    needs: 't[3]'\n",
        8,
        ["'t[3]'", "t[1], t[2]"],
    ),
    "needs a filled-in task not there": (
        TASK + "    each: {p: [1, 2]}\n  u:\n    each: {q: [1, 3]}\n    run: x\n    needs: 't[{q}]'\n",
        9,
        ["'t[3]'"],
    ),
    "circle": (
        "name: w\ntasks:\n  a: {run: x, needs: c}\n  b: {run: x, needs: a}\n  c: {run: x, needs: b}\n",
        3,
        ["circle", "a -> b -> c -> a"],
    ),
    "circle by files": (
        "name: w\ntasks:\n  z: {run: x}\n  a: {run: x, inputs: y, outputs: x}\n  b: {run: x, inputs: x, outputs: y}\n",
        4,
        ["circle", "a -> b -> a"],
    ),
    "two producers": (TASK + "    outputs: x\n  u: {run: x, outputs: ./x}\n", 6, ["'t'", "'u'", "'x'"]),
    "two producers in each": (TASK + "    each: {p: [1, 2]}\n    outputs: x\n", 3, ["'t[1]'", "'t[2]'", "'x'"]),
    "producer of the directory": (TASK + "    outputs: d\n  u: {run: x, outputs: d/x}\n", 6, ["'d/x'"]),
}


def cases(*tables: dict[str, tuple[str | bytes, int, list[str]]]) -> list[pytest.param]:
    return [pytest.param(*case, id=name) for table in tables for name, case in table.items()]


@pytest.mark.parametrize(("text", "line", "words"), cases(NOT_YAML, WRONG_KEYS, WRONG_VALUES, WRONG_EACH, WRONG_GRAPH))
def test_the_sentence_names_place_and_culprit(text: str | bytes, line: int, words: list[str]) -> None:
    sentence = complaint(text)
    assert sentence.startswith(f"flow/workflow.yaml:{line}: ")
    for word in words:
        assert word in sentence


@pytest.mark.parametrize(("text", "line", "words"), cases(NOT_YAML, WRONG_KEYS, WRONG_VALUES, WRONG_EACH))
def test_the_sentence_says_what_to_do(text: str | bytes, line: int, words: list[str]) -> None:
    if words not in (["task 't'", "''"],):  # an empty path speaks for itself
        assert "; " in complaint(text)


def test_errors_of_the_graph_keep_their_type_and_tasks() -> None:
    for text, culprits in (
        (TASK + "    outputs: x\n  u: {run: x, outputs: x}\n", ("u", "t")),
        (TASK + "    needs: u\n  u: {run: x, needs: t}\n", ("t", "u")),
        (TASK + "    needs: v\n  u: {run: x}\n", ("t",)),
    ):
        with pytest.raises(WorkflowError) as caught:
            parse_workflow(text.encode())
        assert sorted(caught.value.tasks) == sorted(culprits)


def test_aliases_count_as_often_as_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = "".join(f"  - &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(12))
    assert "5,000,000 values" in complaint(f"bomb:\n  - &a0 [x]\n{layers}")
    monkeypatch.setattr(safe_yaml, "MAX_NODES", 17)  # the list of two counts three, and three again by its alias
    fits = "name: w\ntasks: {t: {run: x, inputs: &i [a, b], outputs: *i}}\n"
    with pytest.raises(WorkflowError, match="circle"):
        parse_workflow(fits.encode())
    monkeypatch.setattr(safe_yaml, "MAX_NODES", 16)
    assert "workflow.yaml:2: the file stands for more than 16 values" in complaint(fits)


def test_a_depth_within_the_limit_is_an_ordinary_mistake() -> None:
    assert "100 deep" not in complaint(TASK + f"    inputs: {'[' * 90}{']' * 90}\n")


def test_limits_hold_over_all_tasks_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headway_yaml, "MAX_TASKS", 3)
    two = "{each: {p: [1, 2]}, run: x}"
    assert "flow/workflow.yaml:4: with task 'b' there are 4 tasks" in complaint(
        f"name: w\ntasks:\n  a: {two}\n  b: {two}\n"
    )


# --- files that cannot be read ---


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_workflow(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "gone.yaml"
    assert refusal(path).startswith(f"{path}: this file does not exist; ")


def test_a_directory(tmp_path: Path) -> None:
    assert refusal(tmp_path).startswith(f"{tmp_path}: this is a directory; ")


def test_a_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be read (Not a directory)" in refusal(tmp_path / "file" / "x.yaml")


def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret.yaml"
    path.write_text(TASK)
    path.chmod(0)
    for folder in (tmp_path, *list(tmp_path.parents)[:-2]):
        folder.chmod(0o755)
    root = os.geteuid() == 0
    if root:  # root may read everything
        os.seteuid(65534)
    try:
        assert "cannot be read (Permission denied)" in refusal(path)
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "line\nbreak"])
def test_an_invalid_file_name(tmp_path: Path, name: str) -> None:
    assert refusal(tmp_path / name)


def test_a_link_to_itself(tmp_path: Path) -> None:
    path = tmp_path / "loop.yaml"
    path.symlink_to(path)
    assert "cannot be read" in refusal(path)


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.yaml"
    path.write_text(TASK)
    monkeypatch.setattr(headway_yaml, "MAX_BYTES", len(TASK))
    assert len(read_workflow(path)) == 1
    monkeypatch.setattr(headway_yaml, "MAX_BYTES", len(TASK) - 1)
    assert "larger than" in refusal(path)


def test_a_device_is_refused_before_it_is_read() -> None:
    assert "/dev/zero: this is a device" in refusal(Path("/dev/zero"))
