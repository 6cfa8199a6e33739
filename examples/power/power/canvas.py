"""A canvas to draw on, and the PNG that it is saved as: numpy and zlib, nothing else."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from power import font
from power.period import Array

Colour = tuple[float, float, float]


class Canvas:
    """Pixels of red, green and blue from 0 to 1; (x, y) counts from the top left."""

    def __init__(self, width: int, height: int, colour: Colour) -> None:
        self.pixels = np.full((height, width, 3), colour)

    def fill(self, x: int, y: int, width: int, height: int, colour: Colour, cover: float = 1.0) -> None:
        part = self.pixels[y : y + height, x : x + width]
        part += cover * (np.array(colour) - part)

    def image(self, x: int, y: int, pixels: Array) -> None:
        self.pixels[y : y + pixels.shape[0], x : x + pixels.shape[1]] = pixels

    def text(self, x: int, y: int, text: str, colour: Colour, scale: int = 2, align: float = 0.0) -> None:
        """``align`` is the share of the text's width that lies left of x."""
        mask = np.kron(font.dots(text), np.ones((scale, scale), bool))
        left = x - round(align * mask.shape[1])
        part = self.pixels[y : y + mask.shape[0], left : left + mask.shape[1]]
        part[mask[: part.shape[0], : part.shape[1]]] = colour  # what would lie beyond the edge is cut off

    def line(self, xs: Array, ys: Array, colour: Colour, width: float = 2.0) -> None:
        """Through all points; each pixel is covered as far as it lies within half the width of a piece."""
        height, across = self.pixels.shape[:2]
        for x0, y0, x1, y1 in zip(xs[:-1], ys[:-1], xs[1:], ys[1:], strict=True):
            left, right = max(0, int(min(x0, x1) - width - 1)), min(across, int(max(x0, x1) + width + 2))
            top, bottom = max(0, int(min(y0, y1) - width - 1)), min(height, int(max(y0, y1) + width + 2))
            y, x = np.mgrid[top:bottom, left:right]
            dx, dy = x1 - x0, y1 - y0
            along = np.clip(((x - x0) * dx + (y - y0) * dy) / max(dx * dx + dy * dy, 1e-9), 0, 1)
            distance = np.hypot(x - x0 - along * dx, y - y0 - along * dy)
            self.blend(left, top, np.clip(width / 2 + 0.5 - distance, 0, 1), colour)

    def ring(self, x: float, y: float, radius: float, colour: Colour, width: float = 2.0) -> None:
        turn = np.linspace(0, 2 * np.pi, 40)
        self.line(x + radius * np.cos(turn), y + radius * np.sin(turn), colour, width)

    def blend(self, x: int, y: int, cover: Array, colour: Colour) -> None:
        part = self.pixels[y : y + cover.shape[0], x : x + cover.shape[1]]
        part += cover[..., None] * (np.array(colour) - part)

    def save(self, path: Path) -> None:
        """Eight bits a channel: a PNG is three chunks around a zlib stream."""
        rows = np.round(255 * np.clip(self.pixels, 0, 1)).astype(np.uint8)
        height, width = rows.shape[:2]
        lines = np.insert(rows.reshape(height, -1), 0, 0, axis=1)  # each line begins with its filter: none

        def chunk(kind: bytes, data: bytes) -> bytes:
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        chunks = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)), chunk(b"IEND", b"")
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
