"""Run a workflow with Headway and with Snakemake, break it in ten ways, write what each says into docs/snakemake.md.

`python -m benchmarks.compare_messages [--snakemake PROGRAM]`
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.breakages import BREAKAGES, Breakage, apply, lay_out
from headway.version import __version__

PAGE = Path(__file__).parents[1] / "docs" / "snakemake.md"
TABLE = re.compile(r"(<!-- table: python -m benchmarks.compare_messages -->\n).*?(<!-- end -->)", re.DOTALL)
MOST_LINES = 9
# Lines of Snakemake that tell of progress, and those that open and close its account of an error.
ABOUT_PROGRESS = re.compile(
    r"\[\w{3} \w{3}|Select jobs|Execute \d|localrule |    (reason|resources|wildcards|jobid|message: None)"
    r"|Finished jobid|\d+ of \d+ steps|Complete log|Elapsed time|Removing output|RuleException:|Shutting down"
    r"|Waiting at most"
)
ABOUT_ERROR = re.compile(r"\w+(Error|Exception)\b|Error in rule|Nothing to be done|\S+: |Traceback")
OPENING = re.compile(
    r"Assuming|SNAKEMAKE|=====|  \w.*: |Building DAG|Using shell|Provided cores|Rules claiming|Job stats"
)


class Said(NamedTuple):
    """What a tool said of a broken workflow, how it ended, and what it left behind."""

    exit_code: int
    sentences: Sequence[str]
    lines: int  # of output
    results: int  # outputs of tasks that succeeded
    strays: Sequence[str]  # other files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--snakemake", default=shutil.which("snakemake") or "snakemake")
    snakemake = parser.parse_args().snakemake
    tools = {"Headway": [sys.executable, "-m", "headway", "run"], "Snakemake": [snakemake, "--cores", "2"]}
    version = subprocess.run([snakemake, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    results = whole(tools["Headway"])
    if whole(tools["Snakemake"]) != results:
        raise SystemExit("the whole workflow has different results")
    heads = ["", *(f"{tool} says" for tool in tools)]
    rows = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for breakage in BREAKAGES:
        cells = [told(say(breakage, tool, command, results)) for tool, command in tools.items()]
        rows.append(f"| **{breakage.name}** | " + " | ".join(cells) + " |")
    today = datetime.datetime.now(datetime.UTC).date()
    lead = f"`python -m benchmarks.compare_messages`, {today}, Headway {__version__}, Snakemake {version}:\n"
    table = "\n".join([lead, *rows, ""])
    PAGE.write_text(TABLE.sub(lambda found: found[1] + table + found[2], PAGE.read_text()))


def whole(command: Sequence[str]) -> dict[str, str]:
    """Run the workflow, which succeeds; return its results."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        directory = Path(folder)
        lay_out(directory)
        before = files(directory)
        done = run(command, directory)
        if done.returncode:
            raise SystemExit(f"{command} failed:\n{done.stdout}{done.stderr}")
        return {name: (directory / name).read_text() for name in sorted(files(directory) - before)}


def say(breakage: Breakage, tool: str, command: Sequence[str], results: dict[str, str]) -> Said:
    """Break the workflow and run it."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        directory = Path(folder)
        lay_out(directory)
        if breakage.after_run:
            run(command, directory)
        apply((*(breakage.ours if tool == "Headway" else breakage.theirs), *breakage.both), directory)
        before = files(directory)
        done = run(command, directory)
        new = files(directory) - before
        output = [line.rstrip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        sentences = (ours if tool == "Headway" else theirs)(output)
        shown = [re.sub(rf"{directory}/?|/\S+/(?=python3)", "", line) for line in sentences]
    return Said(done.returncode, shown, len(output), len(new & results.keys()), sorted(new - results.keys()))


def run(command: Sequence[str], directory: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"HEADWAY_HISTORY": "none", "XDG_CACHE_HOME": str(directory / ".snakemake")}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def files(directory: Path) -> set[str]:
    """The files in a directory, without what the tools keep for themselves."""
    paths = {path.relative_to(directory) for path in directory.rglob("*") if path.is_file()}
    return {str(path) for path in paths if not path.parts[0].startswith(".")}


def ours(output: Sequence[str]) -> list[str]:
    """The complaint; or the first failed task with its last words and the advice below it; or how the run ended."""
    failed = next((index for index, line in enumerate(output) if line.startswith("✗")), None)
    if failed is not None:
        end = next(index for index in range(failed, len(output)) if output[index].startswith("  →"))
        return [*output[failed : end + 1], *(line for line in output if ": failed after" in line)]
    complaints = [line for line in output if line.startswith("headway: ")]
    return [line for line in output if ": succeeded" in line] + complaints


def theirs(output: Sequence[str]) -> list[str]:
    """All lines from the first about an error, without those about progress."""
    left = [line for line in output if not ABOUT_PROGRESS.match(line)]
    first = next((i for i, line in enumerate(left) if not OPENING.match(line) and ABOUT_ERROR.match(line)), len(left))
    return left[first:] or ["(nothing about it)"]


def told(said: Said) -> str:
    """A cell of the table."""
    lines = [*said.sentences[:MOST_LINES], *(["…"] if len(said.sentences) > MOST_LINES else [])]
    left = [f"{said.results} of 25 results"] if said.results else []
    left += [f"`{name}`" for name in said.strays]
    quoted = "<br>".join(code(line.strip().replace("|", "¦")) for line in lines)
    printed = "1 line" if said.lines == 1 else f"{said.lines} lines"
    return f"{quoted}<br>exit code {said.exit_code}, {printed}; left: {', '.join(left) or 'nothing'}"


def code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


if __name__ == "__main__":
    main()
