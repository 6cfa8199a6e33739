"""For any bytes the reader returns a workflow or raises an error of one sentence."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.formats import safe_yaml
from headway.formats.headway_yaml import parse_workflow
from headway.model.errors import HeadwayError
from headway.model.workflow import Workflow

SEED = b"""\
name: words
config: {c: [1, 2], d: "x{c}"}
tasks:
  split: {run: split words.txt, inputs: &in [words.txt, "a*"], outputs: [part_aa, part_ab]}
  count:
    each: {part: [aa, 01], q: [x], r: 1..1, s: "{c}"}
    run: |
      wc -w < {inputs} > {outputs[0]}; echo {task} {cores} ${outputs}
    inputs: ["part_{part}"]
    outputs: ["count_{part}_{s}"]
    env: {A: "{part}", B: 5}
    setup: module load {part}
    container: image:{q}{d}
    limit: {memory: "{r * 2 + 1} MB"}
    needs: ["split"]
  total:
    needs: [count, "count[01,x,1,1]"]
    run: cat count_* > total
    inputs: *in
    resources: {cores: 0.5, memory: 200 MB, disk: 1 GB, time: 5m, gpus: 0, nodes: 1, licence: 2}
    priority: 1.5
    retries: 3
    sandbox: false
    malleable: true
"""
MARKS = "[ ] { } : , - ? ! !!int &a *a << | > ' \" # \\ @ ` ~ --- ... %YAML .nan -1 1e999 0x7f 1:2:3"
BLANKS = [": ", "- ", "? ", "\n", "\n  ", "\n    ", "\t", "\u2028", "\x85", "\ufeff"]
FRAGMENTS = [*SEED.decode().split(), *MARKS.split(), *BLANKS, "é", "\U0001f600", "9" * 400, "9" * 5000]
SCALARS = st.sampled_from(
    [None, True, 0, -1, 10**30, 0.5, float("nan"), float("inf"), "", " ", "x", "{part}", "a[b]", "-x"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SCALARS.map(str), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(params=["libyaml", "pure Python"], autouse=True, scope="module")
def loader(request: pytest.FixtureRequest) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(safe_yaml, "_Loader", yaml.CBaseLoader if request.param == "libyaml" else yaml.BaseLoader)
        yield


def answer(data: bytes) -> Workflow | str:
    """The workflow or the error sentence; any other exception is a bug."""
    try:
        flow = parse_workflow(data, "w.yaml")
    except HeadwayError as problem:
        sentence = str(problem)
        assert sentence.startswith("w.yaml:")
        assert sentence.split(":")[1].isdigit()
        assert 1 <= int(sentence.split(":")[1]) <= data.count(b"\n") + data.count(b"\r") + 200
        assert "\n" not in sentence
        return sentence
    assert len(flow) > 0
    assert flow.topological()
    return flow


def test_the_seed_itself_is_a_workflow() -> None:
    assert isinstance(answer(SEED), Workflow)


@given(st.binary(max_size=60))
@example(b"\xff\xfe\x00")
@example(b"\xef\xbb\xbf")
def test_any_bytes(data: bytes) -> None:
    assert isinstance(answer(data), str)


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    assert isinstance(answer(text.encode()), str)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map(" ".join))
@example("name: w\ntasks: {t: {run: x, resources: {time: 1e999 s}}}")
@example(f"name: w\ntasks: {{t: {{run: x, resources: {{time: '{'9' * 400}:00'}}}}}}")
@example('"\\U99999999"')
@example("%YAML 1.99999999999999999999999\n---\na")
@example("!<tag:yaml.org,2002:str> a: &a *a")
def test_pieces_of_yaml(text: str) -> None:
    assert answer(text.encode())


@given(st.data())
@settings(max_examples=200)
def test_a_good_file_with_a_few_bytes_changed(data: st.DataObject) -> None:
    content = bytearray(SEED)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 5))
        content[place : place + length] = data.draw(st.sampled_from(FRAGMENTS).map(str.encode) | st.binary(max_size=3))
    assert answer(bytes(content))


def _places(node: Any) -> list[tuple[Any, Any]]:
    """Every container in the tree with each of its keys."""
    pairs = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    return [found for key, value in pairs for found in [(node, key), *_places(value)]]


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(["drop", "set", "copy", "rename"]), VALUES), max_size=4)
)
@settings(max_examples=200)
def test_a_good_structure_with_parts_changed(changes: list[tuple[int, str, Any]]) -> None:
    document = yaml.safe_load(SEED)
    for number, change, value in changes:
        places = _places(document)
        if not places:
            break
        node, key = places[number % len(places)]
        if change == "drop":
            del node[key]
        elif change == "set":
            node[key] = value
        elif change == "copy":
            node[key] = random.Random(number).choice([found[k] for found, k in places])
            document = yaml.safe_load(_without_circles(document))
        elif isinstance(node, dict):
            node[str(value)] = node.pop(key)
    assert answer(_without_circles(document).encode())


def _without_circles(document: Any) -> str:
    """The document as text; parts that contain themselves are cut off."""

    def flat(node: Any, depth: int = 0) -> Any:
        inner: Callable[[Any], Any] = lambda value: flat(value, depth + 1)  # noqa: E731
        if depth > 12:
            return "deep"
        if isinstance(node, dict):
            return {str(key): inner(value) for key, value in node.items()}
        return [inner(value) for value in node] if isinstance(node, list) else node

    return str(yaml.safe_dump(flat(document)))
