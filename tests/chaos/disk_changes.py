"""`faulty_disk.c`, compiled, and what it lists: every change of a file that a process makes, also below SQLite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("faulty_disk.c")


def compiled(folder: Path) -> Path:
    """Compile the library that is preloaded into processes; return its file."""
    library = folder / "faulty_disk.so"
    options = ["-shared", "-fPIC", "-O1", "-fno-builtin", "-Wall", "-Werror"]
    subprocess.run(["gcc", *options, "-o", library, SOURCE, "-ldl"], check=True)
    return library


def changes_by(code: str, folder: Path, library: Path) -> list[str]:
    """Run Python code in a folder; return what it changed there, in order: what it did, and to which file."""
    listed = library.with_name("changes")
    listed.unlink(missing_ok=True)
    environment = os.environ | {"LD_PRELOAD": str(library), "FAULTY_DISK": f"headway:0:0:{folder}:{listed}"}
    # The library heeds processes that have the word `headway` among their first arguments.
    subprocess.run([sys.executable, "-P", "-c", code, "headway"], cwd=folder, env=environment, check=True)
    return [line.partition(" ")[2].replace(f"{folder}/", "") for line in listed.read_text().splitlines()]
