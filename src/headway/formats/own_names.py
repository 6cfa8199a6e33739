"""`{inputs}`, `{outputs}` and `{task}` in a command: what its own task says, quoted for the shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from headway.formats.each import Each, Row, Template
from headway.formats.fields import Reader
from headway.formats.taken import Taken
from headway.model.task import is_pattern

OWN_NAME = re.compile(r"(?<![${])\{((inputs|outputs)(?:\[([0-9]{1,6})\])?|task)\}")
_SIDES = {"inputs": 0, "outputs": 1}
_PLAIN = re.compile(r"[A-Za-z0-9_/.][A-Za-z0-9_/.-]*")
_PATTERN = re.compile(r"([*?]|\[[\w!^.:,=+@%-]+\])")  # any other letter could end the word, or run a command


class OwnNames:
    """The names that the texts of a command use, and the values of these names for each row."""

    def __init__(
        self, texts: Iterable[str], each: Each, inputs: Sequence[Template | Taken], outputs: Sequence[Template]
    ) -> None:
        found = [match.groups() for text in texts for match in OWN_NAME.finditer(each.filled(text))]
        hidden = {*each.names, *each.constants} if found else ()
        self._names = {name: (key, index) for name, key, index in found if name not in hidden}
        self._each = each
        self._files: dict[str, Sequence[Template | Taken]] = {"inputs": inputs, "outputs": outputs}

    def check(self, reader: Reader, line: int, owner: str) -> None:
        """Raise an error for a file that the task does not have. How many it takes from others is not known yet."""
        for name, (key, index) in self._names.items():
            if key and any(isinstance(file, Taken) for file in self._files[key]):
                continue
            count = len(self._files[key]) if key else 1
            if count <= int(index or 0):
                has = f"has {count} {key}" if count else f"has no {key!r}"
                todo = f"list them under {key!r}" if not count else "count from 0"
                raise reader.error(line, f"the command of {owner} names {{{name}}}, and the task {has}", todo)

    def widened(self) -> Each:
        """`each` with these names."""
        if not self._names:
            return self._each
        longest = {
            key: sum(self._each.longest(file) + 3 for file in files if isinstance(file, Template))
            for key, files in self._files.items()
        }
        return self._each.widened({name: longest.get(key or "", 200) for name, (key, _) in self._names.items()})

    def added_to(self, rows: list[Row], ids: list[str], inputs: Iterable[Row], outputs: Iterable[Row]) -> list[Row]:
        """The rows, each with the values of these names at its end, given the files of each row's task."""
        if not self._names:
            return rows
        files = zip(inputs, outputs, strict=True)
        wanted = [(_SIDES.get(key or ""), index) for key, index in self._names.values()]
        return [
            (*row, *(shlex.quote(id_) if side is None else quoted_paths(paths[side], index) for side, index in wanted))
            for row, id_, paths in zip(rows, ids, files, strict=True)
        ]


def quoted_paths(paths: Row, index: str | None = None) -> str:
    """The paths as words of the shell, or the one with that index; nothing if there is none."""
    return " ".join(map(_path, paths if index is None else paths[int(index) : int(index) + 1]))


def _path(path: str) -> str:
    """The path as one word of the shell; a pattern stays a pattern.

    >>> _path("my reads/*.fq"), _path("-x"), _path("s[0-9].fq"), _path("[$(id)]*")
    ("'my reads/'*.fq", './-x', 's[0-9].fq', "'[$(id)]'*")
    """
    if _PLAIN.fullmatch(path):
        return path
    path = f"./{path}" if path.startswith("-") else path
    if not is_pattern(path):
        return shlex.quote(path)
    parts = _PATTERN.split(path)
    return "".join(part if place % 2 else part and shlex.quote(part) for place, part in enumerate(parts))
