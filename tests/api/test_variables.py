"""Variables that begin with HEADWAY_: all are known, and misspelt ones are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headway
from headway.api.settings import SETTINGS, settings_for, variable_of
from headway.api.variables import FOR_COMMANDS, OTHERS, misspelt_in_commands
from headway.model.errors import InputError
from headway.model.workflow import Workflow

SOURCE = Path(headway.__file__).parent
SETTING_NAMES = list(map(variable_of, SETTINGS))


def told(command: str, **keys: dict[str, str]) -> list[str]:
    flow = Workflow("w")
    flow.task("t[1]", command, **keys)  # type: ignore[arg-type]
    flow.places["t"] = "w.yaml:3"
    return list(misspelt_in_commands(flow, SETTING_NAMES))


def test_all_variables_in_the_source_are_known() -> None:
    known = {*SETTING_NAMES, *(f"HEADWAY_{name}" for name in (*FOR_COMMANDS, *OTHERS))}
    files = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.groovy")]
    found = {name for file in files for name in re.findall(r"\bHEADWAY_[A-Z_]*[A-Z]\b", file.read_text())}
    assert found <= known
    assert len(found) > 20


@pytest.mark.parametrize(
    ("command", "variable", "suggestion"),
    [
        ("sort --parallel=$HEADWAY_CROES a", "HEADWAY_CROES", "HEADWAY_CORES"),
        ("sort -S ${HEADWAY_MEMORY}b a", "HEADWAY_MEMORY", "HEADWAY_MEMORY_BYTES"),
        ("sort -S ${HEADWAY_MEMORY_MB:-1}M a", "HEADWAY_MEMORY_MB", "HEADWAY_MEMORY_BYTES"),
        ("echo $HEADWAY_TASK_ID", "HEADWAY_TASK_ID", "HEADWAY_TASK"),
        ('import os; print(os.environ["HEADWAY_TASKS"])', "HEADWAY_TASKS", "HEADWAY_TASK"),
    ],
)
def test_a_misspelt_variable_in_a_command(command: str, variable: str, suggestion: str) -> None:
    assert told(command) == [
        f"w.yaml:3: the command of task 't[1]' reads {variable}, which Headway does not set for commands; "
        f"did you mean '{suggestion}'?"
    ]
    assert told("true", setup=[command]) == told(command)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "command",
    [
        "echo $HEADWAY_CORES ${HEADWAY_MEMORY_BYTES} $HEADWAY_TASK $HEADWAY_TRY $HEADWAY_KEEP $HEADWAY_LAUNCH",
        "headway history --file $HEADWAY_HISTORY; echo $HEADWAY_DISK $HEADWAY_SERVICE $HEADWAY_DATA",
        "HEADWAY_CROES=3; echo $HEADWAY_CROES",
        "for HEADWAY_CROES in 1 2; do echo $HEADWAY_CROES; done",
        "read -r HEADWAY_CROES < a; echo $HEADWAY_CROES",
        "echo $HEADWAY_PLANET9 $_HEADWAY_CROES $MY_HEADWAY_CROES HEADWAY_CROES",
    ],
)
def test_variables_that_exist_or_are_the_user_s_own(command: str) -> None:
    assert told(command) == []


def test_a_variable_that_the_task_or_the_environment_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told("echo $HEADWAY_CROES", environment={"HEADWAY_CROES": "1"}) == []
    monkeypatch.setenv("HEADWAY_CROES", "1")
    assert told("echo $HEADWAY_CROES") == []


@pytest.mark.parametrize(
    ("variable", "setting"),
    [("HEADWAY_CROES", "CORES"), ("HEADWAY_KEEPGOING", "KEEP_GOING"), ("HEADWAY_PARTITIONS", "PARTITION")],
)
def test_a_misspelt_setting_in_the_environment(
    variable: str, setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(InputError) as caught:
        settings_for(tmp_path)
    assert str(caught.value) == f"{variable}: unknown setting; did you mean 'HEADWAY_{setting}'?"
    monkeypatch.setenv(variable, "")
    settings_for(tmp_path)


def test_other_variables_in_the_environment_are_the_user_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "PREFIX", "ROOT", "VERSION", "PATH", "OS", "SITES", "TASK", "MEMORY_BYTES", "DATA", "TEST"):
        monkeypatch.setenv(f"HEADWAY_{name}", "1")
    settings_for(tmp_path)
