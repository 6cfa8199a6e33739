"""Python runs this at its start if its folder is in PYTHONPATH: Headway's commands and managers then use fast time.

With UNSHARED_LOCKS each of them sees only its own lock on a workflow's directory, as on file systems that do not share
locks between machines.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if "FAST_CLOCK" in os.environ and {"headway", "headway.api.manager_in_job"} & set(sys.orig_argv):
    from tests.slurm.fast_run import use_fast_time

    use_fast_time()
    if "UNSHARED_LOCKS" in os.environ:
        from headway import locks

        shared = locks.take

        def take(path: Path, text: str) -> int | None:
            return shared(path.with_name(f"{path.name}-{os.getpid()}"), text)

        locks.take = take
