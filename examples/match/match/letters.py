"""A pen's letters, so that pictures can be labelled without a font.

A letter is a few strokes; a point is two hexadecimal digits, x to the right and y upwards. The base line lies at 4, the
height of an x at a and that of a capital at d. ``~`` before a stroke rounds its corners, ``@`` closes it as well.
"""

from __future__ import annotations

import numpy as np

from match.sequences import Array

BASELINE, CAPITAL = 4, 13
SPACE = 3.0  # the width of a blank
APART = 2.0  # between letters

STROKES = {
    "a": "@04545a0a 5a54",
    "b": "@04545a0a 0d04",
    "c": "~595a0a045455",
    "d": "@04545a0a 5d54",
    "e": "0757 ~575a0a045455",
    "f": "~4d2d2a 2a24 0a4a",
    "g": "@04545a0a ~5a510102",
    "h": "0d04 ~070a5a54",
    "i": "0a04 0d0d",
    "j": "~2a2101 2d2d",
    "k": "0d04 4a0744",
    "l": "0d04",
    "m": "0a04 ~070a3a34 ~373a6a64",
    "n": "0a04 ~070a5a54",
    "o": "@04545a0a",
    "p": "@04545a0a 0a01",
    "q": "@04545a0a 5a51",
    "r": "0a04 ~070a4a",
    "s": "~595a0a0757540405",
    "t": "~2d2444 0a4a",
    "u": "~0a045457 5a54",
    "v": "0a244a",
    "w": "0a143a546a",
    "x": "0a54 5a04",
    "y": "0a24 4a11",
    "z": "0a5a0454",
    "E": "5d0d0454 0949",
    "0": "@04545d0d",
    "1": "0b2d24",
    "2": "~0b0d5d5904 0454",
    "3": "~0c0d5d5929 ~2959540405",
    "4": "444d0757",
    "5": "5d0d09 ~090a5a540405",
    "6": "@04545a0a ~4d0d07",
    "7": "0d5d14",
    "8": "@04545909 @09595d0d",
    "9": "@0d5d5808 ~5a5414",
    ".": "0414 0515",
    ",": "0515 0414 1403",
    ":": "0414 0515 0919 0a1a",
    "%": "@0b2b2d0d @34545636 5d04",
    "-": "0848",
    "<": "5a0754",
    "=": "0656 0959",
}


def strokes(letter: str) -> list[Array]:
    """The pen's ways, each an array of points; those of a blank are none."""
    return [_way(code) for code in STROKES.get(letter, "").split()]


def width(letter: str) -> float:
    ways = strokes(letter)
    return max(float(way[:, 0].max()) for way in ways) if ways else SPACE


def _way(code: str) -> Array:
    digits = [int(digit, 16) for digit in code.lstrip("~@")]
    points = np.array(digits, float).reshape(-1, 2)
    if code[0] == "@":
        points = np.concatenate([points, points[:2]])
    if code[0] in "~@":
        for _ in range(3):
            points = _rounder(points, closed=code[0] == "@")
    return points


def _rounder(points: Array, closed: bool) -> Array:
    """Cuts every corner (G. Chaikin, 1974); an open way keeps its ends."""
    quarter = 0.75 * points[:-1] + 0.25 * points[1:]
    cut = np.stack([quarter, 0.25 * points[:-1] + 0.75 * points[1:]], axis=1).reshape(-1, 2)
    return np.concatenate([cut, cut[:2]])[: len(cut) + 1] if closed else np.concatenate([points[:1], cut, points[-1:]])
