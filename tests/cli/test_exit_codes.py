"""Odd surroundings: each ends with the right exit code and at most one sentence, never as if Headway had a bug."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.project import Flow

WORKFLOW = "name: e\ntasks:\n  a:\n    run: echo made > out\n    outputs: [out]\n"


def shell(flow: Flow, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `headway` is the command."""
    command = f'headway() {{ {sys.executable} -P -m headway "$@"; }}\n{line}'
    return subprocess.run(["bash", "-c", command], cwd=flow.directory, capture_output=True, text=True, check=False)


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    return Flow(tmp_path, WORKFLOW)


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams_harm_nothing(flow: Flow, streams: str) -> None:
    done = shell(flow, f"headway run {streams}; echo $?")
    assert done.stdout.splitlines()[-1] == "0", done.stderr
    done = shell(flow, f"headway status {streams}; echo $?; headway why a --json {streams}; echo $?")
    assert done.stdout.splitlines()[-1] == "0" and "Traceback" not in done.stderr
    flow.headway("status")
    assert (flow.directory / "out").read_text() == "made\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_that_cannot_be_written_is_an_error_and_a_run_goes_on(flow: Flow, unbuffered: str) -> None:
    before = f"export PYTHONUNBUFFERED={unbuffered}; " if unbuffered else "unset PYTHONUNBUFFERED; "
    assert shell(flow, f"{before}headway run > /dev/full").returncode == 0
    assert (flow.directory / "out").exists()
    for words in ("status", "status --json", "why a", "--help"):
        done = shell(flow, f"{before}headway {words} > /dev/full")
        assert done.returncode == 3, done.stderr
        assert "the answer cannot be written" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_directory_whose_name_is_not_text(tmp_path: Path) -> None:
    odd = os.path.join(os.fsencode(tmp_path), b"odd\xff")
    os.mkdir(odd)
    with open(os.path.join(odd, b"workflow.yaml"), "w") as file:
        file.write(WORKFLOW)
    for words, code in ((["run"], 2), (["run", "-n"], 0), (["status"], 2), (["doctor"], 0)):
        command = [sys.executable, "-P", "-m", "headway", *words]
        done = subprocess.run(command, cwd=odd, capture_output=True, check=False)
        assert done.returncode == code, done.stderr
        assert b"bug" not in done.stderr and len(done.stderr.splitlines()) <= 1
    assert not os.path.exists(os.path.join(odd, b".headway/runs"))


def test_quiet_tells_which_task_failed(flow: Flow) -> None:
    flow.headway("run", "-q")
    flow.write("name: e\ntasks:\n  a:\n    run: echo too bad >&2; exit 7\n")
    done = flow.headway("run", "-q", code=1)
    assert done.stdout == ""
    assert "a: its command exited with code 7" in done.stderr and "too bad" in done.stderr


def test_plugins_that_are_not_used_harm_nothing(flow: Flow, tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name, points in (
        ("broken", "[headway.sizers]\nbroken = no_such_module:Thing\n[headway.verbs]\nbroken = no_such_module:Thing\n"),
        ("leaves", "[headway.sizers]\nleaves = leaves:Thing\n"),
        ("unwritten", "[headway.sizers\nnonsense\n= =\n"),
        ("fine", "[headway.orders]\nfine = headway.ordering.witt:Fifo\n"),
    ):
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
    (site / "leaves.py").write_text("raise SystemExit(9)\n")
    (site / "nameless-1.0.dist-info").mkdir()
    for words in (["run", "--order", "fine"], ["status"], ["--help"], ["why", "a"]):
        flow.headway(*words, PYTHONPATH=str(site))
    assert (
        "cannot be loaded: SystemExit" in flow.headway("run", "--sizer", "leaves", PYTHONPATH=str(site), code=2).stderr
    )
    assert "no sizer called" in flow.headway("run", "--sizer", "unwritten", PYTHONPATH=str(site), code=2).stderr


@pytest.mark.parametrize("length", [243, 255])
def test_outputs_with_long_names(flow: Flow, length: int) -> None:
    name = "x" * length
    flow.write(f"name: e\ntasks:\n  a:\n    run: echo 1 > {name}\n    outputs: [{name}]\n")
    flow.headway("run")
    flow.headway("run", "--again")
    assert (flow.directory / name).read_text() == "1\n"


@pytest.mark.parametrize("name", ["x" * 256, "ü" * 128, "folder/" + "x" * 300])
def test_outputs_with_names_that_no_file_system_allows_are_refused_at_once(flow: Flow, name: str) -> None:
    flow.write(f"name: e\ntasks:\n  a:\n    run: touch begun\n    outputs: ['{name}']\n")
    said = flow.headway("run", code=2).stderr
    assert "workflow.yaml" in said and "more than 255 bytes" in said and len(said.splitlines()) == 1
    assert not (flow.directory / "begun").exists() and not (flow.directory / ".headway").exists()
