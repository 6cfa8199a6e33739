"""The key `config`: values that a whole workflow uses by name, and that a user can replace for one run."""

from __future__ import annotations

from collections.abc import Mapping

from headway.formats.each import Each, single
from headway.formats.fields import WORD, Reader, describe, did_you_mean, short
from headway.formats.safe_yaml import Entry, Listing, Text
from headway.model.errors import InputError

Value = str | list[str]
_EXAMPLE = "write for example config: {genome: hg38, chromosomes: [1, 2, X]}"
_MOST_ITEMS = 1_000_000  # that one text with lists stands for


class Config:
    """Names with a text or a list of texts each.

    >>> config = Config({"genome": "hg38", "parts": ["a", "b"]})
    >>> config.filled("{genome}.fa: {parts}"), config.expanded("{genome}_{parts}.txt", ())
    ('hg38.fa: a b', ['hg38_a.txt', 'hg38_b.txt'])
    """

    def __init__(self, values: Mapping[str, Value]) -> None:
        self.values = dict(values)
        self.lists = {name: value for name, value in values.items() if not isinstance(value, str)}
        self._single = {name: value for name, value in values.items() if isinstance(value, str)}
        joined = Each((), {name: " ".join(value) for name, value in self.lists.items()})
        self.texts = {**joined.constants, **{name: joined.filled(text) for name, text in self._single.items()}}
        self._each = Each((), self.texts)

    def filled(self, text: str) -> str:
        """The text with all values in it, those of a list separated by blanks."""
        return self._each.filled(text)

    def expanded(self, text: str, hidden: tuple[str, ...]) -> list[str]:
        """One text for each value of a list that is named in `text`; for several lists, one for each combination."""
        if not self.lists:
            return [text]
        lists = Each(
            [single(name, values) for name, values in self.lists.items() if name not in hidden],
            {name: value for name, value in self._single.items() if name not in hidden},
        )
        template = lists.template(text)
        if not template.places:
            return [text]
        used = Each([lists.factors[place] for place in dict.fromkeys(template.places)], lists.constants)
        if len(used) > _MOST_ITEMS:
            raise InputError(f"{short(text)} stands for {len(used):,} items", todo="use a pattern")
        return list(used.template(text).column(used.rows()))


def read_config(reader: Reader, top: dict[str, Entry], replaced: Mapping[str, Value]) -> Config:
    """Read the values of `config`, with those of `replaced` instead of the file's. A value may name earlier ones."""
    entries = reader.mapping(top["config"], "'config'", "{genome: hg38}") if "config" in top else {}
    for name in replaced:
        if name not in entries:
            todo = did_you_mean(name, entries, "it has") if entries else "add it under 'config' in that file"
            raise InputError(f"there is no {short(name)} in 'config' of {reader.file}", where="--set", todo=todo)
    values: dict[str, Value] = {}
    for name, entry in entries.items():
        value = _read_value(reader, name, entry)
        if name in replaced:
            value = _replaced(name, replaced[name], value)
        if any("{" in text for text in value):
            fill = Each((), {name: text for name, text in values.items() if isinstance(text, str)}).filled
            value = fill(value) if isinstance(value, str) else list(map(fill, value))
        values[name] = value
    return Config(values)


def _read_value(reader: Reader, name: str, entry: Entry) -> Value:
    field = f"{short(name)} in 'config'"
    if not WORD.fullmatch(name):
        raise reader.error(entry.line, f"{field} is not a word", "use letters, digits and '_'")
    if not isinstance(entry.value, Text | Listing):
        raise reader.error(entry.line, f"{field} is {describe(entry.value)}, not text or a list of texts", _EXAMPLE)
    if isinstance(entry.value, Text):
        return reader.value(entry, field).text
    texts = [text.text for text in reader.texts(entry, field)]
    if not texts:
        raise reader.error(entry.line, f"{field} has no values", "list at least one")
    return texts


def _replaced(name: str, given: Value, stated: Value) -> Value:
    """The value that was given instead of the file's: for a list, values separated by commas."""
    value = given
    if isinstance(given, str) and not isinstance(stated, str):
        value = [part.strip() for part in given.split(",") if part.strip()]
    if not value and not isinstance(value, str):
        raise InputError(f"{name} is a list and gets no values", where="--set", todo=f"write --set {name}=a,b")
    return value
