"""Keep a journal and a history of this version for all later ones: `python -m tests.journal.write_released /sky`.

A run of three tasks that succeed and one that fails is made in that directory, which must not exist and is deleted
after it. Both files name the directory and the host: `unshare --uts` gives the host another name (docs/releasing.md).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from headway.version import __version__

FOLDER = Path(__file__).parent / "released" / __version__
WORKFLOW = """name: sky
tasks:
  take:
    each: {n: [1, 2]}
    run: echo {n} > image{n}
    outputs: ["image{n}"]
  stack:
    run: cat image1 image2 > stack
    inputs: [image1, image2]
    outputs: [stack]
    resources: {memory: 50 MB}
  fails:
    run: exit 3
    sandbox: false
"""


def main() -> None:
    directory = Path(sys.argv[1])
    directory.mkdir()
    try:
        (directory / "workflow.yaml").write_text(WORKFLOW)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HEADWAY")}
        own = {"HEADWAY_HISTORY": str(directory / "history.db"), "XDG_STATE_HOME": str(directory / "state")}
        command = [sys.executable, "-P", "-m", "headway", "run", "-k"]
        done = subprocess.run(command, cwd=directory, env=kept | own, check=False)
        assert done.returncode == 1, "one task fails, the others succeed"
        FOLDER.mkdir(exist_ok=True)
        shutil.copy(directory / ".headway" / "runs" / "1" / "journal.db", FOLDER)
        shutil.copy(directory / "history.db", FOLDER)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
