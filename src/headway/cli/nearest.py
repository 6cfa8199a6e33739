"""The name that somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

# Comparing a misspelt name with 100,000 others takes seconds; among so many the first ones must do.
_MOST_COMPARED = 5000


def nearest(word: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """`did you mean …?`, or else the first few names after `otherwise`."""
    names = list(dict.fromkeys(known))
    folded = {name.casefold(): name for name in names}
    if word.casefold() in folded:
        return f"did you mean {folded[word.casefold()]!r}?"
    similar = sorted(names, key=lambda name: abs(len(name) - len(word))) if len(names) > _MOST_COMPARED else names
    near = get_close_matches(word, islice(similar, _MOST_COMPARED), n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(repr(name) for name in near)}?"
    if not names or not otherwise:
        return ""
    return f"{otherwise} {', '.join(names[:8])}{', …' if len(names) > 8 else ''}"
