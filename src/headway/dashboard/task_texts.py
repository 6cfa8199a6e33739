"""Texts about one task: what it wrote, and why it got what it got."""

from __future__ import annotations

import os
import re
from io import BytesIO, StringIO
from typing import Any

from rich.console import Console

from headway.api.logs import STREAMS, TaskLogs, logs
from headway.api.why import Explanation, why
from headway.journal.folder import RunFolder
from headway.journal.logs import RESULT, open_log
from headway.model.errors import InputError
from headway.report.run.story_text import tell

MOST_BYTES = 64_000  # of a log, from its end
WIDTHS = (38, 140)  # letters in a line
_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")
_CONTROLS = re.compile(r"[^\t\n\x20-\x7e\xa0-\U0010ffff]")
_REMEMBERED = 200

_found: dict[tuple[str, str, int], TaskLogs] = {}  # where the logs of attempts are: to find out means to read a journal


def log_tail(folder: RunFolder, task: str, attempt: int | None, stream: str, after: int) -> dict[str, Any]:
    """Return what an attempt (by default the last) wrote after so many bytes; of much only the end."""
    if stream not in STREAMS:
        raise InputError(f"there is no stream {stream!r}", todo=f"there are {' and '.join(STREAMS)}")
    found = _logs_of(folder, task, attempt)
    # Looked at before the log: what was written before the end is then read.
    with open_log(found.folder, found.task, found.attempt, RESULT) or BytesIO() as result:
        over = bool(result.read(1))
    with open_log(found.folder, found.task, found.attempt, stream) or BytesIO() as log:
        size = log.seek(0, os.SEEK_END)
        begin = max(after if after <= size else 0, size - MOST_BYTES, 0)
        log.seek(begin)
        text = log.read(size - begin).decode(errors="replace")
    answer = {"run": found.run, "attempt": found.attempt, "attempts": found.attempts, "stream": stream}
    return answer | {"begin": begin, "size": size, "over": over, "text": _plain(text)}


def _logs_of(folder: RunFolder, task: str, attempt: int | None) -> TaskLogs:
    key = (str(folder.path), task, attempt or 0)
    if attempt is not None and key in _found:
        return _found[key]
    answer = logs(task, folder.run, folder.directory, attempt=attempt)
    if not isinstance(answer, TaskLogs):
        raise InputError("this is a category and no task")
    if len(_found) >= _REMEMBERED:
        _found.clear()
    _found[str(folder.path), task, answer.attempt] = answer
    return answer


def _plain(text: str) -> str:
    """Text without colours; of a line that was written over several times, the last."""
    lines = (line.rstrip("\r").rsplit("\r", 1)[-1] for line in _ESCAPES.sub("", text).split("\n"))
    return _CONTROLS.sub("\ufffd", "\n".join(lines))


def explanation(folder: RunFolder, task: str, width: int) -> str:
    """Return what `headway why` prints on a terminal of that width."""
    answer = why(task, folder.run, folder.directory)
    if not isinstance(answer, Explanation):
        raise InputError("this is a category and no task")
    wide = min(max(width, WIDTHS[0]), WIDTHS[1])
    page = StringIO()
    tell(Console(file=page, width=wide, color_system=None, highlight=False, markup=False, emoji=False), answer.story)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())
