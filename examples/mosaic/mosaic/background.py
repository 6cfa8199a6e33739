"""Backgrounds: what neighbouring tiles say about each other (mDiffFit), and what follows (mBgModel)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mosaic.frame import Array, Frame
from mosaic.image import BANDS, Image

CLIP_SIGMA = 3.0
CLIP_ROUNDS = 3


@dataclass(frozen=True)
class Fit:
    """A plane through the difference of two tiles.

    ``moments`` are the sums over the overlap of the products of the basis functions. They tell a fit's
    weight: a long thin overlap knows the slope along it well and the one across it badly.
    """

    pair: str
    plane: Array  # (3 plane coefficients, bands)
    moments: Array  # (3, 3)
    rms: float

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Fit:
        return cls(row["pair"], np.array(row["plane"]), np.array(row["moments"]), row["rms"])


def overlap(first: Image, second: Image) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """The rectangle common to two projected tiles, as slices into either."""

    def origin_and_end(image: Image) -> tuple[Array, Array]:
        origin = np.round(image.wcs.origin[::-1]).astype(int)  # (row, column), as pixels are indexed
        return origin, origin + image.pixels.shape[:2]

    (start_1, end_1), (start_2, end_2) = origin_and_end(first), origin_and_end(second)
    start = np.maximum(start_1, start_2)
    end = np.maximum(np.minimum(end_1, end_2), start)

    def cut(origin: Array) -> tuple[slice, slice]:
        (top, left), (bottom, right) = start - origin, end - origin
        return slice(top, bottom), slice(left, right)

    return cut(start_1), cut(start_2)


def fit_plane(basis: Array, values: Array) -> tuple[Array, Array, float]:
    """The plane (a column a band) through ``values``, the moments of the points it rests on, and their rms.

    Points that lie far off are left out and the fit is done again, as Montage's mFitplane does: where
    stars are steep, the difference of two resampled tiles says more about resampling than background.
    """
    kept = np.isfinite(values).all(axis=-1)
    for _ in range(CLIP_ROUNDS):
        points, wanted = basis[kept], values[kept]
        moments = points.T @ points
        plane = np.linalg.solve(moments, points.T @ wanted)
        rms = np.sqrt(np.mean((wanted - points @ plane) ** 2))
        kept = (np.abs(values - basis @ plane) < CLIP_SIGMA * rms).all(axis=-1)
    return plane, moments, float(rms)


def diff_fit(pair: str, first: Image, second: Image, frame: Frame) -> Fit:
    """The plane by which the first tile is brighter than the second."""
    here, there = overlap(first, second)
    x, y = first.sky_grid()
    basis = frame.plane_basis(x[here], y[here])
    difference = first.pixels[here] - second.pixels[there]
    return Fit(pair, *fit_plane(basis.reshape(-1, 3), difference.reshape(-1, BANDS)))


def model(fits: list[Fit]) -> dict[str, Array]:
    """The plane to take off each tile so that all differences vanish as well as they can.

    Least squares over the pixels of all overlaps: for a pair, the sum over its pixels of the squared
    rest of the plane d is d' M d with M the moments, hence the rows are weighted by M's Cholesky
    factor. Differences leave one plane common to all tiles open; of all solutions lstsq gives the
    smallest, so the mosaic keeps the tiles' average background.
    """
    names = sorted({tile for fit in fits for tile in fit.pair.split("-")})
    rows = np.zeros((len(fits), 3, len(names), 3))
    wanted = np.zeros((len(fits), 3, BANDS))
    for equation, fit in enumerate(fits):
        root = np.linalg.cholesky(fit.moments).T
        first, second = (names.index(tile) for tile in fit.pair.split("-"))
        rows[equation, :, first], rows[equation, :, second] = root, -root
        wanted[equation] = root @ fit.plane
    solution, *_ = np.linalg.lstsq(rows.reshape(3 * len(fits), -1), wanted.reshape(-1, BANDS), rcond=1e-9)
    return dict(zip(names, solution.reshape(len(names), 3, BANDS), strict=True))


def correct(image: Image, plane: Array, frame: Frame) -> Image:
    """The tile without its background plane (mBackground)."""
    return Image(image.pixels - frame.plane_basis(*image.sky_grid()) @ plane, image.wcs)
