"""A canvas of pixels with a round pen, smooth edges and labels, and its file as PNG."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from match import letters
from match.sequences import Array

Colour = tuple[float, float, float]  # red, green, blue from 0 to 1


class Canvas:
    """x to the right and y downwards, in pixels from the upper left corner."""

    def __init__(self, width: int, height: int, colour: Colour) -> None:
        self.pixels = np.full((height, width, 3), colour, np.float32)

    def _blend(self, x: int, y: int, cover: Array, colour: Colour) -> None:
        part = self.pixels[y : y + cover.shape[0], x : x + cover.shape[1]]
        part += cover[..., None] * (np.asarray(colour, np.float32) - part)

    def _box(self, points: Array, reach: float) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of what a pen of that reach can touch, within the canvas."""
        height, width = self.pixels.shape[:2]
        left, top = np.clip(np.floor(points.min(axis=0) - reach), 0, (width, height)).astype(int).tolist()
        right, bottom = np.clip(np.ceil(points.max(axis=0) + reach) + 1, 0, (width, height)).astype(int).tolist()
        return left, top, right, bottom

    def line(
        self, points: Sequence[tuple[float, float]] | Array, colour: Colour, pen: float = 2, opaque: float = 1
    ) -> None:
        """A way of a round pen; where it crosses itself it is not painted twice."""
        way = np.asarray(points, float)
        left, top, right, bottom = self._box(way, pen)
        cover = np.zeros((bottom - top, right - left), np.float32)
        for start, end in pairwise(way):
            x0, y0, x1, y1 = self._box(np.stack([start, end]), pen)
            x, y = np.arange(x0, x1) - start[0], (np.arange(y0, y1) - start[1])[:, None]
            along = end - start
            nearest = np.clip((x * along[0] + y * along[1]) / max(float(along @ along), 1e-9), 0, 1)
            distance = np.hypot(x - nearest * along[0], y - nearest * along[1])
            part = cover[y0 - top : y1 - top, x0 - left : x1 - left]
            np.maximum(part, np.clip(pen / 2 + 0.5 - distance, 0, 1), out=part)
        self._blend(left, top, opaque * cover, colour)

    def dot(self, x: float, y: float, colour: Colour, size: float, opaque: float = 1) -> None:
        self.line([(x, y), (x, y)], colour, size, opaque)

    def box(self, left: float, top: float, right: float, bottom: float, colour: Colour, opaque: float = 1) -> None:
        """A filled rectangle, on whole pixels."""
        x0, y0, x1, y1 = (round(each) for each in (left, top, right, bottom))
        self._blend(x0, y0, np.full((max(y1 - y0, 0), max(x1 - x0, 0)), opaque, np.float32), colour)

    def text(self, x: float, y: float, words: str, colour: Colour, size: float = 15, align: float = 0) -> None:
        """On the base line y, capitals ``size`` pixels high; ``align`` 0 begins at x, 0.5 is centred, 1 ends there."""
        scale = size / (letters.CAPITAL - letters.BASELINE)
        at = x - align * self.text_width(words, size)
        for letter in words:
            for way in letters.strokes(letter):
                self.line(way * (scale, -scale) + (at, y + letters.BASELINE * scale), colour, pen=max(1.2, size / 8))
            at += scale * (letters.width(letter) + letters.APART)

    @staticmethod
    def text_width(words: str, size: float) -> float:
        units = sum(letters.width(letter) + letters.APART for letter in words) - letters.APART
        return units * size / (letters.CAPITAL - letters.BASELINE)

    def save(self, path: Path) -> None:
        """Eight bits a channel, no dependency: a PNG is three chunks around a zlib stream."""
        rows = np.round(255 * np.clip(self.pixels, 0, 1)).astype(np.uint8)
        height, width = rows.shape[:2]
        lines = np.insert(rows.reshape(height, -1), 0, 0, axis=1)  # each begins with its filter, here none

        def chunk(kind: bytes, data: bytes) -> bytes:
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        chunks = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)), chunk(b"IEND", b"")
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
