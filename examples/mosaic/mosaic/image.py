"""Images: a cube of three bands, where each of its pixels lies on the sky, and the file that holds both."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from mosaic.frame import Array

BANDS = 3  # red, green, blue


@dataclass(frozen=True)
class Wcs:
    """A linear world coordinate system: pixel (column, row) lies at ``origin + matrix @ (column, row)``."""

    origin: tuple[float, float]
    matrix: tuple[tuple[float, float], tuple[float, float]] = ((1.0, 0.0), (0.0, 1.0))

    @classmethod
    def centred(cls, centre: tuple[float, float], size_px: int, scale: float, turn: float) -> Wcs:
        """For a square tile whose middle lies at ``centre``, turned by ``turn`` radians."""
        cos, sin = scale * np.cos(turn), scale * np.sin(turn)
        middle = (size_px - 1) / 2
        origin = (centre[0] - middle * (cos - sin), centre[1] - middle * (sin + cos))
        return cls(origin, ((cos, -sin), (sin, cos)))

    def to_sky(self, column: Array, row: Array) -> tuple[Array, Array]:
        (a, b), (c, d) = self.matrix
        return self.origin[0] + a * column + b * row, self.origin[1] + c * column + d * row

    def to_pixel(self, x: Array, y: Array) -> tuple[Array, Array]:
        (a, b), (c, d) = self.matrix
        determinant = a * d - b * c
        u, v = x - self.origin[0], y - self.origin[1]
        return (d * u - b * v) / determinant, (a * v - c * u) / determinant

    def every(self, step: int) -> Wcs:
        """The same coordinates for an image of which only every ``step``-th pixel is kept."""
        (a, b), (c, d) = self.matrix
        return Wcs(self.origin, ((a * step, b * step), (c * step, d * step)))


@dataclass(frozen=True)
class Image:
    """Pixels as (row, column, band) in float32, NaN where nothing was seen, and their place on the sky."""

    pixels: Array
    wcs: Wcs

    def sky_grid(self) -> tuple[Array, Array]:
        """The sky coordinates of every pixel."""
        height, width = self.pixels.shape[:2]
        return self.wcs.to_sky(np.arange(width)[None, :], np.arange(height)[:, None])

    def save(self, path: Path) -> None:
        header = {"shape": self.pixels.shape, "wcs": asdict(self.wcs)}
        np.savez(path, header=json.dumps(header), pixels=self.pixels.astype(np.float32, copy=False))

    @classmethod
    def load(cls, path: Path) -> Image:
        with np.load(path) as file:
            wcs = json.loads(str(file["header"]))["wcs"]
            (x, y), ((a, b), (c, d)) = wcs["origin"], wcs["matrix"]
            return cls(file["pixels"], Wcs((x, y), ((a, b), (c, d))))


def read_origin_and_shape(path: Path) -> tuple[list[float], list[int]]:
    """A file's place and size without reading its pixels: an .npz holds the header as a member of its own."""
    with np.load(path) as file:
        header = json.loads(str(file["header"]))
    return header["wcs"]["origin"], header["shape"]
