"""Stitching: the table of what there is (mImgtbl), and the mean of it all (mAdd)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mosaic.frame import Frame
from mosaic.image import BANDS, Image, Wcs, read_origin_and_shape


@dataclass(frozen=True)
class Entry:
    """One tile in the image table: its file and the corner of the frame that it belongs to."""

    path: str
    left: int
    top: int
    width: int
    height: int


def image_table(paths: list[Path]) -> list[Entry]:
    """The table of projected tiles, made from their headers alone."""
    table = []
    for path in paths:
        (left, top), (height, width, _) = read_origin_and_shape(path)
        table.append(Entry(str(path), round(left), round(top), width, height))
    return table


def add(table: list[Entry], frame: Frame) -> Image:
    """The mean, at every pixel of the frame, of the tiles that saw it.

    The frame is held whole, in double precision: that is what makes this the workflow's stage with the
    large memory. Tiles are read one after the other.
    """
    total = np.zeros((frame.height_px, frame.width_px, BANDS))
    count = np.zeros((frame.height_px, frame.width_px, 1))
    for entry in table:
        place = np.s_[entry.top : entry.top + entry.height, entry.left : entry.left + entry.width]
        pixels = Image.load(Path(entry.path)).pixels
        seen = np.isfinite(pixels).all(axis=-1, keepdims=True)
        total[place] += np.where(seen, pixels, 0)
        count[place] += seen
    total /= np.where(count, count, np.nan)
    return Image(total.astype(np.float32), Wcs((0, 0)))
