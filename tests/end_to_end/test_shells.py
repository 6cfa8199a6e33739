"""The program that runs a task's command: strict bash, or what `shell` names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers.shells import command_line
from tests.end_to_end.project import Flow

GIVEN = Resources(cores=1, memory_bytes=10**9)


def flow(directory: Path, tasks: str, before: str = "") -> Flow:
    return Flow(directory, f"name: shells\n{before}tasks:\n{tasks}")


def test_a_failure_inside_a_pipe_fails_the_task_and_publishes_nothing(tmp_path: Path) -> None:
    crashing = flow(tmp_path, "  sort:\n    run: (echo a; exit 3) | sort > out.bam\n    outputs: [out.bam]\n")
    said = crashing.headway("run", code=1)
    assert "exited with code 3" in said.stdout + said.stderr
    assert not (tmp_path / "out.bam").exists()


def test_an_unset_variable_is_an_error_in_the_command_but_not_in_the_setup(tmp_path: Path) -> None:
    text = '  go:\n    setup: echo "<$MISSING>"\n    run: {}\n    outputs: [out]\n'
    flow(tmp_path, text.format("echo made > out")).headway("run")
    said = flow(tmp_path, text.format('echo "$MISSING" > out')).headway("run", code=1)
    assert "MISSING: unbound variable" in said.stdout + said.stderr


def test_bash_features_work(tmp_path: Path) -> None:
    (tmp_path / "names.sh").write_text("name=world\n")
    command = "source ./names.sh; cat <(echo hello) <(echo $name) > out"
    flow(tmp_path, f"  go:\n    run: {command}\n    outputs: [out]\n").headway("run")
    assert (tmp_path / "out").read_text() == "hello\nworld\n"


def test_a_task_has_another_interpreter_than_its_workflow(tmp_path: Path) -> None:
    tasks = """
  square:
    run: |
      import os
      print(7 * 7, os.environ["WHO"], file=open("out", "w"))
    setup: export WHO=me
    outputs: [out]
  plain:
    shell: sh
    run: false | true; echo fine > plain
    outputs: [plain]
"""
    flow(tmp_path, tasks, "shell: python3 -B\n").headway("run")
    assert (tmp_path / "out").read_text() == "49 me\n"
    assert (tmp_path / "plain").read_text() == "fine\n"
    assert not list(tmp_path.glob(".headway/runs/1/tasks/*/1/script")), "deleted after a success"


def test_another_shell_makes_a_result_stale(tmp_path: Path) -> None:
    task = "  go:\n    run: echo > out\n    outputs: [out]\n"
    flow(tmp_path, task).headway("run")
    changed = flow(tmp_path, task, "shell: bash -e\n")
    changed.headway("run")
    assert len(changed.launches()) == 1
    assert "its shell changed" in changed.headway("why", "go").stdout


def test_a_broken_pipe_is_explained(tmp_path: Path) -> None:
    task = "  first:\n    run: yes | head -1 > out\n    outputs: [out]\n"
    said = flow(tmp_path, task).headway("run", code=1)
    assert "use `shell: bash -e`" in " ".join((said.stdout + said.stderr).split())
    flow(tmp_path, task, "shell: bash -e\n").headway("run")


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        ((), ["bash", "-eo", "pipefail", "-c", "ulimit -n 9\nset -u\ngo"]),
        (("bash",), ["bash", "-eo", "pipefail", "-c", "ulimit -n 9\nset -u\ngo"]),
        (("/bin/bash", "-x"), ["/bin/bash", "-x", "-c", "ulimit -n 9\ngo"]),
        (("sh",), ["sh", "-e", "-c", "ulimit -n 9\ngo"]),
        (("Rscript", "-v"), ["bash", "-eo", "pipefail", "-c", 'ulimit -n 9\nexec "$@"', "headway", "Rscript", "-v"]),
    ],
)
def test_command_lines(shell: tuple[str, ...], expected: list[str], tmp_path: Path) -> None:
    script = tmp_path / "script"
    found = command_line(Task("t", "t", "go", setup=("ulimit -n 9",), shell=shell), script, GIVEN)
    assert found == (expected if not script.exists() else [*expected, str(script)])


def test_without_bash_the_command_runs_under_sh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("bash") is None
    assert command_line(Task("t", "t", "go"), tmp_path / "script", GIVEN) == ["/bin/sh", "-e", "-c", "go"]


def test_an_image_without_bash_uses_its_sh(tmp_path: Path) -> None:
    """The image's own /bin/sh looks for bash, since this machine cannot know what an image has."""
    program, flag, choose, *_, text = command_line(Task("t", "t", "go", container="alpine"), tmp_path / "script", GIVEN)
    assert (program, flag, text) == ("/bin/sh", "-c", "set -u\ngo")
    assert "exec bash -eo pipefail" in choose
    assert "exec sh -e" in choose


def test_a_failed_command_is_shown_as_it_was_run(tmp_path: Path) -> None:
    """With the amounts of each attempt; another interpreter's program has braces of its own."""
    lines = (
        "    run: echo {memory_mb} ${HOME} > given; echo with {cores} {{cores}}; exit 1\n    resources: {cores: 2}\n"
    )
    failing = flow(tmp_path, f"  a:\n{lines}    retries: 1\n    sandbox: false\n")
    done = failing.headway("run", "--cores", "2", code=1)
    given = (tmp_path / "given").read_text().split()[0]
    as_run = f"$ echo {given} ${{HOME}} > given; echo with 2 {{{{cores}}}}; exit 1"
    assert as_run in done.stdout
    assert failing.headway("why", "a").stdout.count(as_run) == 2
    story = failing.json("why", "a")
    assert "{memory_mb}" in story["command"]
    assert [f"$ {attempt['command']}" for attempt in story["attempts"]] == [as_run] * 2

    failing = flow(tmp_path, "  b:\n    shell: python3\n    run: cores = 1; raise SystemExit(f'{cores}')\n")
    assert "$ cores = 1; raise SystemExit(f'{cores}')" in failing.headway("run", code=1).stdout
