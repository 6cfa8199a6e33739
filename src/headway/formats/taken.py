"""`inputs: [{from: call}]`: the outputs of the tasks of another entry, in the order of their sheet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from headway.formats.each import Each, Template
from headway.formats.fields import Reader, short
from headway.formats.safe_yaml import Entry, Listing, Text
from headway.formats.safe_yaml import Mapping as YamlMapping

_KEYS = ("from", "outputs")
_EXAMPLE = "write for example {from: call}, or put text that begins with '{' in quotes"


class Taken(Struct, frozen=True):
    """The outputs of a category or of one task: all, one of each task by its place, or those that fit a pattern."""

    line: int
    task: Template
    choice: str | int | None = None

    def of(self, outputs: Sequence[str]) -> list[str]:
        """The chosen ones among the outputs of one task."""
        if self.choice is None:
            return list(outputs)
        if isinstance(self.choice, int):
            return [outputs[self.choice]] if self.choice < len(outputs) else []
        whole = "/" in self.choice
        return [path for path in outputs if fnmatchcase(path if whole else path.rpartition("/")[2], self.choice)]


def input_items(reader: Reader, entry: Entry, field: str, each: Each) -> list[Text | Taken]:
    """Return the items of `inputs` in their order: texts, and mappings with `from`."""
    if isinstance(entry.value, YamlMapping):
        return [_read(reader, entry.value, field, each)]
    if not isinstance(entry.value, Listing):
        return [*reader.texts(entry, field)]
    items: list[Text | Taken] = []
    for item in entry.value.items:
        if isinstance(item, YamlMapping):
            items.append(_read(reader, item, f"an item of {field}", each))
        else:
            items += reader.texts(Entry(item.line, Listing([item], item.line)), field)
    return items


def _read(reader: Reader, item: YamlMapping, field: str, each: Each) -> Taken:
    entries = item.entries
    if "from" not in entries:
        raise reader.error(item.line, f"{field} is a mapping, not text or a list of texts, and has no 'from'", _EXAMPLE)
    reader.check_keys(item.entries, _KEYS, field, (), "")
    task = reader.value(entries["from"], f"'from' in {field}")
    choice: str | int | None = None
    if "outputs" in entries:
        text = reader.value(entries["outputs"], f"'outputs' in {field}")
        choice = int(text.text) if re.fullmatch(r"[0-9]{1,6}", text.text) and not text.quoted else text.text
    return Taken(item.line, each.template(task.text), choice)


def nothing_fits(taken: Taken, name: str, outputs: Sequence[str]) -> tuple[str, str]:
    """Say that none of a task's outputs was chosen, and what to do."""
    if not outputs:
        return f"'from' names {short(name)}, which has no outputs", "list them under 'outputs' of that task"
    what = f"no output of {short(name)} is chosen by {taken.choice!r}"
    return what, f"its outputs are {', '.join(outputs[:3])}{', …' if len(outputs) > 3 else ''}"
