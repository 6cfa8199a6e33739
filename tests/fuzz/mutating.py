"""Makes hostile texts of good ones: bytes flipped, cut and doubled, numbers made absurd, tokens swapped.

JSON and YAML are also changed as the trees that they are. The same seed makes the same texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any

LONGEST = 200_000  # bytes
NUMBERS = (
    *("0", "-0", "-1", "1", "2", "-5", "0.5", "1e-320", "1e13", "1e18", "1e308", "1e309", "-1e309", "nan", "NaN"),
    *("inf", "Infinity", "-Infinity", "2147483647", "2147483648", "4294967295", "9223372036854775807"),
    *("9223372036854775808", "18446744073709551614", "18446744073709551616", "9" * 50, "9" * 400, "9" * 4301),
    *("1" + "0" * 30, "0x7f", "0b1", "1_000", "٣", "²", "½", "1.2.3", "--1", "+1", ".", "1e", "00012", "1e999999999"),
)
TEXTS = (
    *(
        "",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\0",
        "\x85",
        "\u2028",
        "\ufeff",
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ),
    *(
        "é",
        "\U0001f600",
        "..",
        "/",
        "../../etc/passwd",
        "/etc/passwd",
        "~root",
        "-x",
        "--help",
        "*",
        "**/*",
        "[",
        "{x}",
    ),
    *(
        "{",
        "}",
        "null",
        "true",
        "None",
        "N/A",
        "Unknown",
        "UNLIMITED",
        "INVALID",
        "(null)",
        "%s",
        "%n",
        "$(id)",
        "`id`",
    ),
    *(
        "; id",
        "'",
        '"',
        "\\",
        "\\ud800",
        "&a",
        "*a",
        "!!python/object:os.system",
        "<!ENTITY x SYSTEM 'file:///etc/passwd'>",
    ),
    *("1-02:03:04", "99999999-00:00:00", "9" * 30 + ":00", "9999-12-31T23:59:59", "0001-01-01T00:00:00+10:00"),
    *(
        "n[1-999999999]",
        "n[0-9][0-9][0-9][0-9][0-9][0-9]",
        "1P",
        "999999999P",
        "a" * 300,
        "a=" * 5000,
        "|" * 100,
        "," * 1000,
    ),
)
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_TOKEN = re.compile(rb"[A-Za-z0-9_.%/:+-]+|\s+|.", re.DOTALL)
_WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.%/:+-")
_LONGEST_WORD = 60
_MOST_PLACES = 5000  # of a tree that grows
_DEPTHS = (3, 3, 3, 3, 200, 200, 200, 20_000)  # long texts take long to read: few of them
_DEEP = (b"[", b"{", b'{"a":', b"- ", b"(", b"<a>")


def mutated(seeds: Sequence[bytes], chance: Random) -> bytes:
    """One hostile text, made of one of the seeds or of two."""
    data = chance.choice(seeds)
    tree = _tree(data) if chance.random() < 0.5 else None
    if tree is not None:
        for _ in range(chance.choice((1, 1, 2, 3))):
            tree = _changed_tree(tree, chance)
        data = json.dumps(tree, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
        if chance.random() < 0.7:
            return data[:LONGEST]
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        data = chance.choice(_CHANGES)(data, seeds, chance)[:LONGEST]
    return data


def _tree(data: bytes) -> Any:
    """The document in a text of JSON; None if it is none."""
    if data[:1] not in (b"{", b"["):
        return None
    try:
        return json.loads(data)
    except ValueError:
        return None


def _value(chance: Random) -> Any:
    kind = chance.randrange(5)
    if kind == 0:
        return chance.choice((None, True, False, 0, -1, -5, 2**31, 2**63, 2**64, -(2**63), 10**13, 10**30, 0.5, 1e308))
    if kind == 1:
        return chance.choice((float("nan"), float("inf"), -1e308, 5e-324, 10**400))
    if kind == 2:
        return chance.choice(NUMBERS)
    return chance.choice(TEXTS) if kind == 3 else chance.choice(([], {}, [[]], {"": {}}, [None] * 1000, {"a": 1}))


def _changed_tree(tree: Any, chance: Random) -> Any:
    """The tree with one place changed: dropped, replaced, copied from another place, renamed, or doubled."""
    places = _places(tree)
    if not places:
        return _value(chance)
    node, key = chance.choice(places)
    change = chance.randrange(6)
    if change == 0:
        del node[key]
    elif change == 1 and isinstance(node, dict):
        node[str(chance.choice((*TEXTS, *NUMBERS)))] = node.pop(key)
    elif change == 2:
        other, there = chance.choice(places)
        node[key] = json.loads(json.dumps(other[there]))
    elif change == 3 and isinstance(node, list) and len(places) < _MOST_PLACES:
        node.extend([node[key]] * chance.choice((1, 2, 100)))
    else:
        node[key] = _value(chance)
    return tree


def _places(node: Any) -> list[tuple[Any, Any]]:
    pairs = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    return [found for key, value in pairs for found in [(node, key), *_places(value)]]


# --- changes of bytes ---


def _span(data: bytes, chance: Random, longest: int = 40) -> tuple[int, int]:
    begin = chance.randrange(len(data) + 1)
    return begin, min(len(data), begin + chance.randint(0, longest))


def _flip(data: bytes, _: Sequence[bytes], chance: Random) -> bytes:
    if not data:
        return bytes([chance.randrange(256)])
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def _put(data: bytes, _: Sequence[bytes], chance: Random) -> bytes:
    begin, end = _span(data, chance, 8)
    return data[:begin] + chance.randbytes(chance.randint(0, 6)) + data[end:]


def _cut(data: bytes, _: Sequence[bytes], chance: Random) -> bytes:
    begin, end = _span(data, chance)
    return data[:begin] if chance.random() < 0.3 else data[:begin] + data[end:]


def _double(data: bytes, _: Sequence[bytes], chance: Random) -> bytes:
    begin, end = _span(data, chance, 200)
    return data[:end] + data[begin:end] * chance.choice((1, 1, 2, 50)) + data[end:]


def _absurd(data: bytes, _: Sequence[bytes], chance: Random) -> bytes:
    """Replace a number by an absurd one."""
    number = _NUMBER.search(data, _token_start(data, chance)) or _NUMBER.search(data)
    if number is None:
        return data + chance.choice(NUMBERS).encode()
    return data[: number.start()] + chance.choice(NUMBERS).encode() + data[number.end() :]


def _text(data: bytes, _: Sequence[bytes], chance: Random) -> bytes:
    return _in_place_of_a_token(data, chance.choice(TEXTS).encode(), chance)


def _in_place_of_a_token(data: bytes, text: bytes, chance: Random) -> bytes:
    word = _TOKEN.match(data, _token_start(data, chance))
    return data[: word.start()] + text + data[word.end() :] if word else data + text


def _token_start(data: bytes, chance: Random) -> int:
    """Where a token begins; looked for around one place, since texts may be long."""
    at = chance.randrange(len(data)) if data else 0
    first = max(0, at - _LONGEST_WORD)
    while at > first and data[at] in _WORD and data[at - 1] in _WORD:
        at -= 1
    return at


@cache
def _tokens(seed: bytes) -> list[bytes]:
    return _TOKEN.findall(seed)


def _swap(data: bytes, seeds: Sequence[bytes], chance: Random) -> bytes:
    """Put a token of this or another seed in place of one here."""
    theirs = _tokens(chance.choice(seeds))
    return _in_place_of_a_token(data, chance.choice(theirs), chance) if theirs else data


def _lines(data: bytes, seeds: Sequence[bytes], chance: Random) -> bytes:
    """Drop, repeat, move or take over lines."""
    lines = data.splitlines(keepends=True)
    others = chance.choice(seeds).splitlines(keepends=True)
    if not lines or not others:
        return data
    at = chance.randrange(len(lines))
    change = chance.randrange(4)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines[at:at] = [lines[at]] * chance.choice((1, 2, 100))
    elif change == 2:
        chance.shuffle(lines)
    else:
        lines.insert(at, chance.choice(others))
    return b"".join(lines)


def _deep(data: bytes, _: Sequence[bytes], chance: Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(_DEEP) * chance.choice(_DEPTHS) + data[at:]


Change = Callable[[bytes, Sequence[bytes], Random], bytes]
_CHANGES: tuple[Change, ...] = (
    _flip,
    _put,
    _cut,
    _double,
    _absurd,
    _absurd,
    _absurd,
    _text,
    _text,
    _swap,
    _lines,
    _deep,
)
