"""Options that choose tasks: by their names, or by the columns of their sheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headway.cli.completion import complete_only, complete_task
from headway.cli.options import option

only_option = option(
    "--only COLUMN=VALUE",
    "Only tasks with this value in a column of their sheet, or one of several: sample=s1,s2; repeatable.",
    multiple=True,
    shell_complete=complete_only,
)
TASK_OPTIONS: Sequence[Callable[[Any], Any]] = (
    only_option,
    option(
        "--force TASK",
        "Run this task although nothing changed; repeatable.",
        multiple=True,
        shell_complete=complete_task,
    ),
    option(
        "--until TASK",
        "Run nothing that comes after this task; repeatable.",
        multiple=True,
        shell_complete=complete_task,
    ),
)
