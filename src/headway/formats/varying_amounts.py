"""Amounts of resources that differ from task to task: `memory: "{size_mb * 2} MB"`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from headway.formats.arithmetic import Arithmetic, NoArithmeticError
from headway.formats.each import Each, Row
from headway.formats.fields import Reader, did_you_mean, short
from headway.formats.safe_yaml import Entry, Mapping, Text
from headway.model.errors import InputError

_Read = Callable[[Reader, Entry, str], dict[str, float]]
_IN_BRACES = re.compile(r"\{([^{}]*)\}")


def has_braces(entry: Entry) -> bool:
    """Whether one of the amounts has something in braces."""
    values = [amount.value for amount in entry.value.entries.values()] if isinstance(entry.value, Mapping) else []
    return any(isinstance(value, Text) and "{" in value.text for value in values)


class VaryingAmounts:
    """Amounts with names or arithmetic in braces, such as `{size_mb * 2} MB`: they differ from task to task."""

    def __init__(self, reader: Reader, entry: Entry, field: str, each: Each, read: _Read) -> None:
        self._reader = reader
        self._entry = entry
        self._field = field
        self._each = each
        self._read = read
        self._entries = entry.value.entries if isinstance(entry.value, Mapping) else {}
        self._texts = {
            key: amount.value.text
            for key, amount in self._entries.items()
            if isinstance(amount.value, Text) and "{" in amount.value.text
        }
        self._parts = {key: list(self._read_parts(key)) for key in self._texts}
        used = {name for parts in self._parts.values() for part in parts for name in getattr(part, "names", ())}
        self._varying = [(place, name) for place, name in enumerate(each.names) if name in used]

    def _read_parts(self, key: str) -> Iterator[str | Arithmetic]:
        """The text around braces, and the names or arithmetic inside them."""
        known = [*self._each.names, *self._each.constants]
        for place, text in enumerate(_IN_BRACES.split(self._texts[key])):
            if not place % 2:
                yield text
                continue
            try:
                part = Arithmetic(text)
            except NoArithmeticError as problem:
                raise self._error(key, str(problem), "put the figure in the sheet, or in 'config'") from None
            for name in part.names:
                if name not in known:
                    todo = did_you_mean(name, known, "there are") if known else "name it in 'each' or in 'config'"
                    raise self._error(key, f"{short(name)} is no name in its 'each' or in 'config'", todo)
            yield part

    def column(self, rows: Sequence[Row], ids: Sequence[str]) -> Iterator[dict[str, float]]:
        """The amounts of each row's task; rows with the same values share them."""
        known: dict[Row, dict[str, float]] = {}
        values = dict(self._each.constants)
        for row, task_id in zip(rows, ids, strict=True):
            cells = tuple([row[place] for place, _ in self._varying])
            if cells not in known:
                values.update((name, row[place]) for place, name in self._varying)
                known[cells] = self._read(self._reader, self._filled(values, task_id), f"task {short(task_id)}")
            yield known[cells]

    def _filled(self, values: dict[str, str], task_id: str) -> Entry:
        entries = dict(self._entries)
        for key in self._texts:
            line = entries[key].line
            try:
                filled = "".join([part if isinstance(part, str) else part.text(values) for part in self._parts[key]])
            except NoArithmeticError as problem:
                todo = f"correct the values of task {short(task_id)}"
                raise self._error(key, f"for task {short(task_id)}, {problem}", todo) from None
            entries[key] = Entry(line, Text(filled, line, quoted=False))
        return Entry(self._entry.line, Mapping(entries, self._entry.line))

    def _error(self, key: str, problem: str, todo: str) -> InputError:
        what = f"{key} in {self._field} is {short(self._texts[key])}: {problem}"
        return self._reader.error(self._entries[key].line, what, todo)
