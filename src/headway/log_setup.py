"""Set up logging for one process of Headway: the manager, a node supervisor, or a relay.

Modules log through `logging.getLogger(__name__)`; only a process's entry point calls `set_up_logging`. Nothing is
logged to a terminal by default: what users should see is printed by the command line.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

LEVELS = ("debug", "info", "warning", "error")
DEFAULT_LEVEL = "warning"
LEVEL_VARIABLE = "HEADWAY_LOG_LEVEL"  # how a manager's level reaches the supervisors and relays that it starts
# With the process id: the supervisors and relays of a job share one file.
_FORMAT = "%(asctime)s %(levelname)-7s %(process)d %(name)s: %(message)s"


def set_up_logging(level: str | None = None, file: Path | None = None) -> None:
    """Log messages of `level` and above to `file`, or to standard error; without a level, `$HEADWAY_LOG_LEVEL` counts.

    A stated level is also written to the environment, so that processes started by this one inherit it. A further call
    replaces the earlier destination: a run that goes to the background moves its log to a file.
    """
    stated = (level or os.environ.get(LEVEL_VARIABLE, "")).lower()
    chosen = stated if stated in LEVELS else DEFAULT_LEVEL
    if level is not None:
        os.environ[LEVEL_VARIABLE] = chosen
    handler: logging.Handler = logging.FileHandler(file, delay=True) if file else logging.StreamHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger = logging.getLogger("headway")
    for old in list(logger.handlers):
        logger.removeHandler(old)
        old.close()
    logger.addHandler(handler)
    logger.setLevel(chosen.upper())
    logger.propagate = False
