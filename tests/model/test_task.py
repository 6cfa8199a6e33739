"""Fingerprints of tasks: which changes make a result invalid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from headway.model.task import Fingerprint, Recipe, Task, is_pattern

TASK = Task(
    id="count[aa]",
    category="count",
    command="wc -w",
    environment={"LC_ALL": "C", "A": "b"},
    setup=("module load x",),
    container="image",
    software={"modules": ("gcc",)},
    inputs=("part_aa",),
    outputs=("count_aa",),
)
PRINT = Fingerprint(TASK.recipe(), {"part_aa": "1", "list": "2"})


def changed(**fields: object) -> Fingerprint:
    return Fingerprint(structs.replace(TASK, **fields).recipe(), PRINT.inputs)


def test_nothing_changed() -> None:
    assert PRINT.changes_since(PRINT) == []


@pytest.mark.parametrize(
    ("now", "change"),
    [
        (changed(command="wc -l"), "its command changed"),
        (changed(environment={"LC_ALL": "C"}), "its environment changed"),
        (changed(environment={"LC_ALL": "C", "A": "c"}), "its environment changed"),
        (changed(setup=()), "its setup changed"),
        (changed(setup=("module load ", "x")), "its setup changed"),
        (changed(container=None), "its container changed"),
        (changed(software={"conda": ("base",)}), "its software changed"),
        (changed(outputs=("count_aa", "log")), "its outputs changed"),
        (Fingerprint(PRINT.recipe, PRINT.inputs | {"new": "3"}), "input new is new"),
        (Fingerprint(PRINT.recipe, {"part_aa": "1"}), "list is no longer an input"),
        (Fingerprint(PRINT.recipe, PRINT.inputs | {"list": "9"}), "input list changed"),
    ],
)
def test_each_change_is_named(now: Fingerprint, change: str) -> None:
    assert now.changes_since(PRINT) == [change]
    assert now != PRINT


def test_several_changes_are_all_named() -> None:
    now = Fingerprint(structs.replace(TASK, command="x", setup=()).recipe(), {"part_aa": "9", "new": "3"})
    assert now.changes_since(PRINT) == [
        "its command changed",
        "its setup changed",
        "input new is new",
        "list is no longer an input",
        "input part_aa changed",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "other", "category": "other"},
        {"priority": 5},
        {"hints": {"cores": 2}},
        {"retries": 3},
        {"malleable": True},
        {"parents": ("split",)},
        {"environment": {"A": "b", "LC_ALL": "C"}},
    ],
)
def test_what_does_not_decide_the_result_is_no_change(fields: dict[str, object]) -> None:
    assert changed(**fields).changes_since(PRINT) == []


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_different_setups_have_different_recipes(one: list[str], other: list[str]) -> None:
    recipes = [Task("t", "t", "x", setup=tuple(setup)).recipe() for setup in (one, other)]
    assert (recipes[0] == recipes[1]) == (one == other)


def test_a_recipe_has_a_digest_for_every_part() -> None:
    digests = [getattr(TASK.recipe(), part) for part in Recipe.__struct_fields__]
    assert len(set(digests)) == len(digests)


def test_a_task_with_outputs_is_isolated_unless_told_otherwise() -> None:
    assert TASK.isolated
    assert not structs.replace(TASK, outputs=()).isolated
    assert not structs.replace(TASK, sandbox=False).isolated


@pytest.mark.parametrize(
    ("path", "pattern"), [("a*", True), ("a?", True), ("[ab]", True), ("a]", False), ("{a}", False)]
)
def test_patterns(path: str, pattern: bool) -> None:
    assert is_pattern(path) is pattern
