"""The journal's records: what was written can be read, by this version and by an older one."""

from __future__ import annotations

import enum
import types
import typing
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.model import codec, records
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task, Work

KINDS = records.KINDS
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=5),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
    Any: st.recursive(  # whatever JSON may hold
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=3),
        lambda inside: st.lists(inside, max_size=2) | st.dictionaries(st.text(max_size=3), inside, max_size=2),
        max_leaves=3,
    ),
}

WORK = {field.name: field.type for field in msgspec.structs.fields(Work) if field.name != "task"}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    if kind in PLAIN:
        return PLAIN[kind]
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return st.sampled_from(inside)
    if origin is typing.Annotated:
        base, meta = inside
        if meta.pattern is not None:
            return st.from_regex(meta.pattern)
        if meta.gt is not None:
            return st.floats(meta.gt, exclude_min=True, allow_nan=False, allow_infinity=False)
        if base is int:
            return st.integers(meta.ge, 2**63 - 1 if meta.le is None else meta.le)
        return st.floats(meta.ge, meta.le, allow_nan=False, allow_infinity=False)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(values, inside))
    if origin is dict:
        return st.dictionaries(values(inside[0]), values(inside[1]), max_size=2)
    if origin is list:
        return st.lists(values(inside[0]), max_size=2)
    if origin is tuple:
        return st.lists(values(inside[0]), max_size=2).map(tuple)
    if issubclass(kind, enum.Enum):
        return st.sampled_from(kind)
    assert issubclass(kind, msgspec.Struct), kind
    if kind is Work:  # a task in a task; the inner one has none
        return st.builds(kind, **{name: values(of) for name, of in WORK.items()}, task=st.just(Task("a", "b", "c")))
    return st.builds(kind, **{field.name: values(field.type) for field in msgspec.structs.fields(kind)})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=40)
@given(data=st.data())
def test_every_record_comes_back_as_it_was(kind: type[records.Event], data: st.DataObject) -> None:
    record = data.draw(values(kind))
    line = codec.encode(record)
    assert b"\n" not in line
    assert codec.decode(line) == record
    assert type(codec.decode(line)) is kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=10)
@given(data=st.data())
def test_a_field_of_a_later_version_is_ignored(kind: type[records.Event], data: st.DataObject) -> None:
    record = data.draw(values(kind))
    later = msgspec.json.decode(codec.encode(record)) | {"new in 9.0": {"a": [1]}}
    assert codec.decode(msgspec.json.encode(later)) == record


def test_nested_fields_of_a_later_version_are_ignored_too() -> None:
    usage = Usage(wall_s=Measured(1.5, Quality.EXACT), method="polling")
    ended = records.TaskEnded(at=1, outcome=Outcome("t", 1, Ending.SUCCESS, 0, 1, usage))
    later = msgspec.json.decode(codec.encode(ended))
    later["outcome"]["new"] = 1
    later["outcome"]["usage"]["new"] = 1
    later["outcome"]["usage"]["wall_s"].append("new")
    assert codec.decode(msgspec.json.encode(later)) == ended
    added = records.TasksAdded(at=1, tasks=[Task("t", "t", "x")])
    later = msgspec.json.decode(codec.encode(added))
    later["tasks"][0]["new"] = 1
    assert codec.decode(msgspec.json.encode(later)) == added


def test_every_kind_of_record_has_a_distinct_name() -> None:
    kinds = [str(kind.__struct_config__.tag) for kind in KINDS]
    assert len(set(kinds)) == len(KINDS)
    assert all(kind == kind.lower() and " " not in kind for kind in kinds)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=3)
@given(data=st.data())
def test_the_kind_stands_in_the_line(kind: type[records.Event], data: st.DataObject) -> None:
    record = data.draw(values(kind))
    assert msgspec.json.decode(codec.encode(record))["kind"] == records.kind(record)


def test_the_task_of_a_record() -> None:
    why = records.Why("p", "r")
    assert records.task_of(records.Kill(1, "t", 2, why)) == "t"
    assert records.task_of(records.TaskEnded(1, Outcome("u", 1, Ending.TIME, 0, 1))) == "u"
    assert records.task_of(records.NodeUp(1, "node", "tag", Resources())) is None


def test_what_is_not_a_record_is_refused() -> None:
    for line in (b"", b"{}", b'{"kind": "unheard-of", "at": 1}', b'{"kind": "reuse", "at": 1}', b'{"kind": "finish"'):
        with pytest.raises(msgspec.DecodeError):
            codec.decode(line)


@pytest.mark.parametrize("ending", Ending)
def test_an_ending_is_at_most_one_of_success_exhausted_and_blameless(ending: Ending) -> None:
    assert (ending is Ending.SUCCESS) + (ending.exhausted is not None) + ending.blameless <= 1


def test_a_peak_is_found_by_the_resource_it_compares_with() -> None:
    usage = Usage(
        wall_s=Measured(1, Quality.EXACT),
        cores_peak=Measured(2, Quality.SAMPLED),
        memory_bytes=Measured(3, Quality.EXACT),
    )
    assert usage.peak("walltime_s") == Measured(1, Quality.EXACT)
    assert usage.peak("cores") == Measured(2, Quality.SAMPLED)
    assert usage.peak("memory_bytes") == Measured(3, Quality.EXACT)
    assert usage.peak("disk_bytes") is None
    assert usage.peak("method") is None
    assert usage.peak("licence") is None
