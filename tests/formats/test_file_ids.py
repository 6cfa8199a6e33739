"""File ids become paths, and different ids become different paths."""

from __future__ import annotations

from posixpath import normpath
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.formats.file_ids import FileIds
from headway.model.task import Task
from headway.model.workflow import Workflow

IDS = st.text("ab.%*?[]2AE/ \0é", min_size=1, max_size=10)


@given(st.lists(IDS, min_size=1, max_size=4))
def test_every_id_becomes_a_valid_path(ids: list[str]) -> None:
    files = FileIds(["/out"])
    for file_id in ids:
        path = files.path(file_id)
        assert Workflow("w", [Task("t", "t", "…", outputs=(path,))]).tasks["t"].outputs == (path,)


@given(IDS)
def test_the_id_can_be_recovered_from_the_path(file_id: str) -> None:
    relative = "/".join(part for part in file_id.split("/") if part not in ("", "."))
    if relative and not file_id.startswith("/"):
        assert unquote(FileIds([]).path(file_id)) == relative


@given(IDS)
def test_absolute_inputs_without_absolute_outputs(file_id: str) -> None:
    path = FileIds(["out"]).path("/" + file_id)
    assert path.startswith("/")
    assert path == normpath(path)


@pytest.mark.parametrize(
    ("file_id", "path"),
    [
        ("plain.txt", "plain.txt"),
        ("a/./b//c", "a/b/c"),
        ("../up", "%2E%2E/up"),
        (".headway/lock", "%2Eheadway/lock"),
        ("x[1]*?", "x%5B1]%2A%3F"),
        ("50%", "50%"),
        ("%2A", "%252A"),
        (".", "%2E"),
        ("/", "%2F"),
        (" ", "%20"),
    ],
)
def test_special_characters_are_escaped(file_id: str, path: str) -> None:
    assert FileIds(["/rooted"]).path(file_id) == path
