"""Names in braces that do not exist: an error for a misspelt name, a warning for any other.

A name in braces is known if it is replaced there: names of the task's `each` and of `config` everywhere; `{inputs}`,
`{outputs}` and `{task}` in `run` and `setup`; `{cores}` and `{memory_mb}` also in `env`. Other names stay as they are,
so they are probably mistakes, unless the braces belong to a program:

- `${name}`, `{{name}}`, `%{name}`, `@{name}`, `\\begin{name}` and other braces with such a sign before them are never
  ours. Neither is anything in a comment or a here-document.
- In a command the braces in an awk, jq, sed or other program in quotes are that program's, and so are all braces of
  commands such as GNU parallel and cutadapt (see `shell_pieces`).
- The program of an interpreter that is not a shell (`shell: python3`) has braces of its own, and so have the tasks with
  `category`, which programs write.

Of what remains, a name that is a misspelling of a known one is an error, and any other is a warning. In a text of
several words with other unknown names and without any known name, the braces are probably a template of some program:
there a misspelt name is only a warning, too. A known name that is not replaced, for a space, an index or a conversion
in its braces (`{ sample}`, `{inputs[o]}`, `{sample!r}`), is an error. A false error would be worse than a mistake that
is not found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from headway.formats.each import Each
from headway.formats.fields import Reader
from headway.formats.safe_yaml import Entry, Listing, Mapping, Node, Text
from headway.formats.shell_pieces import ordinary_pieces
from headway.model.software import KINDS
from headway.model.spelling import meant

_COMMANDS = ("run", "setup")
_PLAIN = ("inputs", "outputs", "temp", "needs", "container", *KINDS)
_OWN = ("inputs", "outputs", "task", "inputs.list")
_INDEXED = ("inputs", "outputs")
_AMOUNTS = ("cores", "memory_mb")

_IN_BRACES = re.compile(r"(?<![$@%#!~^{\\])\{([^\W\d]\w*(?:\.[^\W\d]\w*)*)(\[-?\d{1,6}\])?\}(?!\})")
_ALMOST = re.compile(
    r"(?<![$@%#!~^{\\])\{(?P<space>[ \t]*)(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)"
    r"(?P<index>\[[^\[\]{}\s]{1,20}\])?(?:![rsa])?[ \t]*\}(?!\})"
)
# What stands before braces of LaTeX and regular expressions (`\begin`, `\frac{a}`, `\p`), and of a hash in Perl.
_SIGN_BEFORE = re.compile(r"(?:\\(?:[A-Za-z@]{2,}\*?|[pPxNukgo])(?:\[[^\[\]]*\])?(?:\{[^{}]*\})*|\$\w+|->)$")
_BLANK = re.compile(r"\s")
_WINDOW = 80  # characters in which such a sign is looked for
_KEYWORDS = ("print", "next", "exit", "return", "getline", "nextfile")  # of awk: a program may be kept in a variable
_MOST_CHARACTERS = 100_000
_MOST_NAMES = 300  # in braces; a text with more of them is not written by hand
_MOST_WARNINGS = 10


class _Braces(Struct, frozen=True):
    """A name in braces, and an index such as `[0]` after it."""

    name: str
    index: str
    start: int
    end: int

    def is_among(self, known: set[str]) -> bool:
        return self.name in known and (not self.index or (self.name in _INDEXED and "-" not in self.index))

    @property
    def text(self) -> str:
        return f"{{{self.name}{self.index}}}"


def check_names(reader: Reader, keys: dict[str, Entry], owner: str, each: Each, *, in_shell: bool = True) -> None:
    """Raise an error for a misspelt name in braces in the texts of a task; add other unknown names to the warnings.

    `in_shell` says whether a shell runs the task's command.
    """
    for key in (*_COMMANDS, "env", *_PLAIN) if "category" not in keys else ():
        if key not in keys or (key == "run" and not in_shell):
            continue
        known = {*each.names, *each.constants}
        known |= {*_OWN, *_AMOUNTS} if key in _COMMANDS else {*_AMOUNTS} if key == "env" else set()
        place = f"the command of {owner}" if key == "run" else f"{key!r} of {owner}"
        for text in _texts(keys[key].value):
            found = list(_found(text.text)) if len(text.text) <= _MOST_CHARACTERS else []
            if len(found) < _MOST_NAMES and len(text.text) <= _MOST_CHARACTERS:
                _check_spelling(reader, text, place, known, in_command=key in _COMMANDS)
            for name in dict.fromkeys(braces.name for braces in found if braces.name not in each.names):
                for piece in _in_value(each.constants.get(name, ""), known):
                    _check(reader, text.line, f"{name!r} in 'config', which {place} uses,", piece, known)
            if len(found) >= _MOST_NAMES or all(braces.is_among(known) for braces in found):
                continue
            for piece in _pieces(key, text.text, known):
                _check(reader, text.line, place, piece, known)


def _check_spelling(reader: Reader, text: Text, place: str, known: set[str], *, in_command: bool) -> None:
    """Raise an error for a known name that is not replaced, since something is with it in the braces."""
    for written, right in _almost_known(text.text, known, in_command=in_command) if "{" in text.text else ():
        what = f"{place} names {written}, which stays as it is"
        raise reader.error(text.line, what, f"did you mean {right}?")


def _almost_known(text: str, known: set[str], *, in_command: bool) -> Iterator[tuple[str, str]]:
    """Yield known names in braces that stay as they are for a space, an index or a conversion, and the right ones."""
    pieces = [_Place(*piece) for piece in ordinary_pieces(text)] if in_command else [_Place(0, len(text), True)]
    for match in islice(_ALMOST.finditer(text), _MOST_NAMES):
        name, index = match["name"], match["index"] or ""
        index = index if name in _INDEXED and index[1:-1].isdecimal() else ""
        if name not in known or match[0] == f"{{{name}{index}}}" or _is_signed(text, match.start()):
            continue
        first, last = (_place_of(pieces, position) for position in (match.start(), match.end() - 1))
        if first is None or last is None or first.quoted != last.quoted:
            continue
        if first.quoted and (first != last or _is_in_program(text, first, match, known)):
            continue
        if not first.quoted and match["space"] and _begins_command(text, match.start()):
            continue  # a group of the shell's commands
        yield match[0], f"{{{name}{index}}}"


class _Place(Struct, frozen=True):
    """A piece of a text."""

    start: int
    end: int
    quoted: bool


def _place_of(pieces: Sequence[_Place], position: int) -> _Place | None:
    index = bisect_right(pieces, position, key=lambda piece: piece.start) - 1
    return pieces[index] if index >= 0 and position < pieces[index].end else None


def _is_in_program(text: str, piece: _Place, match: re.Match[str], known: set[str]) -> bool:
    """Whether a quoted text is kept in a variable, or has other braces than known names, such as JSON or GraphQL."""
    if text[piece.start : piece.start + 1] in ("'", '"') and text[: piece.start].endswith("="):
        return True
    rest = text[piece.start : match.start()] + text[match.end() : piece.end]
    rest = _ALMOST.sub(lambda other: "" if other["name"] in known else other[0], rest)
    return "{" in rest or "}" in rest


def _begins_command(text: str, position: int) -> bool:
    while position and text[position - 1] in " \t":
        position -= 1
    return not position or text[position - 1] in ";&|()\n{"


def _is_signed(text: str, position: int) -> bool:
    """Whether a sign before a brace shows that it belongs to another language."""
    return _SIGN_BEFORE.search(text[max(0, position - _WINDOW) : position]) is not None


def told(reader: Reader) -> list[str]:
    """The warnings, in a limited number."""
    sentences = list(reader.warnings.values())
    if len(sentences) <= _MOST_WARNINGS:
        return sentences
    more = ", ".join(list(reader.warnings)[_MOST_WARNINGS - 1 :][:_MOST_WARNINGS])
    return [
        *sentences[: _MOST_WARNINGS - 1],
        f"{len(sentences) - _MOST_WARNINGS + 1:,} more names in braces are unknown: {more}",
    ]


class _Piece(Struct, frozen=True):
    """Names in braces that stand together, in a text that may be a template of some program."""

    found: list[_Braces]
    may_be_template: bool = False


def _check(reader: Reader, line: int, place: str, piece: _Piece, known: set[str]) -> None:
    unknown = [braces for braces in piece.found if not braces.is_among(known)]
    near = {braces.name: meant(braces.name, sorted(known)) for braces in unknown if braces.name not in known}
    is_template = piece.may_be_template and len(unknown) == len(piece.found) and not all(near.values())
    for braces in unknown:
        name = near.get(braces.name, "")
        if name and not is_template:
            what = f"{place} names {braces.text}, which does not exist"
            raise reader.error(line, what, f"did you mean {{{name}{braces.index}}}?")
        name = name or next((name for name in sorted(known) if name.lower() == braces.name.lower()), "")
        todo = f"did you mean {{{name}}}?" if name else ""
        warning = reader.error(line, f"{place} names {braces.text}, which is unknown there and stays as it is", todo)
        reader.warnings.setdefault(braces.text, str(warning))


def _texts(node: Node) -> Iterator[Text]:
    """All texts in a value, without the keys of mappings."""
    if isinstance(node, Text):
        yield node
    elif isinstance(node, Listing):
        for item in node.items:
            yield from _texts(item)
    elif isinstance(node, Mapping):
        for entry in node.entries.values():
            yield from _texts(entry.value)


def _pieces(key: str, text: str, known: set[str]) -> Iterable[_Piece]:
    if key in _COMMANDS:
        return _in_command(text)
    return _in_value(text, known) if key == "env" else [_Piece(list(_found(text)))]


def _in_value(text: str, known: set[str]) -> list[_Piece]:
    """A text of several words is a program's template, such as the format of its messages, if all names are unknown."""
    found = list(_found(text)) if "{" in text else []
    is_template = _BLANK.search(text) and not any(braces.is_among(known) for braces in found)
    return [] if is_template else [_Piece(found)]


def _in_command(text: str) -> Iterator[_Piece]:
    for start, end, quoted in ordinary_pieces(text):
        found = _found(text, start, end)
        if quoted:  # sed and regular expressions have single letters in braces
            yield _Piece([braces for braces in found if len(braces.name) > 1], bool(_BLANK.search(text, start, end)))
        else:
            yield _Piece([braces for braces in found if not _is_descriptor(text, braces)])


def _found(text: str, start: int = 0, end: int | None = None) -> Iterator[_Braces]:
    for match in islice(_IN_BRACES.finditer(text, start, len(text) if end is None else end), _MOST_NAMES):
        if match[1] not in _KEYWORDS and not _is_signed(text, match.start()):
            yield _Braces(match[1], match[2] or "", match.start(), match.end())


def _is_descriptor(text: str, braces: _Braces) -> bool:
    """Whether the shell opens a file here: `exec {lock}> file`."""
    return text[braces.end : braces.end + 1] in ("<", ">") and not text[braces.start - 1 : braces.start].strip()
