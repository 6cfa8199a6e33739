"""The options of `headway run` and `resume` that say whom to tell how the run goes."""

from __future__ import annotations

import os

from headway.cli.options import SPAN, option

_WHOM = (
    "Tell of the run's end, its first failure and that it is stuck: https://… (a webhook), command:… or mail:ADDRESS; "
    "may be repeated. See `headway docs notify`."
)
NOTIFY_OPTIONS = (
    option("--notify TARGET", _WHOM, multiple=True),
    option("--stuck-after stuck_s", "A run in which nothing ran for so long is stuck.", type=SPAN, default="30m"),
)


def keep_from_tasks() -> None:
    """Remove the variable whose value may be a secret: tasks inherit the environment, and may print it."""
    os.environ.pop("HEADWAY_NOTIFY", None)
