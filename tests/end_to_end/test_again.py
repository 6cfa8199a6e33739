"""The command that a run's record gives for doing the run again: run elsewhere, it makes the same files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

import headway
from headway.api.export import export
from headway.api.report import write_report
from tests.end_to_end.project import Flow

FLOW = r"""
name: again
config:
  text: plain
  fails: "no"
  parts: [a, b]
  title: "{text}, titled"
tasks:
  part:
    each: {p: "{parts}"}
    run: printf '%s\n' "{p}" > {outputs}
    outputs: "part {p}"
  say:
    run: |
      cat > said <<'END'
      {text}/{title}
      END
    outputs: said
  "odd 'name'": {run: cat said in.txt > ./-odd, inputs: [said, in.txt], outputs: "-odd"}
  count: {run: cat part* | wc -l > count, inputs: "part {parts}", outputs: count}
  wide: {run: "echo $HEADWAY_CORES > wide", malleable: true, outputs: wide}
  large: {run: "echo $HEADWAY_MEMORY_BYTES > large", outputs: large}
  broken: {run: "[ {fails} = no ] && echo fine > fine", outputs: fine}
  last: {run: cp fine last, inputs: fine, outputs: last}
"""
SMALL = ("--cores", "2", "--memory", "500MB", "--disk", "1GB")


class Case(NamedTuple):
    """A run: the words after `headway run`, exit code, environment, and the name of the workflow file."""

    words: tuple[str, ...] = ()
    code: int = 0
    environment: Mapping[str, str] = MappingProxyType({})
    file: str = "workflow.yaml"
    settings: str = ""  # of headway.toml
    own_settings: str = ""  # of the user's file
    before: tuple[str, ...] | None = None  # words of an earlier run


CASES = {
    "plain": Case(),
    "blank": Case(("--set", "text=two words")),
    "quotes": Case(("--set", """text=it's "so" $HOME `id` \\ !! {x} *""")),
    "lines": Case(("--set", "text=two\nlines\tand a tab")),
    "dash": Case(("--set", "text=--again")),
    "unseen": Case(("--set", "text=ü → \u202etxt\x07\x1b[31m")),
    "empty": Case(("--set", "text=")),
    "equals": Case(("--set", "text=a=b", "--set", "title={text}{text}")),
    "list": Case(("--set", "parts=x y, z ,it's")),
    "list of one": Case(("--set", "parts=only", "--set", "text=both")),
    "task": Case(("said", "part[a]")),
    "odd task": Case(("workflow.yaml", "--", "-odd", "odd 'name'")),
    "category": Case(("part", "--set", "parts=u,v")),
    "until": Case(("--until", "say", "--until", "part")),
    "force": Case(("--force", "say", "--force", "part"), before=()),
    "keep going": Case(("-k", "--set", "fails=yes"), code=1),
    "variables": Case(environment={"HEADWAY_CORES": "1", "HEADWAY_SIZER": "user", "HEADWAY_MEMORY": "300 MB"}),
    "variable": Case(("--set", "fails=yes"), code=1, environment={"HEADWAY_KEEP_GOING": "1"}),
    "project file": Case(settings='cores = 1\nmemory = "200 MB"\nsizer = "user"\nseed = 4\n'),
    "user file": Case(own_settings='cores = 1\nmemory = "200 MB"\nsizer = "user"\n'),
    "amounts": Case(("--cores", "1.5", "--memory", "123456789B", "--sizer", "user", "--order", "fifo", "--fresh")),
    "policies": Case(("--failures", "any", "--seed", "12", "--order", "fifo", "--again"), before=()),
    "blank in the file": Case(("my $flow's.yaml", "--set", "text=x"), file="my $flow's.yaml"),
    "dash in the file": Case(("./-k.yaml", "count"), file="-k.yaml"),
}


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment of a shell that knows the command `headway`, and no settings."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "headway").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m headway "$@"\n')
    (programs / "headway").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEADWAY")}
    ours = {"PATH": f"{programs}:{os.environ['PATH']}", "HEADWAY_HISTORY": "none"}
    return kept | ours | {"XDG_CONFIG_HOME": str(tmp_path / "none")}


def files_in(directory: Path) -> dict[str, bytes]:
    found = {path.relative_to(directory): path for path in directory.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for name, path in found.items() if name.parts[0] != ".headway"}


def in_shell(line: str, directory: Path, shell: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = ["bash", "-c", line]
    return subprocess.run(words, cwd=directory, env=shell, capture_output=True, text=True, timeout=300, check=False)


def do_again(line: str, directory: Path, shell: dict[str, str], code: int = 0) -> None:
    done = in_shell(line, directory, shell)
    assert done.returncode == code, f"{line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("name", CASES)
def test_the_command_makes_the_same_files_in_a_copy_of_the_directory(
    name: str, tmp_path: Path, shell: dict[str, str]
) -> None:
    case = CASES[name]
    first, second, own = tmp_path / "first", tmp_path / "second", tmp_path / "own"
    for directory in (first, second):
        directory.mkdir()
        (directory / "in.txt").write_text("given\n")
    flow = Flow(first, FLOW)
    shutil.copy(first / "workflow.yaml", second / case.file)
    (first / "workflow.yaml").rename(first / case.file)
    if case.settings:  # the command has to do without it
        (first / "headway.toml").write_text(case.settings)
    (own / "headway").mkdir(parents=True)
    (own / "headway" / "config.toml").write_text(case.own_settings)
    environment = {"HEADWAY_HISTORY": "none", "XDG_CONFIG_HOME": str(own), **case.environment}
    stated = set(case.environment) | set(case.settings.split()) | set(case.own_settings.split()) | set(case.words)
    limits = () if {"cores", "--cores", "HEADWAY_CORES"} & stated else SMALL
    if case.before is not None:
        flow.headway("run", "-q", *limits, *case.before, **environment)
    flow.headway("run", "-q", *limits, *case.words, code=case.code, **environment)
    (first / "headway.toml").unlink(missing_ok=True)
    line = flow.json("status")["again"]
    assert "\n" not in line and line.isprintable()
    do_again(line, second, shell, case.code)
    made = files_in(first)
    assert files_in(second) == made and len(made) > 2


def test_from_another_directory_and_from_a_program(tmp_path: Path, shell: dict[str, str]) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "flow.yaml").write_text(FLOW)
        (tmp_path / name / "in.txt").write_text("given\n")
    flow = Flow(tmp_path, FLOW)
    flow.headway("run", "-q", "one/flow.yaml", *SMALL, "--set", "text=from above", HEADWAY_HISTORY="none")
    line = flow.json("status", "-C", "one")["again"]
    do_again(line, tmp_path / "two", shell)
    assert files_in(tmp_path / "one") == files_in(tmp_path / "two")
    options = {"cores": 2, "memory": "500 MB", "disk": "1 GB", "history": "none", "tasks": ["count"]}
    headway.run(tmp_path / "one" / "flow.yaml", set={"parts": ["p", "q r"], "text": 3}, **options)  # type: ignore[call-overload]
    do_again(headway.status(directory=tmp_path / "one").document()["again"], tmp_path / "three", shell)
    assert (tmp_path / "three" / "count").read_text() == "2\n" and (tmp_path / "three" / "part q r").exists()
    headway.run(tmp_path / "one" / "flow.yaml", set={"parts": ["p,q"]}, **options)  # type: ignore[call-overload]
    assert headway.status(directory=tmp_path / "one").document()["again"] == "", "no option gives such a list"


def test_stand_ins(tmp_path: Path, shell: dict[str, str]) -> None:
    recorded = {
        "name": "r",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": [{"name": "a", "id": "a", "parents": [], "children": [], "outputFiles": ["x"]}],
                "files": [{"id": "x", "sizeInBytes": 100_000}],
            },
            "execution": {"makespanInSeconds": 1, "tasks": [{"id": "a", "runtimeInSeconds": 1.0}]},
        },
    }
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "r.json").write_text(json.dumps(recorded))
    flow = Flow(tmp_path / "first", FLOW)
    shutil.copy(tmp_path / "first" / "workflow.yaml", tmp_path / "second")
    flow.headway(
        "run", "-q", "r.json", "--synthetic", "--scale", "0.1", "--scale-bytes", "0.01", HEADWAY_HISTORY="none"
    )
    do_again(flow.json("status")["again"], tmp_path / "second", shell)
    made = files_in(tmp_path / "first")
    assert made == files_in(tmp_path / "second") and len(made["r.files/out/x"]) == 1000


def test_all_views_give_the_same_command(tmp_path: Path) -> None:
    flow = Flow(tmp_path, FLOW)
    (tmp_path / "in.txt").write_text("given\n")
    flow.headway("run", "-q", *SMALL, "--set", "text=it's", "say", HEADWAY_SEED="5")
    line = flow.json("status")["again"]
    assert "--set 'text=it'\"'\"'s'" in line and "--seed=5" in line
    assert f"to do it again: {line}\n" in flow.headway("status").stdout
    assert flow.json("runs")["runs"][0]["again"] == line
    page = write_report(directory=tmp_path, out=tmp_path / "page.html").document()
    assert ["to do it again", line] in [list(row) for row in page["settings"]]
    export(tmp_path / "crate.zip", directory=tmp_path)
    with zipfile.ZipFile(tmp_path / "crate.zip") as crate:
        graph = json.loads(crate.read("ro-crate-metadata.json"))["@graph"]
    (whole,) = [entity for entity in graph if entity["@id"] == "#run"]
    assert whole["description"].endswith(f"to do it again: {line}")


def test_a_secret_is_not_written_and_the_shell_asks_for_it(tmp_path: Path, shell: dict[str, str]) -> None:
    text = "name: w\nconfig: {api_token: none}\ntasks:\n  a: {run: 'echo {api_token} | wc -c > size', outputs: size}\n"
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "workflow.yaml").write_text(text)
    (tmp_path / "flow").mkdir()
    flow = Flow(tmp_path / "flow", textwrap.dedent(text))
    location = "postgresql://me:pa55word@127.0.0.1:9/none?connect_timeout=1"
    hook = "https://hooks.example.org/services/abcdef"
    flow.headway("run", "-q", "--set", "api_token=abc123", "--notify", "command:true", HEADWAY_HISTORY=location)
    (started, *_) = flow.records()
    said = "".join(flow.headway(*words).stdout for words in (("status",), ("runs",), ("status", "--json")))
    said += repr(started.chosen) + repr(started.config)  # type: ignore[union-attr]
    assert "abc123" not in said and "pa55word" not in said.replace(location, "") and hook not in said
    assert "--set 'api_token=(removed)'" in said and "HEADWAY_HISTORY='postgresql://me:(removed)@" in said
    line = flow.json("status")["again"]
    done = in_shell(line, copy, shell)
    assert done.returncode != 0 and "set it to the value of api_token" in done.stderr
    assert not (copy / ".headway").exists()
    do_again(line, copy, shell | {"API_TOKEN": "abc123"})
    assert (copy / "size").read_bytes() == (flow.directory / "size").read_bytes()
