"""Remove secrets from the text and the records of a bundle."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headway.model.records import REMOVED

__all__ = ["REMOVED", "Scrubber", "masked"]

_NAMES = r"pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential"
_VALUE = r"(?!\(removed\))(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s&,;\"'}\])]+)"
# Repetitions are bounded: a log may hold a line of a million characters.
_PATTERNS = [
    # keys and certificates, also if the end is missing
    (re.compile(r"-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\Z)", re.DOTALL), REMOVED),
    # scheme://user:password@host, and scheme://token@host
    (re.compile(r"(://[^\s/@:\"']{0,200}):[^\s/\"']{1,500}@"), rf"\1:{REMOVED}@"),
    (re.compile(r"(://)[^\s/@:\"']{16,500}@"), rf"\1{REMOVED}@"),
    # addresses of webhooks, with which anyone may write there
    (re.compile(r"(://[^\s/\"']{0,200}hook[^\s/\"']{0,200}/)(?!\(removed)[^\s\"']{1,500}"), rf"\1{REMOVED}"),
    (re.compile(r"(://[^\s\"']{1,120}/(?:web)?hooks?/)(?!\(removed)[^\s\"']{1,500}"), rf"\1{REMOVED}"),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {REMOVED}"),
    # PASSWORD=…, "token": "…", --api-key …
    (
        re.compile(rf"((?:{_NAMES})[\w.-]{{0,60}}[\"']?\s{{0,9}}[=:]\s{{0,9}})(?:{_VALUE})", re.IGNORECASE),
        rf"\1{REMOVED}",
    ),
    (
        re.compile(rf"((?<![\w-])--?[\w-]{{0,60}}?(?:{_NAMES})[\w-]{{0,60}}\s{{1,9}})(?:{_VALUE})", re.IGNORECASE),
        rf"\1{REMOVED}",
    ),
    # tokens of known formats
    (
        re.compile(
            r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|AKIA[0-9A-Z]{16}|xox[abprs]-[\w-]{10,}"
            r"|sk-[\w-]{20,}|hf_\w{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
        ),
        REMOVED,
    ),
]
# Nearly all texts match none of the patterns, and one search tells.
_SUSPICIOUS = re.compile(
    rf"-----BEGIN|://|bearer|basic|{_NAMES}|gh[pousr]_|github_pat_|glpat-|AKIA|xox[abprs]-|sk-|hf_|eyJ", re.IGNORECASE
)
_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)
_SHORTEST = 8  # a known value that is shorter is too common to be searched for
_SHORTEST_SECRET = 4  # if its name suggests a secret


def masked(name: str, value: str) -> str:
    """Return the value of a setting or variable without secrets; if its name suggests a secret, nothing of it stays.

    >>> masked("history", "postgresql://me:pa55@host/db"), masked("api_token", "x"), masked("genome", "hg38")
    ('postgresql://me:(removed)@host/db', '(removed)', 'hg38')
    """
    return REMOVED if value and _SECRET_NAME.search(name) else Scrubber().text(value)


class Scrubber:
    """Removes text that matches patterns of secrets, and values that it was told with `learn`."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._lengths: dict[str, list[int]] = {}  # lengths of the values with this beginning, longest first
        self.removed = 0

    def learn(self, environment: Mapping[str, str], *, only_secrets: bool = False) -> None:
        """Remove the values of variables from now on; with `only_secrets`, only if the name suggests a secret."""
        for name, value in environment.items():
            is_secret = _SECRET_NAME.search(name) is not None
            if len(value) >= (_SHORTEST_SECRET if is_secret else _SHORTEST) and (is_secret or not only_secrets):
                self._values.add(value)
                lengths = self._lengths.setdefault(value[:_SHORTEST_SECRET], [])
                if len(value) not in lengths:
                    lengths.append(len(value))
                    lengths.sort(reverse=True)

    def text(self, text: str) -> str:
        """The text without secrets."""
        if self._values:
            text = self._without_known(text)
        if not _SUSPICIOUS.search(text):
            return text
        for pattern, instead in _PATTERNS:
            text, count = pattern.subn(instead, text)
            self.removed += count
        return text

    def _without_known(self, text: str) -> str:
        """Remove known values by their beginnings: 100,000 tasks may have a value each, too many for a pattern."""
        size, beginnings = _SHORTEST_SECRET, self._lengths
        kept: list[str] = []
        done = 0
        for at in [at for at in range(len(text) - size + 1) if text[at : at + size] in beginnings]:
            for length in beginnings[text[at : at + size]] if at >= done else ():
                if text[at : at + length] in self._values:
                    kept += [text[done:at], REMOVED]
                    done = at + length
                    self.removed += 1
                    break
        return "".join([*kept, text[done:]])

    def record(self, value: Any, name: str = "") -> Any:
        """Return a JSON value without its secrets."""
        if name == "environment" and value:
            self.removed += 1
            return dict.fromkeys(value, REMOVED) if isinstance(value, dict) else REMOVED
        if isinstance(value, str):
            if _SECRET_NAME.search(name) and value:
                self.removed += 1
                return REMOVED
            return self.text(value)
        if isinstance(value, dict):
            return {self._key(key): self.record(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [self.record(each) for each in value]
        return value

    def _key(self, key: str) -> str:
        """Return a key without secrets; most keys are names of fields, which need no search."""
        return key if key.isidentifier() and key not in self._values else self.text(key)
