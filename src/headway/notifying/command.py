"""A command that gets each message as JSON on standard input."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from headway.model.errors import InputError
from headway.notifying.base import TIME_OUT_S, NotSentError, Target
from headway.notifying.message import Message
from headway.report.words import harmless

_MOST_CHARACTERS = 200


class Command(Target):
    """Runs a command of the user's shell language in the workflow's directory."""

    def __init__(self, line: str) -> None:
        self._line = line.strip()
        if not self._line:
            todo = "write for example 'command:mail -s Headway me@example.org'"
            raise InputError("after `command:` there is no command", todo=todo)

    @property
    def name(self) -> str:
        try:
            first = shlex.split(self._line)[0]
        except (ValueError, IndexError):
            first = self._line.split()[0]
        return f"the command {harmless(os.path.basename(first))!r}"  # its arguments may be secrets

    def send(self, message: Message) -> None:
        variables = {
            "HEADWAY_NOTIFY_EVENT": message.event,
            "HEADWAY_NOTIFY_STATE": message.state,
            "HEADWAY_NOTIFY_WORKFLOW": message.workflow,
            "HEADWAY_NOTIFY_RUN": message.run,
            "HEADWAY_NOTIFY_DIRECTORY": message.directory,
            "HEADWAY_NOTIFY_TEXT": message.text,
        }
        where = message.directory if Path(message.directory).is_dir() else None
        call(["/bin/sh", "-c", self._line], json.dumps(message.document()), variables, where)


def call(words: Sequence[str], given: str, variables: dict[str, str], directory: str | None = None) -> None:
    """Run a program with `given` on standard input; raise a `NotSentError` if it fails or takes too long."""
    with tempfile.TemporaryFile() as said:  # no pipe: what the program leaves behind may hold it open
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=said,
                cwd=directory,
                env=os.environ | variables,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise NotSentError(f"it cannot be started ({reason})", again=False) from None
        try:
            process.communicate(given.encode(), timeout=TIME_OUT_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise NotSentError(f"it took longer than {TIME_OUT_S:g} s") from None
        if process.returncode:
            said.seek(0)
            lines = harmless(said.read(8192).decode(errors="replace")).split("\n")
            last = next((f": {line.strip()}" for line in reversed(lines) if line.strip()), "")[:_MOST_CHARACTERS]
            raise NotSentError(f"it exited with code {process.returncode}{last}")
