"""From counts to a picture: shrink (mShrink), stretch and colour (mJPEG), and write as PNG."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from mosaic.frame import Array
from mosaic.image import Image

SHRINK = 3
SOFTENING = 22.0  # counts above which the stretch turns from linear to logarithmic
WHITE = 1_400.0  # counts that are shown as full brightness


def shrink(image: Image, factor: int = SHRINK) -> Image:
    """Averages over squares of ``factor`` x ``factor`` pixels; a rest at the right and bottom is dropped."""
    height, width = (side // factor for side in image.pixels.shape[:2])
    squares = image.pixels[: height * factor, : width * factor]
    small = squares.reshape(height, factor, width, factor, -1).mean(axis=(1, 3), dtype=np.float32)
    return Image(small, image.wcs.every(factor))


def darkness(counts: Array) -> Array:
    """The plane that all tiles share, in each band: it cannot be found from the tiles, and would spoil the picture.

    Fitted to the dark end of squares of the picture by asymmetric least squares: what lies above the
    plane is light and hardly pulls at it, so that it settles on the empty sky between the lights.
    """
    side = counts.shape[0] // 9
    squares = [(i, j) for i in range(0, counts.shape[0], side) for j in range(0, counts.shape[1], side)]
    cut = [counts[i : i + side, j : j + side] for i, j in squares]
    dark = np.array([np.nanpercentile(square, 10, axis=(0, 1)) for square in cut])
    basis = np.array([(1, i + side / 2, j + side / 2) for i, j in squares])
    planes = []
    for band in dark.T:
        weight = np.ones(len(squares))
        for _ in range(30):
            plane = np.linalg.solve(weight * basis.T @ basis, weight * basis.T @ band)
            weight = np.where(band > basis @ plane, 0.01, 1.0)
        planes.append(plane)
    rows, columns = np.indices(counts.shape[:2])
    return np.stack([a + b * rows + c * columns for a, b, c in planes], axis=-1)


def stretch(counts: Array) -> Array:
    """Colours from 0 to 1 (R. Lupton et al., "Preparing red-green-blue images from CCD data", 2004).

    The inverse hyperbolic sine of the *mean* of the bands sets the brightness and all bands are scaled
    by the same number, so that a star's colour survives where its single bands would all be white.
    """
    light = np.nan_to_num(np.clip(counts - darkness(counts), 0, None))
    mean = light.mean(axis=-1, keepdims=True) + 1e-6
    colour: Array = light * (np.arcsinh(mean / SOFTENING) / np.arcsinh(WHITE / SOFTENING) / mean)
    brightest = colour.max(axis=-1, keepdims=True)
    excess = np.clip(brightest - 1, 0, None)
    colour /= np.maximum(brightest, 1)
    colour += (1 - colour) * (1 - np.exp(-1.2 * excess))  # the very brightest fade to white
    return colour


def write_png(path: Path, colours: Array) -> None:
    """Eight bits a channel, no dependency: a PNG is three chunks around a zlib stream."""
    rows = np.round(255 * np.clip(colours, 0, 1)).astype(np.uint8)
    height, width = rows.shape[:2]
    # Each line begins with its filter; 2 stores differences to the line above, which pack much better.
    differences = np.diff(rows.reshape(height, -1), axis=0, prepend=np.zeros((1, width * 3), np.uint8))
    lines = np.insert(differences, 0, 2, axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)), chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
