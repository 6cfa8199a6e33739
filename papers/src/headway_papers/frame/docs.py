"""Tables in the docs that a study's command writes between two markers, so that no table is pasted by hand.

A marker names the command that makes the table, and the sections to show, as patterns of their titles:

    <!-- table: headway reproduce asa --traces 8 | Figure 5*; verdicts -->
    <!-- end -->

`verdicts`, `findings` and `statements` stand for those parts of a report. What is between the markers is replaced.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from headway.model.errors import InputError
from headway_papers.frame.report import Report
from headway_papers.frame.text import statement_lines, table_of, verdict_lines

WIDTH = 120
_TABLE = re.compile(r"<!-- table: (?P<command>[^|]*?) \| (?P<shown>.*?) -->\n(?P<body>.*?)<!-- end -->", re.DOTALL)


class Marker(Struct, frozen=True):
    """A place for tables in a document."""

    command: str
    shown: tuple[str, ...]

    @property
    def arguments(self) -> list[str]:
        """The command's words after `headway reproduce`."""
        words = shlex.split(self.command)
        if words[:2] != ["headway", "reproduce"]:
            raise InputError(f"this table is not made by `headway reproduce`: {self.command}")
        return words[2:]


def markers(text: str) -> list[Marker]:
    """All markers of a document."""
    return [_marker(found) for found in _TABLE.finditer(text)]


def _marker(found: re.Match[str]) -> Marker:
    return Marker(found["command"], tuple(part.strip() for part in found["shown"].split(";")))


def write_tables(path: Path, report: Report, is_ours: Callable[[Marker], bool]) -> int:
    """Replace the tables of every marker in the document that `is_ours`; returns how many there were."""
    written = 0

    def replaced(found: re.Match[str]) -> str:
        nonlocal written
        marker = _marker(found)
        if not is_ours(marker):
            return found[0]
        written += 1
        head = found[0][: found.start("body") - found.start()]
        return f"{head}{tables(report, marker)}<!-- end -->"

    try:
        text = _TABLE.sub(replaced, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read or written: {error.strerror}", where=str(path)) from error
    return written


def tables(report: Report, marker: Marker) -> str:
    """The tables of one marker: a line on the command, seed and date, then each section."""
    today = datetime.now(UTC).date().isoformat()
    parts = [f"`{marker.command}`, seed {report.seed}, {today}:\n"]
    for pattern in marker.shown:
        found = list(_shown(report, pattern))
        if not found:
            raise InputError(f"the report has no section {pattern!r}", where=marker.command)
        parts += [f"```text\n{text}\n```\n" for text in found]
    return "\n".join(["", *parts, ""])


def _shown(report: Report, pattern: str) -> Iterator[str]:
    if pattern == "verdicts":
        yield "\n".join(str(line) for line in verdict_lines(report))
    elif pattern == "statements":
        yield "\n".join(str(line) for line in statement_lines(report))
    elif pattern == "findings":
        yield "\n".join(f"- {sentence}" for sentence in report.findings)
    else:
        for section in report.sections:
            if section.heads and not section.only_on_page and fnmatchcase(section.title, pattern):
                lines = [str(line).rstrip() for line in table_of(section, WIDTH)]
                yield "\n".join([section.title, *lines])
