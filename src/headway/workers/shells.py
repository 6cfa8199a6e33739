"""The program that runs a task's command: strict bash, unless the workflow names a shell or another interpreter."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from headway.model.resources import Resources
from headway.model.task import Task

# The flags of a shell that is named without any: stop at the first failure, also inside a pipe where the shell can.
_FLAGS = dict.fromkeys(("bash", "zsh", "ksh"), ("-eo", "pipefail")) | dict.fromkeys(("sh", "dash", "ash"), ("-e",))
# An image may have no bash; its own sh finds out.
_INSIDE_IMAGE = 'if command -v bash >/dev/null; then exec bash -eo pipefail -c "$1"; else exec sh -e -c "$1"; fi'
_GIVEN = re.compile(r"\$\{(?:cores|memory_mb)\}|\{\{(?:cores|memory_mb)\}\}|\{(cores|memory_mb)\}")


def with_amounts(text: str, given: Resources) -> str:
    """Return the text with `{cores}` and `{memory_mb}` as whole numbers; `${cores}` and `{{cores}}` stay.

    >>> with_amounts("sort --parallel={cores} -S {memory_mb}M ${cores}", Resources(cores=2.5, memory_bytes=64_500_000))
    'sort --parallel=2 -S 64M ${cores}'
    """
    amounts = {"cores": max(1, int(given.cores)), "memory_mb": given.memory_bytes // 1_000_000}
    return _GIVEN.sub(lambda match: str(amounts[match[1]]) if match[1] else match[0], text)


def command_line(task: Task, script: Path, given: Resources) -> list[str]:
    """Return the command line that runs the task's setup and command; an interpreter's program is written to `script`.

    A shell gets the text after `-c`. Any other interpreter gets a file, which every interpreter accepts.
    """
    if not task.shell and task.container:
        return ["/bin/sh", "-c", _INSIDE_IMAGE, "headway", _text(task, given, strict=True)]
    shell, *flags = task.shell or (default_shell(),)
    own_flags = _FLAGS.get(os.path.basename(shell))
    if own_flags is None:
        return _interpreter(task, script, given)
    return [shell, *(flags or own_flags), "-c", _text(task, given, strict=not flags and "pipefail" in own_flags)]


def default_shell() -> str:
    """Return the shell of tasks that name none: bash, or sh where there is no bash."""
    return "bash" if shutil.which("bash") else "/bin/sh"


def _text(task: Task, given: Resources, *, strict: bool) -> str:
    """Return setup and command as one text; `strict` makes the use of an unset variable in the command an error.

    It is no error in the setup: scripts that are sourced there (`module`, `conda activate`) often read unset variables.
    """
    return with_amounts("\n".join([*task.setup, *(["set -u"] if strict else []), task.command]), given)


def _interpreter(task: Task, script: Path, given: Resources) -> list[str]:
    script.write_text(task.command, encoding="utf-8", errors="surrogateescape")
    argv = [*task.shell, str(script)]
    if not task.setup:
        return argv
    shell = "/bin/sh" if task.container else default_shell()
    setup = with_amounts("\n".join([*task.setup, 'exec "$@"']), given)
    return [shell, *_FLAGS[os.path.basename(shell)], "-c", setup, "headway", *argv]
