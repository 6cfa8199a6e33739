"""File ids of other formats as paths of a Headway workflow.

In other formats the id of a file is only a name: it may look like a pattern, lead out of the directory, or begin with a
slash although it lies below the workflow's directory. Characters that Headway would interpret are written as hex codes
(`*` is `%2A`), so that different ids remain different and the id can be recovered from the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import normpath

_ORDINARY = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_SPECIAL = re.compile(r"[*?\[\0]|%(?=[0-9A-Fa-f]{2})")


class FileIds:
    """The paths of all files of one workflow.

    If any output begins with a slash, all ids are relative to the workflow's directory (as in Nextflow); otherwise an
    id with a slash is the absolute path of an existing file.

    >>> FileIds([]).path("a/../b*.txt"), FileIds([]).path("/data/x"), FileIds(["/out"]).path("/data/x")
    ('a/%2E%2E/b%2A.txt', '/data/x', 'data/x')
    """

    def __init__(self, outputs: Iterable[str]) -> None:
        self._rooted = any(file_id.startswith("/") for file_id in outputs)
        self._known: dict[str, str] = {}

    def path(self, file_id: str) -> str:
        """The path of a file; equal ids share one string object to save memory."""
        found = self._known.get(file_id)
        if found is None:
            found = self._known[file_id] = file_id if _ORDINARY.fullmatch(file_id) else self._escaped(file_id)
        return found

    def paths(self, file_ids: Iterable[str]) -> tuple[str, ...]:
        """The paths of the files, without duplicates."""
        known = self._known
        return tuple(dict.fromkeys([known.get(file_id) or self.path(file_id) for file_id in file_ids]))

    def _escaped(self, file_id: str) -> str:
        text = _SPECIAL.sub(lambda special: _code(special[0]), file_id)
        if text.startswith("/") and not self._rooted:
            return normpath("/" + text.lstrip("/"))
        parts = ["%2E%2E" if part == ".." else part for part in text.split("/") if part not in ("", ".")]
        if parts[:1] == [".headway"]:  # reserved for Headway's own files
            parts[0] = "%2Eheadway"
        path = "/".join(parts) or _code(text or "/")
        return path if path.strip() else _code(path)


def _code(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())
