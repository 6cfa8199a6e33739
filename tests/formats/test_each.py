"""Properties of expanding `each`."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.formats.each import Each, single, table
from headway.formats.headway_yaml import parse_workflow
from headway.model.errors import InputError

NAMES = st.sampled_from(["a", "b", "ab", "a_b", "B"])
VALUES = st.lists(st.text("ab{}$%,[] ", max_size=4), min_size=1, max_size=4, unique=True)
PIECES = st.sampled_from(
    ["a", "ab", "{", "}", "$", "%", "%s", "{a}", "{b}", "{ab}", "${a}", "{{a}}", " ", "\\", "{print}"]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


def crossed(values: dict[str, list[str]]) -> Each:
    return Each([single(name, column) for name, column in values.items()])


EACH = st.dictionaries(NAMES, VALUES, max_size=3).map(crossed)


def by_hand(text: str, values: dict[str, str]) -> str:
    """Reference implementation of filling in placeholders, letter by letter."""
    done, rest = "", text
    while rest:
        for name, value in values.items():
            kept = next((mark for mark in (f"${{{name}}}", f"{{{{{name}}}}}") if rest.startswith(mark)), None)
            place = f"{{{name}}}"
            if kept or rest.startswith(place):
                done += kept or value
                rest = rest.removeprefix(kept or place)
                break
        else:
            done, rest = done + rest[0], rest[1:]
    return done


@given(EACH, TEXTS)
def test_each_row_is_filled_in_as_by_hand(each: Each, text: str) -> None:
    rows = each.rows()
    filled = list(each.template(text).column(rows))
    assert filled == [by_hand(text, dict(zip(each.names, row, strict=True))) for row in rows]


@given(EACH)
def test_every_combination_has_a_row_and_an_id(each: Each) -> None:
    rows = each.rows()
    values = [factor.labels for factor in each.factors]
    assert len(rows) == len(each) == math.prod(map(len, values))
    assert set(rows) == set(product(*values))
    assert len(each.ids("t")) == len(rows)


@given(st.dictionaries(NAMES, st.lists(st.text("ab01", max_size=3), min_size=1, max_size=4, unique=True), max_size=3))
def test_ids_differ_if_no_value_holds_a_comma(values: dict[str, list[str]]) -> None:
    ids = crossed(values).ids("t")
    assert len(set(ids)) == len(ids)


def test_a_task_without_each_has_its_category_as_id() -> None:
    assert Each().ids("t") == ["t"]


@given(EACH, TEXTS)
def test_longest_is_an_upper_bound(each: Each, text: str) -> None:
    template = each.template(text)
    assert max(map(len, template.column(each.rows()))) <= each.longest(template)


@given(EACH, st.lists(TEXTS, max_size=3))
def test_a_table_is_its_columns_side_by_side(each: Each, texts: list[str]) -> None:
    rows = each.rows()
    templates = [each.template(text) for text in texts]
    columns = [list(template.column(rows)) for template in templates]
    assert list(table(templates, rows)) == [tuple(column[index] for column in columns) for index in range(len(rows))]


def test_explicit_rows() -> None:
    flow = parse_workflow(
        b"name: w\ntasks:\n  d:\n    each: [{l: a, r: 01}, {r: b, l: no}]\n    run: diff {l} {r}\n", "workflow.yaml"
    )
    assert {task.id: task.command for task in flow} == {"d[a,01]": "diff a 01", "d[no,b]": "diff no b"}


@pytest.mark.parametrize(
    ("each", "complaint"),
    [
        ("[]", "is empty"),
        ("[a, b]", "the text 'a', not names with values"),
        ("[{}]", "not names with values"),
        ("[{l: a}, {r: b}]", "other names than the first; give every row l"),
        ("[{l: a}, {l: a}]", "has the row 'a' twice"),
        ("[{l: [a]}]", "'l' in 'each' of task 'd' is a list"),
        ("[{1x: a}]", "is not a word"),
    ],
)
def test_errors_in_rows(each: str, complaint: str) -> None:
    with pytest.raises(InputError, match=r"^workflow.yaml:4: ") as caught:
        parse_workflow(f"name: w\ntasks:\n  d:\n    each: {each}\n    run: x\n".encode(), "workflow.yaml")
    assert complaint in str(caught.value)
