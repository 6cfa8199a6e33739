"""Every regular expression of Headway with the ways in which it is used, and texts made of its own letters.

Patterns that functions make of names in a file are not among these; the readers of such files use them.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import headway
from tests.fuzz.growth import Growing

_SOURCE = Path(headway.__file__).parent
_USES: dict[str, Callable[[Any, Any], object]] = {
    "search": lambda pattern, text: pattern.search(text),
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "split": lambda pattern, text: pattern.split(text),
    "findall": lambda pattern, text: pattern.findall(text),
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
    "sub": lambda pattern, text: pattern.sub(text[:0], text),
    "subn": lambda pattern, text: pattern.subn(text[:0], text),
}
_WRITTEN = re.compile(rf"\bre\.(?:compile|{'|'.join(_USES)})\(|\b_?[A-Z][A-Z_]*\.(?:{'|'.join(_USES)})\b")
_MOST_LETTERS = 8  # of one pattern, of which all pairs are tried
_MOST_SAMPLES = 6


class Used(NamedTuple):
    """A pattern, and how it is used."""

    name: str
    pattern: re.Pattern[Any]
    use: str

    def read(self, text: str) -> object:
        is_bytes = isinstance(self.pattern.pattern, bytes)
        return _USES[self.use](self.pattern, text.encode(errors="replace") if is_bytes else text)


def used_patterns() -> dict[str, Used]:
    """All patterns that modules hold or that functions have as literals, by names that say where and how."""
    held: dict[int, tuple[str, re.Pattern[Any]]] = {}
    uses: dict[int, set[str]] = {}
    found: list[Used] = []
    for file in sorted(_SOURCE.rglob("*.py")):
        if not _WRITTEN.search(text := file.read_text()):
            continue
        module = importlib.import_module(".".join(("headway", *file.relative_to(_SOURCE).with_suffix("").parts)))
        for name, value in vars(module).items():
            for pattern in _patterns_in(value):
                held.setdefault(id(pattern), (f"{module.__name__}.{name}", pattern))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and node.attr in _USES and isinstance(node.value, ast.Name):
                uses.setdefault(id(vars(module).get(node.value.id)), set()).add(node.attr)
            elif isinstance(node, ast.Call) and (used := _inline(module.__name__, node)):
                found.append(used)
    for key, (name, pattern) in held.items():  # one that is used in another way may be searched for
        found += [Used(f"{name}.{use}", pattern, use) for use in sorted(uses.get(key, {"sub"}))]
    return {used.name: used for used in found}


def _patterns_in(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _patterns_in(each)


def _inline(module: str, call: ast.Call) -> Used | None:
    """The pattern of `re.search("a literal", text)`."""
    match call:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="re"), attr=use), args=[ast.Constant(value=str(literal)), *_]
        ) if use in _USES:
            return Used(f"{module}:{call.lineno} {use}", re.compile(literal), use)
    return None


# --- texts ---


def texts_for(pattern: re.Pattern[Any]) -> Iterator[Growing]:
    """Texts that may be hard for a pattern: its letters and what they make, repeated, also after a good beginning."""
    source = pattern.pattern
    tree = _parser.parse(source.decode("latin-1") if isinstance(source, bytes) else source, pattern.flags & ~re.DEBUG)
    letters = list(islice(dict.fromkeys(_letters(tree)), _MOST_LETTERS))
    beginnings = list(dict.fromkeys([*_beginnings(tree), _sample(tree)]))
    for piece in dict.fromkeys([*letters, *filter(None, beginnings), *map("".join, product(letters, repeat=2))]):
        yield Growing("", piece)
    for before, piece in product(beginnings, letters):
        yield Growing(before, piece, "\x01")


def _letters(tree: Iterable[Any]) -> Iterator[str]:
    """Letters that a pattern names, and one for each class of letters."""
    for kind, value in tree:
        if kind is _constants.IN:
            yield from _members(value)
        elif kind in (_constants.LITERAL, _constants.ANY, _constants.NOT_LITERAL):
            yield _sample([(kind, value)])
        for part in _parts(kind, value):
            yield from _letters(part)


def _members(items: list[Any]) -> Iterator[str]:
    if items[0][0] is _constants.NEGATE:
        excluded = set(_members(items[1:]))
        yield next(letter for letter in "ab -." if letter not in excluded)
        items = items[1:]
    for kind, value in items:
        if kind is _constants.LITERAL:
            yield chr(value)
        elif kind is _constants.RANGE:
            yield chr(value[0])
        elif kind is _constants.CATEGORY:
            yield {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}.get(str(value), "-")


def _parts(kind: Any, value: Any) -> list[Any]:
    """The patterns within a part of a pattern."""
    match str(kind):
        case "BRANCH":
            return list(value[1])
        case "SUBPATTERN":
            return [value[3]]
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return [value[2]]
        case "ASSERT" | "ASSERT_NOT":
            return [value[1]]
        case "ATOMIC_GROUP":
            return [value]
    return []


def _beginnings(tree: Iterable[Any], before: Sequence[str] = ("",)) -> Iterator[str]:
    """What may stand before each repetition in a pattern."""
    for kind, value in tree:
        if str(kind).endswith("REPEAT"):
            yield from before
        for part in _parts(kind, value):
            yield from _beginnings(part, before)
        ends = [_sample(part) for part in value[1]] if str(kind) == "BRANCH" else [_sample([(kind, value)])]
        before = [one + end for one in before for end in ends][:_MOST_SAMPLES]


def _sample(tree: Iterable[Any]) -> str:
    """A short text that matches, as far as that can be said without trying."""
    text = ""
    for kind, value in tree:
        match str(kind):
            case "LITERAL":
                text += chr(value)
            case "NOT_LITERAL":
                text += "b" if value == ord("a") else "a"
            case "ANY":
                text += "a"
            case "IN":
                text += next(_members(value))
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                text += _sample(value[2]) * max(1, value[0])
            case "BRANCH":
                text += _sample(value[1][0])
            case "SUBPATTERN" | "ATOMIC_GROUP":
                text += _sample(_parts(kind, value)[0])
    return text
