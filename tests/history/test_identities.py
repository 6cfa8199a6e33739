"""What tasks do, found in their commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.history.identities import identities_of
from headway.model.origin import Identity
from headway.model.task import Task


def identity(directory: Path, *commands: str, shell: tuple[str, ...] = (), outputs: tuple[str, ...] = ()) -> Identity:
    tasks = [Task(f"t[{n}]", "t", each, shell=shell, outputs=outputs) for n, each in enumerate(commands)]
    return identities_of(tasks, directory)["t"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sort -k1 a > b", "LC_ALL=C  /usr/bin/sort --parallel 4 c > d"),
        ("bwa mem a | samtools sort > b", "bwa mem -t 4 c |\n  samtools view \\\n -b > d  # smaller"),
        ("python3 -c 'x = 1; y = 2'", "python3 -c 'open(\"a\") & b; c'"),
        ("python3 - <<'EOF'\nfirst; version\nEOF\ngzip a", "python3 - <<EOF\nsecond | version\nEOF\ngzip b"),
        ("make 2>&1 && ls", "make; ls"),
        ('echo \\"a\\" | sort "b"', "echo c | sort d"),
        ("cat <<END\nmake", "cat <<END; make all"),
    ],
)
def test_the_same_programs_with_other_arguments(tmp_path: Path, one: str, other: str) -> None:
    first, second = identity(tmp_path, one), identity(tmp_path, other)
    assert first.programs == second.programs and first.command != second.command


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("echo a", "cat a"),
        ("a | b", "a | c"),
        ("if x; then y; fi", "if x; then z; fi"),
        ("python3 a.py", "python3 b.py"),
    ],
)
def test_other_programs(tmp_path: Path, one: str, other: str) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("the same")
    assert identity(tmp_path, one).programs != identity(tmp_path, other).programs


def test_values_that_differ_between_tasks_do_not_count(tmp_path: Path) -> None:
    some = identity(tmp_path, *(f"align --sample {name} > {name}.bam" for name in "abc"))
    others = identity(tmp_path, *(f"align --sample {name} > {name}.bam" for name in "xyzäö"))
    assert some == others != identity(tmp_path, *(f"align --strict {name} > {name}.bam" for name in "abc"))


def test_the_content_of_a_script_counts_and_that_of_data_does_not(tmp_path: Path) -> None:
    for name in ("run.py", "tool", "data.csv", "made.py"):
        (tmp_path / name).write_text("#!/bin/sh" if name == "tool" else "1")
    found = {}
    for changed in ("nothing", "data.csv", "made.py", "run.py", "tool"):
        if changed != "nothing":
            (tmp_path / changed).write_text("#!/bin/bash" if changed == "tool" else "2")
        found[changed] = identity(tmp_path, "./tool data.csv run.py made.py", outputs=("made.py",))
    assert found["nothing"] == found["data.csv"] == found["made.py"]
    assert len({each.command for each in found.values()}) == 3
    assert len({each.programs for each in found.values()}) == 1


def test_an_interpreter_is_a_program_whatever_it_is_told(tmp_path: Path) -> None:
    python = ("/usr/bin/python3",)
    one, other = (identity(tmp_path, text, shell=python) for text in ("import a; b()", "x | y"))
    assert one.programs == other.programs != identity(tmp_path, "x | y").programs


@pytest.mark.parametrize("command", ["", "'", '"$(', "x" * 100_000, "\0", "<<EOF", "a\n" * 10_000, "/", "..", "~"])
def test_strange_commands(tmp_path: Path, command: str) -> None:
    assert identity(tmp_path, command) == identity(tmp_path, command)


def test_a_clone_is_the_same_also_with_absolute_paths(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("1")
        found.append(identity(tmp_path / name, f"python3 {tmp_path / name}/a.py"))
    assert found[0] == found[1]
