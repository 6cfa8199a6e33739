"""`Reader`: typed values from the YAML tree of a workflow file, with an error sentence for every mistake."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from headway.formats.safe_yaml import Entry, Listing, Mapping, Node, Text
from headway.model.errors import InputError
from headway.model.limits import MOST_BYTES

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # a valid name of a shell variable
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_LONGEST_NAME = 200


class Reader:
    """Reads the values of one file. `field` describes a value in errors: `'inputs' of task 'count'`."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.warnings: dict[str, str] = {}  # sentences, by what they are about

    def error(self, line: int, what: str, todo: str = "") -> InputError:
        """An error at a line of the file; for values that are in no file, one without a place."""
        return InputError(what, where=f"{self.file}:{line}" if self.file else "", todo=todo)

    def mapping(self, entry: Entry, field: str, example: str) -> dict[str, Entry]:
        """The entries of a mapping."""
        if not isinstance(entry.value, Mapping):
            what = f"{field} is {describe(entry.value)}, not a mapping"
            raise self.error(entry.line, what, f"write for example {example}")
        return entry.value.entries

    def check_keys(
        self, entries: dict[str, Entry], known: Collection[str], owner: str, elsewhere: Collection[str], place: str
    ) -> None:
        """Raise an error for an unknown key; suggest a similar key, or the `place` of keys that belong elsewhere."""
        for key, entry in entries.items():
            if key not in known:
                todo = did_you_mean(key, known, "known are")
                if key in elsewhere:
                    todo = f"write it {place}"
                elif key == "<<":
                    todo = "give every key a value or an alias of its own, since mappings are not merged"
                raise self.error(entry.line, f"unknown key {short(key)} of {owner}", todo)

    def text(self, entry: Entry, field: str) -> Text:
        """A scalar as it was written; `null` is text here, since it may be a command."""
        return self._scalar(entry.value, entry.line, field, "text")

    def value(self, entry: Entry, field: str, wanted: str = "text") -> Text:
        """A scalar that is not empty; `null` counts as empty."""
        return self._scalar(entry.value, entry.line, field, wanted, or_null=True)

    def texts(self, entry: Entry, field: str) -> list[Text]:
        """A list of scalars, or a single scalar."""
        if isinstance(entry.value, Listing):
            return [self._scalar(item, item.line, f"an item of {field}", "text") for item in entry.value.items]
        return [self.value(entry, field, "text or a list of texts")]

    def _scalar(self, node: Node, line: int, field: str, wanted: str, *, or_null: bool = False) -> Text:
        if not isinstance(node, Text):
            todo = "put text that begins with '{' or '[' in quotes"
            raise self.error(line, f"{field} is {describe(node)}, not {wanted}", todo)
        if node.missing or (or_null and node.null):
            raise self.error(line, f"{field} is empty", f"write {wanted} or leave the key out")
        return node

    def name(self, text: str, line: int, field: str, longest: int = _LONGEST_NAME) -> str:
        """Check that a text can be a name: one line, printable, and usable in a shell."""
        if not text.strip():
            raise self.error(line, f"{field} is empty", "write a name")
        if _CONTROL.search(text):
            raise self.error(line, f"{field} {short(text)} holds a control character", "remove it")
        if text.startswith("-"):
            raise self.error(line, f"{field} {short(text)} begins with '-'", "let it begin with a letter")
        if len(text) > longest:
            raise self.error(line, f"{field} {short(text)} is longer than {longest} characters", "shorten it")
        return text

    def number(
        self, entry: Entry, field: str, *, least: float = -math.inf, most: float = MOST_BYTES, whole: bool = False
    ) -> float:
        """A finite number of at least `least` and at most `most`."""
        kind = "a whole number" if whole else "a number"
        wanted = kind if math.isinf(least) else f"{kind} of at least {least:g}"
        text = self._scalar(entry.value, entry.line, field, wanted).text
        value = float(text) if is_number(text) else math.nan
        if least <= value and value > most:
            raise self.error(entry.line, f"{field} is {short(text)}, more than {most:,}", "write less")
        if not max(least, -MOST_BYTES) <= value or (whole and not value.is_integer()):
            raise self.error(entry.line, f"{field} is {short(text)}, not {wanted}", "correct it or leave the key out")
        return value

    def flag(self, entry: Entry, field: str, *also: str) -> bool:
        """True or false; the error names what else is allowed there."""
        wanted = ", ".join([*also, "true or false"])
        text = self._scalar(entry.value, entry.line, field, wanted).text
        if text.lower() not in _FLAGS:
            raise self.error(entry.line, f"{field} is {short(text)}", f"write {wanted}")
        return _FLAGS[text.lower()]


def has_control_character(text: str) -> bool:
    """Whether the text contains control characters or line separators."""
    return bool(_CONTROL.search(text))


def is_number(text: str) -> bool:
    """Whether the text is a decimal number without a unit."""
    return bool(_NUMBER.fullmatch(text))


def describe(node: Node) -> str:
    """A description of the value for error messages."""
    if isinstance(node, Text):
        return f"the text {short(node.text)}" if not node.missing else "empty"
    return "a list" if isinstance(node, Listing) else "a mapping"


def short(text: str) -> str:
    """The text in quotes on one line, cut to about 60 characters for error messages."""
    return repr(text) if len(text) <= 60 else f"{text[:57]!r}..."


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """A suggestion of the most similar known word, or `otherwise` and the first twelve known words."""
    known = list(known)
    near = get_close_matches(word, known, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"{otherwise} {', '.join(known[:12])}{', …' if len(known) > 12 else ''}"
