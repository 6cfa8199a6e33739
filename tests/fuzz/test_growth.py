"""The cost of every text grows no faster than n log n with its length: for each pattern, and for each reader."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from functools import cache
from http.cookies import SimpleCookie

import pytest

from tests.fuzz.growth import TOLERANCE, Growing, growth
from tests.fuzz.patterns import Used, texts_for, used_patterns
from tests.fuzz.readers import READERS, Reader
from tests.fuzz.test_fuzz import REPEATED

PARTS = 4  # of the patterns, for several workers
OPENED = (
    *("{", "{a", "${", "$((", "<", "<<a ", "&a;", "&a=b", "*", "\u0301", "'\\", '"\\', '\\"', "[a", "a_", "0.", "../"),
    *("\x1b]", "\x1b[", "%41", "?", "#", "- ", "a:\n ", "\r", "\0", "://", "; ", "<!--", "\u2018"),
)
MOST_LINES = 5  # of a good text that are repeated


@cache
def _patterns() -> dict[str, Used]:
    return used_patterns()


def test_patterns_are_found() -> None:
    """Those of modules, in lists, imported from elsewhere and written in a function."""
    names = list(_patterns())
    for part in ("task_texts._ESCAPES.sub", "bundle_secrets._PATTERNS.sub", ".WORD.fullmatch", "rights:"):
        assert any(part in name for name in names), part
    assert len(names) > 150


@pytest.mark.parametrize("part", range(PARTS))
def test_cost_of_patterns(part: int) -> None:
    slow = [
        f"{used.name} {used.pattern.pattern!r} {growing}"
        for used in list(_patterns().values())[part::PARTS]
        for growing in texts_for(used.pattern)
        if growth(used.read, growing) > TOLERANCE
    ]
    assert slow == []


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_cost_of_readers(reader: Reader) -> None:
    logging.disable(logging.CRITICAL)
    try:
        slow = [growing for growing in _texts_for(reader) if growth(_reading(reader), growing) > TOLERANCE]
    finally:
        logging.disable(logging.NOTSET)
    assert slow == []


def _reading(reader: Reader) -> Callable[[str], object]:
    return lambda text: reader.read(text.encode(errors="replace"))


def _texts_for(reader: Reader) -> Iterator[Growing]:
    """One thing repeated, alone and inside each good text; and lines of good texts, as they are and numbered."""
    seeds = [seed.decode(errors="replace") for seed in reader.seeds]
    for number, piece in enumerate([*(piece.decode() for piece in REPEATED), *OPENED]):
        seed = seeds[number % len(seeds)]
        middle = (number * 7919) % (len(seed) + 1)  # elsewhere for each piece
        yield from (Growing("", piece), Growing(seed[:middle], piece, seed[middle:]))
    for seed in seeds[:MOST_LINES]:
        lines = seed.splitlines(keepends=True)
        for at, line in enumerate(lines[:MOST_LINES]):
            before, after = "".join(lines[:at]), "".join(lines[at + 1 :])
            yield from (Growing(before, line, after), Growing(before, line.replace("0", "9") + "0", after, True))
            yield Growing(before, re.sub(r"(\w)", r"\g<1>0", line.replace("0", "9"), count=1), after, True)


def test_the_cookie_of_others_is_cheap() -> None:
    """In the one header that the guard reads with more than a comparison."""
    cookie = Growing('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: headway-ab="', "\\\\", '"\r\n\r\n')
    assert growth(_reading(READERS["dashboard"]), cookie) <= TOLERANCE


# --- would it be noticed? ---


def _twice(text: str) -> None:
    [letter for letter in text if text.count(letter) > len(text)]


@pytest.mark.parametrize(
    ("read", "growing"),
    [
        (lambda text: re.sub(r"\x1b(\][^\x07]*\x07|[@-Z\\-_])", "", text), Growing("", "\x1b]")),
        (lambda text: re.fullmatch(r"(?:a|aa)*", text), Growing("", "a", "b")),
        (lambda text: re.fullmatch(r"\d+\.?\d*", text), Growing("", "0", "b")),
        (SimpleCookie, Growing('a="', "\\\\", '"')),
        (_twice, Growing("", "a\n")),
    ],
)
def test_what_grows_too_fast_is_found(
    read: Callable[[str], object], growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.growth.MOST_CPU_S", 1.0)
    assert growth(read, growing) > TOLERANCE


@pytest.mark.parametrize("read", [sorted, str.split, json.loads, re.compile(r"\s+").split])
def test_what_grows_slowly_is_not(read: Callable[[str], object]) -> None:
    assert growth(read, Growing("[1", ", 2", "]")) <= TOLERANCE
