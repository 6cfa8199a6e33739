"""`init`, `policies`, `doctor`, and what the shell completes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from headway.api.nearest import nearest
from headway.cli.main import cli
from headway.ordering import DEFAULT_ORDER
from headway.planning import PLANS
from headway.waiting import WAITS
from tests.cli.bench import SMALL, Bench


def test_init_writes_a_workflow_that_runs(bench: Bench) -> None:
    assert "now try `headway run`" in bench.succeeds("init")
    assert bench.json("run", *SMALL)["state"] == "succeeded"
    assert bench.succeeds("logs", "hello") == "hello, 12 words\n"


def test_init_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text("mine")
    result = CliRunner().invoke(cli, ["init", str(tmp_path)])
    assert result.exit_code == 2
    assert "there is a workflow already; `headway run` runs it" in result.stderr
    assert (tmp_path / "workflow.yaml").read_text() == "mine"
    (tmp_path / "file").touch()
    assert CliRunner().invoke(cli, ["init", str(tmp_path / "file")]).exit_code == 2


def test_init_makes_the_directory(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["init", str(tmp_path / "new"), "--json"])
    assert json.loads(result.stdout)["workflow"] == str(tmp_path / "new" / "workflow.yaml")
    assert (tmp_path / "new" / "workflow.yaml").exists()


def test_policies_are_all_listed_with_their_defaults() -> None:
    found = json.loads(CliRunner().invoke(cli, ["policies", "--json"]).stdout)
    sizers = {each["name"]: each for each in found["sizers"]}
    assert {"max-seen", "user", "whole-machine"} <= sizers.keys()
    assert [name for name, each in sizers.items() if each["default"]] == ["ladder"]
    assert [each["name"] for each in found["orders"] if each["default"]] == [DEFAULT_ORDER]
    assert {each["name"] for each in found["plans"]} >= set(PLANS), "plugins may add some"
    assert not any(each["default"] for each in found["plans"]), "by default they are compared"
    assert [each["name"] for each in found["waits"]] == sorted(WAITS)
    assert not any(each["default"] for each in found["waits"]), "by default they are compared, too"
    assert all(each["about"] for kind in found.values() for each in kind)
    text = CliRunner(env={"COLUMNS": "120"}).invoke(cli, ["policies"]).stdout
    assert "(default)" in text
    assert "whole-machine" in text
    assert "one-job-per-task" in text
    assert "scheduler-estimate" in text


def test_doctor_says_how_tasks_are_measured(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["doctor", "-C", str(tmp_path), "--json"])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    about = {check["about"]: check for check in found["checks"]}
    assert found["works"]
    assert about["measuring"]["found"].split(":")[0] in ("polling", "cgroup-v1", "cgroup-v2")
    assert about["directory"]["mark"] == "ok"
    assert set(about) == {
        "headway",
        "shell",
        "machine",
        "GPUs",
        "measuring",
        "cgroups",
        "directory",
        "disk",
        "journal",
        "containers",
        "runs",
        "at work",
    }


def test_doctor_fails_where_headway_cannot_work(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["doctor", "-C", str(tmp_path / "none")])
    assert result.exit_code == 3
    assert "fail  directory" in result.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("headway st", ["status"]),
        ("headway why ma", ["make", "make[a]", "make[b]"]),
        ("headway logs --run 1 nois", ["noisy"]),
        ("headway status ", ["2", "1"]),
        ("headway why --run ", ["2", "1"]),
        ("headway run --sizer u", ["user"]),
        ("headway why -C /nonexistent x", []),
    ],
)
def test_the_shell_completes(finished: Bench, words: str, expected: list[str]) -> None:
    parts = words.split(" ")
    done = finished.process(
        _HEADWAY_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(parts) - 1), COMP_LINE=os.linesep
    )
    assert [line.partition(",")[2] for line in done.stdout.splitlines() if line] == expected
    assert done.stderr == ""


def test_a_misspelt_name_among_very_many_is_found_quickly() -> None:
    names = [f"task[{number}]" for number in range(100_000)]
    assert nearest("Task[7]", names) == "did you mean 'task[7]'?"
    assert nearest("taks[7]", names).startswith("did you mean 'task[")
    assert nearest("zzz", ["alpha", "beta"], otherwise="there are") == "there are alpha, beta"
    assert nearest("zzz", []) == ""
