"""What must not leave the house with a support request: secrets, taken out of text and records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

REMOVED = "(removed)"

_NAMES = r"pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential"
_VALUE = r"\"[^\"\n]*\"|'[^'\n]*'|[^\s&,;\"'}\])]+"
_PATTERNS = [
    # keys and certificates, also if the end is missing
    (re.compile(r"-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\Z)", re.DOTALL), REMOVED),
    # scheme://user:password@host, and scheme://token@host
    (re.compile(r"\b([a-z][a-z0-9+.-]*://[^\s/@:\"']*):[^\s/\"']+@", re.IGNORECASE), rf"\1:{REMOVED}@"),
    (re.compile(r"\b(https?://)[^\s/@:\"']{16,}@", re.IGNORECASE), rf"\1{REMOVED}@"),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {REMOVED}"),
    # PASSWORD=…, "token": "…", --api-key …
    (re.compile(rf"([\w.-]*(?:{_NAMES})[\w.-]*[\"']?\s*[=:]\s*)(?:{_VALUE})", re.IGNORECASE), rf"\1{REMOVED}"),
    (re.compile(rf"(--?[\w-]*(?:{_NAMES})[\w-]*\s+)(?:{_VALUE})", re.IGNORECASE), rf"\1{REMOVED}"),
    # tokens that are known by their looks
    (
        re.compile(
            r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|AKIA[0-9A-Z]{16}|xox[abprs]-[\w-]{10,}"
            r"|sk-[\w-]{20,}|hf_\w{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
        ),
        REMOVED,
    ),
]
_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)
_SHORTEST = 8  # a known value that is shorter is too common to be looked for in text
_SHORTEST_SECRET = 4  # where its name says that it is one


class Scrubber:
    """Takes secrets out. It knows patterns, and values that it was told: these it finds wherever they stand."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self.removed = 0

    def learn(self, environment: Mapping[str, str], *, only_secrets: bool = False) -> None:
        """The values of variables, or of those whose names tell of a secret, are looked for from now on."""
        for name, value in environment.items():
            is_secret = _SECRET_NAME.search(name) is not None
            if len(value) >= (_SHORTEST_SECRET if is_secret else _SHORTEST) and (is_secret or not only_secrets):
                self._values.add(value)
                self._known = None

    def text(self, text: str) -> str:
        """The text without secrets."""
        if self._values:
            if self._known is None:
                longest_first = sorted(self._values, key=lambda value: (-len(value), value))
                self._known = re.compile("|".join(map(re.escape, longest_first)))
            text, count = self._known.subn(REMOVED, text)
            self.removed += count
        for pattern, instead in _PATTERNS:
            text, count = pattern.subn(instead, text)
            self.removed += count
        return text

    def record(self, value: Any, name: str = "") -> Any:
        """A JSON value without secrets: it stays a JSON value."""
        if name == "environment" and value:
            self.removed += 1
            return dict.fromkeys(value, REMOVED) if isinstance(value, dict) else REMOVED
        if isinstance(value, str):
            if _SECRET_NAME.search(name) and value:
                self.removed += 1
                return REMOVED
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.record(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [self.record(each) for each in value]
        return value
