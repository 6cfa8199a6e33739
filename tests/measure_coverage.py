"""Measure which lines of Headway tests run, in the processes that they start too: `make coverage`.

Words are passed on to pytest. At the end the modules with the most lines that were not run are listed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ("src/headway", "papers/src/headway_papers")
LISTED = 40
# A process that ends by a signal saves nothing, and compiled kernels are not measured line by line.
_SETTINGS = """
[run]
source =
    {sources}
omit = */headway/kernels/*
parallel = true
patch = subprocess
disable_warnings = no-data-collected, module-not-measured, couldnt-parse
data_file = {folder}/data
"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="headway-coverage-") as place:
        folder = Path(place)
        sources = "\n    ".join(str(ROOT / source) for source in SOURCES)
        settings = folder / "settings"
        settings.write_text(_SETTINGS.format(sources=sources, folder=folder))
        with_settings = os.environ | {"COVERAGE_RCFILE": str(settings)}

        def coverage(*words: str) -> int:
            command = [sys.executable, "-P", "-m", "coverage", *words, f"--rcfile={settings}"]
            return subprocess.run(command, cwd=ROOT, env=with_settings, check=False).returncode

        tests = [sys.executable, "-P", "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-q", "-n", "2"]
        failed = subprocess.run(
            [*tests, "--dist", "loadgroup", *sys.argv[1:]],
            cwd=ROOT,
            env=with_settings | {"PYTHONPATH": str(ROOT)},
            check=False,
        ).returncode
        coverage("combine", "--quiet", str(folder))
        if coverage("json", "--quiet", "-o", str(folder / "report.json")):
            sys.exit("coverage.py measured nothing")
        report(json.loads((folder / "report.json").read_text()))
    sys.exit(failed)


def report(found: dict) -> None:
    """Print the share of each folder and the modules with the most lines that were not run."""
    rooms: dict[str, list[int]] = {}
    for name, file in found["files"].items():
        summary = file["summary"]
        room = rooms.setdefault(
            str(Path(name).parent.relative_to("src")) if name.startswith("src/") else "papers", [0, 0]
        )
        room[0] += summary["covered_lines"]
        room[1] += summary["num_statements"]
    for name, (covered, statements) in sorted(rooms.items()):
        if statements:
            print(f"{covered / statements:7.1%} of {statements:>6,}  {name}")
    totals = found["totals"]
    print(f"{totals['percent_covered']:6.1f}% of {totals['num_statements']:>6,}  in all\n\nMost lines not run:")
    worst = sorted(found["files"].items(), key=lambda pair: pair[1]["summary"]["missing_lines"], reverse=True)
    for name, file in worst[:LISTED]:
        print(f"{file['summary']['missing_lines']:>6} of {file['summary']['num_statements']:>4}  {name}")


if __name__ == "__main__":
    main()
