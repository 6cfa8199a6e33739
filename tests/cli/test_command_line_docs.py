"""docs/command-line.md tells of everything that there is."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from headway.api.complaints import BUG
from headway.api.settings import SETTINGS, read_settings, variable_of
from headway.cli.main import cli
from headway.cli.verb_table import VERBS
from headway.cli.verbs import BROKEN_PIPE, INTERRUPTED
from tests.cli.bench import Bench

TEXT = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()


@pytest.mark.parametrize("verb", VERBS)
def test_every_option(verb: str) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    assert f"## `headway {verb}" in TEXT
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name != "directory":
            assert f"`{parameter.opts[-1]}" in TEXT or f"`{parameter.opts[0]}" in TEXT, parameter.opts


def test_every_exit_code() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)}
    assert listed == {0, 1, 2, 3, 4, INTERRUPTED, BROKEN_PIPE, BUG}


def test_the_settings_file_in_the_docs_has_every_setting(tmp_path: Path) -> None:
    shown = re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert shown
    (tmp_path / "headway.toml").write_text(shown[1])
    found = read_settings(tmp_path / "headway.toml")
    assert set(found) == {setting.field for setting in SETTINGS.values() if setting.from_file}
    assert (found["memory_bytes"], found["grace_s"], found["keep_going"]) == (8 * 10**9, 10, True)


def test_every_variable() -> None:
    assert [key for key in SETTINGS if f"`{variable_of(key)}`" not in TEXT] == []


def keys(document: object) -> set[str]:
    """Every key, however deep, that is ours and not the name of a task or of a figure."""
    if isinstance(document, list):
        return set().union(*map(keys, document))
    if not isinstance(document, dict):
        return set()
    named_by_others = ("figures", "cut_off_by", "hints", "limits", "given")
    return set(document) | set().union(*(keys(value) for key, value in document.items() if key not in named_by_others))


@pytest.mark.parametrize(
    "args",
    [
        ["status", "1"],
        ["status", "--by", "part"],
        ["why", "make[a]", "--run", "1"],
        ["why", "after"],
        ["why", "make"],
        ["logs", "broken"],
    ],
)
def test_every_key_of_the_json(finished: Bench, args: list[str]) -> None:
    found = keys(finished.json(*args))
    assert len(found) > 2
    assert {key for key in found if f"`{key}`" not in TEXT} == set()
