"""A workflow of 25 tasks, written for Headway and for Snakemake, and ten ways to break it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent / "ensemble"
OURS, THEIRS = "workflow.yaml", "Snakefile"


class Edit(NamedTuple):
    """Replace a text, which is there, in a file; a file whose text is replaced by None is removed."""

    file: str
    old: str
    new: str | None


class Breakage(NamedTuple):
    """What a user does wrong, as edits of the workflow file of each tool or of files that both use.

    With `after_run`, the workflow was run whole before.
    """

    name: str
    ours: Sequence[Edit]
    theirs: Sequence[Edit]
    both: Sequence[Edit] = ()
    after_run: bool = False


BREAKAGES = (
    Breakage(
        "bad key",
        [Edit(OURS, "outputs: [forcing.csv]", "output: [forcing.csv]")],
        [Edit(THEIRS, 'output: "forcing.csv"', 'outputs: "forcing.csv"')],
    ),
    Breakage("missing input", [], [], [Edit("emissions.csv", "", None)]),
    Breakage(
        "cycle",
        [Edit(OURS, "[forcing.py, emissions.csv]", "[forcing.py, emissions.csv, report.txt]")],
        [Edit(THEIRS, '"forcing.py", "emissions.csv"', '"forcing.py", "emissions.csv", "report.txt"')],
    ),
    Breakage(
        "indentation",
        [Edit(OURS, "    outputs: [mean.csv]", "   outputs: [mean.csv]")],
        [Edit(THEIRS, '    output: "mean.csv"', '   output: "mean.csv"')],
    ),
    Breakage(
        "missing command",
        [Edit(OURS, "python3 forcing.py <", "pyhton3 forcing.py <")],
        [Edit(THEIRS, "python3 forcing.py <", "pyhton3 forcing.py <")],
    ),
    Breakage(
        "crash inside a pipe",
        [Edit(OURS, "cut -d, -f2 members/{m}.csv", "cut -d, -f0 members/{m}.csv")],
        [Edit(THEIRS, "cut -d, -f2 members", "cut -d, -f0 members")],
    ),
    Breakage(
        "too much memory asked",
        [Edit(OURS, "memory: 200 MB", "memory: 200 TB")],
        [Edit(THEIRS, "mem_mb=200", "mem_mb=200_000_000")],
    ),
    Breakage(
        "output not made",
        [Edit(OURS, "> spread.txt", "> spraed.txt")],
        [Edit(THEIRS, "> spread.txt", "> spraed.txt")],
    ),
    Breakage(
        "one sample fails",
        [],
        [],
        [Edit("model.py", "sensitivity = ", "assert member != 4, 'sensitivity out of range'\nsensitivity = ")],
    ),
    Breakage("script edited", [], [], [Edit("model.py", "/ 20", "/ 25")], after_run=True),
)


def lay_out(directory: Path) -> None:
    """Write the workflow, whole, into a directory."""
    shutil.copytree(HERE, directory, dirs_exist_ok=True)
    years = [f"{year},{0.5 * 1.025 ** (year - 1900):.3f}\n" for year in range(1900, 2021)]
    (directory / "emissions.csv").write_text("".join(years))


def apply(edits: Sequence[Edit], directory: Path) -> None:
    """Break the workflow in a directory."""
    for edit in edits:
        path = directory / edit.file
        if edit.new is None:
            path.unlink()
            continue
        text = path.read_text()
        if edit.old not in text:
            raise ValueError(f"{edit.file} has no {edit.old!r}")
        path.write_text(text.replace(edit.old, edit.new, 1))
