"""The program that runs a task's command: strict bash, unless the workflow names a shell or another interpreter."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from headway.model.command_as_run import command_as_run, with_amounts
from headway.model.resources import Resources
from headway.model.task import Task

# The flags of a shell that is named without any: stop at the first failure, also inside a pipe where the shell can.
_FLAGS = dict.fromkeys(("bash", "zsh", "ksh"), ("-eo", "pipefail")) | dict.fromkeys(("sh", "dash", "ash"), ("-e",))
# An image may have no bash; its own sh finds out.
_INSIDE_IMAGE = 'if command -v bash >/dev/null; then exec bash -eo pipefail -c "$1"; else exec sh -e -c "$1"; fi'
_FILE_INSIDE_IMAGE = 'if command -v bash >/dev/null; then exec bash -eo pipefail "$1"; else exec sh -e "$1"; fi'
_LONGEST_WORD = 100_000  # Linux allows 131,072 bytes
_LIST = "{inputs.list}"
LIST_VARIABLE = "HEADWAY_INPUTS"


def wants_list(task: Task) -> bool:
    """Whether the command of a task reads the list of its inputs from a file."""
    texts = (task.command, *task.setup)
    return any(name in text for text in texts for name in (_LIST, LIST_VARIABLE))


def command_line(task: Task, script: Path, given: Resources, list_file: Path | None = None) -> list[str]:
    """Return the command line that runs the task's setup and command; an interpreter's program is written to `script`.

    A shell gets the text after `-c`. Any other interpreter gets a file, which every interpreter accepts, and so does a
    shell if the text is longer than one word of a command line may be. `list_file` stands for `{inputs.list}`.
    """
    listed = (_LIST, shlex.quote(str(list_file)) if list_file else _LIST)
    if not task.shell and task.container:
        text = _text(task, given, strict=True).replace(*listed)
        inside = _as_file(script, text, _FILE_INSIDE_IMAGE) or ("-c", _INSIDE_IMAGE, "headway", text)
        return ["/bin/sh", *inside]
    shell, *flags = task.shell or (default_shell(),)
    own_flags = _FLAGS.get(os.path.basename(shell))
    if own_flags is None:
        return _interpreter(task, script, given)
    text = _text(task, given, strict=not flags and "pipefail" in own_flags).replace(*listed)
    return [shell, *(flags or own_flags), *(_as_file(script, text) or ("-c", text))]


def _as_file(script: Path, text: str, inside: str = "") -> tuple[str, ...]:
    """Write a text that is too long for a word of a command line to a file, and return the words that name it."""
    if len(text.encode(errors="surrogateescape")) <= _LONGEST_WORD:
        return ()
    script.write_text(text, encoding="utf-8", errors="surrogateescape")
    return ("-c", inside, "headway", str(script)) if inside else (str(script),)


def default_shell() -> str:
    """Return the shell of tasks that name none: bash, or sh where there is no bash."""
    return "bash" if shutil.which("bash") else "/bin/sh"


def _text(task: Task, given: Resources, *, strict: bool) -> str:
    """Return setup and command as one text; `strict` makes the use of an unset variable in the command an error.

    It is no error in the setup: scripts that are sourced there (`module`, `conda activate`) often read unset variables.
    """
    setup = [with_amounts(line, given) for line in task.setup]
    return "\n".join([*setup, *(["set -u"] if strict else []), command_as_run(task, given)])


def _interpreter(task: Task, script: Path, given: Resources) -> list[str]:
    script.write_text(command_as_run(task, given), encoding="utf-8", errors="surrogateescape")
    argv = [*task.shell, str(script)]
    if not task.setup:
        return argv
    shell = "/bin/sh" if task.container else default_shell()
    setup = with_amounts("\n".join([*task.setup, 'exec "$@"']), given)
    return [shell, *_FLAGS[os.path.basename(shell)], "-c", setup, "headway", *argv]
