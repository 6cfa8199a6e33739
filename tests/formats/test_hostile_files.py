"""Any untrusted file gives a workflow or an error of one sentence, in little time and memory."""

from __future__ import annotations

import gzip
import json
import random
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.formats import unpacked
from headway.formats.pegasus_dax import parse_dax
from headway.formats.read_any import read_instance
from headway.formats.wfformat import parse_wfformat
from headway.model.errors import InputError
from headway.model.instance import Instance
from tests.formats.test_pegasus_dax import DAX_2, DAX_3
from tests.formats.test_wfformat import specified

WFFORMAT = specified(
    {"id": "a_1", "outputFiles": ["x"]},
    {"id": "b_1", "inputFiles": ["x", "/y"], "parents": ["a_1"]},
    files={"x": 5},
    tasks=[{"id": "a_1", "runtimeInSeconds": 2.5, "command": {"program": "p"}, "avgCPU": 50, "machines": ["m"]}],
    machines=[{"nodeName": "m", "cpu": {"coreCount": 2}}],
)
OURS = (
    b'{"name": "w", "runtimeSystem": {"name": "Headway"}, "workflow": {"specification": {"tasks": [{"name": "c", '
    b'"id": "c#5B1#5D", "parents": [], "headway": {"command": "x", "environment": {"A": "b"}, "hints": {"cores": 1}, '
    b'"inputs": ["a*"], "retries": 1, "recorded": {"cores": 0.5}}}], "files": [{"id": "f", "sizeInBytes": 0}]}}}'
)
BILLION_LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><adag name="&b;"/>'
EXTERNAL = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><adag name="&a;"/>'
DEEP = 1_000_000


def with_figure(text: str) -> bytes:
    return specified({"id": "t"}, tasks=[{"id": "t", "runtimeInSeconds": 987}]).replace(b"987", text.encode())


def with_extras(extras: str) -> bytes:
    return OURS.replace(b'"retries": 1', extras.encode())


HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "empty JSON": ("w.json", b"", "empty"),
    "blank JSON": ("w.json", b" \n ", "empty"),
    "truncated JSON": ("w.json", WFFORMAT[:-40], "ends too early"),
    "malformed JSON": ("w.json", WFFORMAT.replace(b":", b"=", 1), "not JSON"),
    "other JSON": ("w.json", b'{"a": 1}', "not WfFormat"),
    "a list": ("w.json", b"[1, 2]", "not WfFormat"),
    "a number": ("w.json", b"1", "not WfFormat"),
    "wrong type": ("w.json", WFFORMAT.replace(b'"id": "a_1"', b'"id": 17', 1), "tasks[0].id"),
    "task is a text": ("w.json", b'{"workflow": {"specification": {"tasks": ["a"]}}}', "tasks[0]"),
    "NaN": ("w.json", with_figure("NaN"), "NaN"),
    "Infinity": ("w.json", with_figure("-Infinity"), "Infinity (at byte"),
    "negative run time": ("w.json", with_figure("-3"), "run time of task 't' is -3"),
    "huge number": ("w.json", with_figure("1e400"), "out of range"),
    "huge whole number": ("w.json", with_figure("9" * 3000), "run time of task 't'"),
    "endless number": ("w.json", with_figure("9" * 100_000), "out of range"),
    "a key twice": ("w.json", with_figure('1, "runtimeInSeconds": 2'), "'runtimeInSeconds' twice"),
    "deep JSON": ("w.json", b"[" * DEEP, "nested too deeply"),
    "deep closed JSON": ("w.json", b'{"x":' * DEEP + b"1" + b"}" * DEEP, "nested too deeply"),
    "deep in an unread key": (
        "w.json",
        b'{"z":' + b"[" * DEEP + b"]" * DEEP + b',"workflow":{}}',
        "nested too deeply",
    ),
    "invalid UTF-8": ("w.json", WFFORMAT.replace(b"a_1", b"a\xff1", 1), "0xff"),
    "invalid UTF-8 in an unread field": ("w.json", b'{"z": "\xff", "workflow": {}}', "0xff"),
    "half a surrogate": ("w.json", WFFORMAT.replace(b"a_1", b"\\ud800", 1), "not JSON"),
    "NUL in a command": ("w.json", WFFORMAT.replace(b'"p"', b'"p\\u0000"'), "command of task 'a_1'"),
    "cyclic": ("w.json", WFFORMAT.replace(b'"parents": []', b'"parents": ["b_1"]', 1), "circle"),
    "not packed": ("w.json.gz", WFFORMAT, "not a complete gzip file"),
    "half packed": ("w.json.gz", gzip.compress(WFFORMAT)[:-30], "not a complete gzip file"),
    "wrongly packed": ("w.json.gz", gzip.compress(WFFORMAT)[:-8] + b"12345678", "not a complete gzip file"),
    "ours, hint": ("w.json", OURS.replace(b'"cores": 1', b'"gpus": 1.5'), "gpus"),
    "ours, retries": ("w.json", with_extras('"retries": -1'), "-1 retries"),
    "ours, variable": ("w.json", OURS.replace(b'"A"', b'"A=B"'), "'A=B'"),
    "ours, NUL": ("w.json", with_extras('"setup": ["a\\u0000"]'), "'c[1]'"),
    "ours, figure": ("w.json", OURS.replace(b"0.5", b"-0.5"), "-0.5"),
    "ours, output elsewhere": ("w.json", OURS.replace(b'"parents": []', b'"outputFiles": ["/etc/x"]'), "'/etc/x'"),
    "ours, output is a pattern": ("w.json", OURS.replace(b'"parents": []', b'"outputFiles": ["a#2A"]'), "pattern"),
    "ours, id of bytes": ("w.json", OURS.replace(b"c#5B1#5D", b"#00"), "no usable id"),
    "empty XML": ("w.dax", b"", "empty"),
    "truncated XML": ("w.dax", DAX_2[:-20], "not XML"),
    "malformed XML": ("w.dax", DAX_2.replace(b"</job>", b"</jab>", 1), "not XML: mismatched tag"),
    "other XML": ("w.xml", b"<html/>", "not a DAX"),
    "entity bomb": ("w.dax", BILLION_LAUGHS, "document type"),
    "external entity": ("w.dax", EXTERNAL, "document type"),
    "external document type": ("w.dax", b'<!DOCTYPE adag SYSTEM "http://example.org/x.dtd"><adag/>', "document type"),
    "unknown entity": ("w.dax", b'<adag name="&x;"/>', "not XML: undefined entity"),
    "deep XML": ("w.dax", b"<adag>" * DEEP, "nested more than"),
    "odd encoding": ("w.dax", b'<?xml version="1.0" encoding="klingon"?><adag/>', "not XML"),
    "many-byte encoding": ("w.dax", b'<?xml version="1.0" encoding="utf-7"?><adag/>', "not XML"),
    "XML of invalid UTF-8": ("w.dax", b'<adag name="\xff"/>', "not XML"),
    "size without end": ("w.dax", DAX_2.replace(b"304", b"Infinity"), "'Infinity'"),
    "unknown name": ("w.txt", WFFORMAT, ".json (WfFormat)"),
    "no name": ("w", WFFORMAT, ".json (WfFormat)"),
    "packed YAML": ("w.yaml.gz", WFFORMAT, ".json (WfFormat)"),
}


@pytest.mark.parametrize(("name", "data", "words"), HOSTILE.values(), ids=HOSTILE)
def test_errors_are_one_sentence(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as problem:
        read_instance(tmp_path / name)
    sentence = str(problem.value)
    assert words in sentence
    assert sentence.startswith(str(tmp_path / name))
    assert "\n" not in sentence
    assert len(sentence) < 400


def test_the_seeds_themselves_are_workflows() -> None:
    assert len(parse_wfformat(WFFORMAT).workflow) == 2
    assert list(parse_wfformat(OURS).workflow.tasks) == ["c[1]"]
    assert len(parse_dax(DAX_2).workflow) == 2


@pytest.mark.parametrize("name", ["w.json", "w.dax", "w.json.gz"])
def test_unreadable_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_instance(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="directory"):
        read_instance(tmp_path / name)
    with pytest.raises(InputError, match="cannot be read"):
        read_instance(tmp_path / f"\0{name}")


def test_a_zip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "MAX_BYTES", 3_000_000)
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * 50_000_000))
    with pytest.raises(InputError, match="larger than 3 MB"):
        read_instance(bomb)
    (tmp_path / "plain.json").write_bytes(b" " * 3_000_001)
    with pytest.raises(InputError, match="larger than 3 MB"):
        read_instance(tmp_path / "plain.json")


def test_a_small_file_that_unpacks_to_far_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before it reaches the size that any file may have."""
    monkeypatch.setattr(unpacked, "SMALL_FILE_BYTES", 1_000_000)
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * 5_000_000))
    with pytest.raises(InputError, match="larger than 1 MB"):
        read_instance(bomb)


def test_a_compressed_file_of_the_maximum_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    padded = WFFORMAT + b" " * 100_000
    monkeypatch.setattr(unpacked, "MAX_BYTES", len(padded))
    (tmp_path / "w.json.gz").write_bytes(gzip.compress(padded))
    assert len(read_instance(tmp_path / "w.json.gz").workflow) == 2


# --- anything at all ---


def answer(data: bytes, file: str) -> Instance | str:
    """The instance or the error sentence; any other exception is a bug."""
    try:
        instance = parse_wfformat(data, file) if file == "w.json" else parse_dax(data, file)
    except InputError as problem:
        assert str(problem).startswith(file)
        assert "\n" not in str(problem)
        return str(problem)
    assert len(instance.workflow) > 0
    return instance


SEEDS = st.sampled_from([("w.json", WFFORMAT), ("w.json", OURS), ("w.dax", DAX_2), ("w.dax", DAX_3)])


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf{}")
def test_any_bytes(data: bytes) -> None:
    answer(data, "w.json")
    answer(data, "w.dax")
    answer(b'<adag name="w">' + data + b"</adag>", "w.dax")


@settings(max_examples=300)
@given(SEEDS, st.randoms(use_true_random=False))
def test_bytes_changed(seed: tuple[str, bytes], chance: random.Random) -> None:
    file, data = seed
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(changed))
        match chance.randrange(4):
            case 0:
                changed[place] = chance.randrange(256)
            case 1:
                del changed[place:]
            case 2:
                del changed[place : place + chance.randint(1, 9)]
            case _:
                other = chance.randrange(len(data))
                changed[place:place] = data[other : other + chance.randint(1, 30)]
        if not changed:
            break
    answer(bytes(changed), file)


VALUES = st.sampled_from(
    [None, True, 0, -1, 0.5, 1e300, 10**30, "", " ", "x", "/", "..", "*", "#", "#FF", "a#00", "\0", "\n", [], {}, ["x"]]
)


@settings(max_examples=300)
@given(st.sampled_from([WFFORMAT, OURS]), st.data())
def test_values_exchanged(seed: bytes, data: st.DataObject) -> None:
    document = json.loads(seed)
    for _ in range(data.draw(st.integers(1, 2))):
        place = document
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if not isinstance(place[key], dict | list) or data.draw(st.integers(0, 4)) == 0:
                place[key] = deepcopy(data.draw(VALUES))
                break
            place = place[key]
    answer(json.dumps(document).encode(), "w.json")
