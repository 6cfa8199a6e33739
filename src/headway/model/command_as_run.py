"""A command as it is run: `{cores}` and `{memory_mb}` are the amounts that the attempt is given."""

from __future__ import annotations

import re

from headway.model.resources import Resources
from headway.model.task import Task, is_shell

_GIVEN = re.compile(r"\$\{(?:cores|memory_mb)\}|\{\{(?:cores|memory_mb)\}\}|\{(cores|memory_mb)\}")


def with_amounts(text: str, given: Resources) -> str:
    """Return the text with `{cores}` and `{memory_mb}` as whole numbers; `${cores}` and `{{cores}}` stay.

    >>> with_amounts("sort --parallel={cores} -S {memory_mb}M ${cores}", Resources(cores=2.5, memory_bytes=64_500_000))
    'sort --parallel=2 -S 64M ${cores}'
    """
    amounts = {"cores": max(1, int(given.cores)), "memory_mb": given.memory_bytes // 1_000_000}
    return _GIVEN.sub(lambda match: str(amounts[match[1]]) if match[1] else match[0], text)


def command_as_run(task: Task, given: Resources) -> str:
    """Return the task's command as a shell gets it; the program of another interpreter stays as it is.

    >>> command_as_run(Task("align", "align", "bwa mem -t {cores} ref.fa"), Resources(cores=4))
    'bwa mem -t 4 ref.fa'
    """
    return with_amounts(task.command, given) if is_shell(task.shell) else task.command
