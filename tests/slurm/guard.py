"""Clean up a lab whose test process died without stopping it.

Usage: `python -m tests.slurm.guard FOLDER`, with a pipe from the test process as standard input.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.slurm.processes import configured_by, is_alive, kill_all, kill_jobs, mentioning, wait_until


def main() -> None:
    root = Path(sys.argv[1])
    sys.stdin.buffer.read()  # returns when the test process has closed the pipe or died

    def gone() -> bool:
        alive = {pid for pid in configured_by(root) | mentioning(root) if is_alive(pid)} - {os.getpid()}
        kill_all(alive)
        return not alive

    wait_until(gone, f"the end of all processes of {root}")
    kill_jobs(root)
    shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
