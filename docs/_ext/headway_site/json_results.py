"""The page of JSON results: a small workflow is run, and what each command then answers with `--json` is shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

WORKFLOW = """\
name: words
tasks:
  split:
    run: seq 400 > all; split -n l/4 all part_
    outputs: [part_aa, part_ab, part_ac, part_ad]
  count:
    each: {part: [aa, ab, ac, ad]}
    run: wc -w < part_{part} > count_{part}
    inputs: part_{part}
    outputs: count_{part}
"""
# A Nextflow trace of six tasks.
TRACE = "task_id\tname\tprocess\tstatus\texit\trealtime\tcpus\tmemory\tpeak_rss\t%cpu\n" + "".join(
    f"{number}\tALIGN ({number})\tALIGN\tCOMPLETED\t0\t{600 + number}s\t2\t8 GB\t{1.2 + number / 10:.1f} GB\t180.0%\n"
    for number in range(1, 7)
)
COMMANDS = (
    "headway run --json",
    "headway run --dry-run --json",
    "headway status --json",
    "headway runs --json",
    "headway why 'count[aa]' --json",
    "headway logs split --json",
    "headway usage --json",
    "headway show --json",
    "headway advise trace.txt --json",
)


def page() -> str:
    """Return the page, from a real run in a directory that is deleted afterwards."""
    lines = [
        "# JSON results",
        "",
        "Every command answers in JSON with `--json`: one document on standard output, progress on standard error.",
        "These answers are of a run of the workflow below, made when this page was built. The keys are explained with",
        "each command in [the command line](../command-line.md); keys may be added in later versions, and none changes",
        "its meaning without a line in [the changes](changes.md).",
        "",
        "```yaml",
        WORKFLOW.rstrip(),
        "```",
        "",
    ]
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder).resolve() / "words"
        directory.mkdir()
        (directory / "workflow.yaml").write_text(WORKFLOW)
        (directory / "trace.txt").write_text(TRACE)
        for command in COMMANDS:
            shown = _answer(command, directory)
            title = command.removeprefix("headway ").removesuffix(" --json")
            lines += [f"## {title}", "", "```text", f"$ {command}", "```", "", "```json", shown, "```", ""]
    return "\n".join(lines)


def _answer(command: str, directory: Path) -> str:
    """Return what a command prints, with another directory than that of the build."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    foreign = ("HEADWAY", "_HEADWAY")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environment = kept | {"PATH": path, "HEADWAY_HISTORY": "none", "XDG_CONFIG_HOME": str(directory / ".config")}
    done = subprocess.run(["bash", "-c", command], cwd=directory, env=environment, capture_output=True, check=True)
    text = json.dumps(json.loads(done.stdout), indent=2, ensure_ascii=False)
    return text.replace(str(directory), "/home/me/words")
