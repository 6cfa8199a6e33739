"""`{inputs}`, `{outputs}` and `{task}` in a command: what its own task says, quoted for the shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from headway.formats.each import Each, Row, Template, table
from headway.formats.fields import Reader
from headway.model.task import is_pattern

OWN_NAME = re.compile(r"(?<![${])\{((inputs|outputs)(?:\[([0-9]{1,6})\])?|task)\}")
_SIDES = {"inputs": 0, "outputs": 1}
_PLAIN = re.compile(r"[A-Za-z0-9_/.][A-Za-z0-9_/.-]*")
_PATTERN = re.compile(r"([*?]|\[[^\]]*\])")


class OwnNames:
    """The names that the texts of a command use, and the values of these names for each row."""

    def __init__(self, texts: Iterable[str], each: Each, inputs: list[Template], outputs: list[Template]) -> None:
        found = [match.groups() for text in texts for match in OWN_NAME.finditer(each.filled(text))]
        hidden = {*each.names, *each.constants} if found else ()
        self._names = {name: (key, index) for name, key, index in found if name not in hidden}
        self._each = each
        self._files = {"inputs": inputs, "outputs": outputs}

    def check(self, reader: Reader, line: int, owner: str) -> None:
        """Raise an error for a file that the task does not have."""
        for name, (key, index) in self._names.items():
            count = len(self._files[key]) if key else 1
            if count <= int(index or 0):
                has = f"has {count} {key}" if count else f"has no {key!r}"
                todo = f"list them under {key!r}" if not count else "count from 0"
                raise reader.error(line, f"the command of {owner} names {{{name}}}, and the task {has}", todo)

    def widened(self) -> Each:
        """`each` with these names."""
        if not self._names:
            return self._each
        longest = {key: sum(self._each.longest(file) + 3 for file in files) for key, files in self._files.items()}
        return self._each.widened({name: longest.get(key or "", 200) for name, (key, _) in self._names.items()})

    def added_to(self, rows: list[Row], ids: list[str]) -> list[Row]:
        """The rows, each with the values of these names at its end."""
        if not self._names:
            return rows
        files = zip(table(self._files["inputs"], rows), table(self._files["outputs"], rows), strict=True)
        wanted = [(_SIDES.get(key or ""), index) for key, index in self._names.values()]
        return [
            (*row, *(shlex.quote(id_) if side is None else _quoted(paths[side], index) for side, index in wanted))
            for row, id_, paths in zip(rows, ids, files, strict=True)
        ]


def _quoted(paths: Row, index: str | None) -> str:
    return " ".join(map(_path, paths)) if index is None else _path(paths[int(index)])


def _path(path: str) -> str:
    """The path as one word of the shell; a pattern stays a pattern.

    >>> _path("my reads/*.fq"), _path("-x")
    ("'my reads/'*.fq", './-x')
    """
    if _PLAIN.fullmatch(path):
        return path
    path = f"./{path}" if path.startswith("-") else path
    if not is_pattern(path):
        return shlex.quote(path)
    parts = _PATTERN.split(path)
    return "".join(part if place % 2 else part and shlex.quote(part) for place, part in enumerate(parts))
