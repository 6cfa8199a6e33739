"""The telescope: exposures of the made sky, each with its own pointing, background and noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mosaic.frame import Array, Frame, tiles
from mosaic.image import BANDS, Image, Wcs
from mosaic.sky import SEED, Sky

SIDE = 1.19  # of a tile, in tiles: what is beyond 1 overlaps with the neighbours
READ_NOISE = 2.0  # counts a pixel
GAIN = 12.0  # electrons a count


@dataclass(frozen=True)
class Pointing:
    """Where a tile looks and what the atmosphere adds to it: a plane of its own in every band."""

    wcs: Wcs
    side_px: int
    background: Array  # (3 plane coefficients, bands), in the frame's basis


def pointing(frame: Frame, tile: str) -> Pointing:
    """The same for a tile at every call, so that tests may know the truth."""
    rng = np.random.default_rng([SEED, tiles().index(tile)])
    side_px = round(SIDE * frame.pitch_px)
    x, y = frame.tile_centre(tile) + rng.uniform(-0.015, 0.015, 2) * frame.pitch_px
    wcs = Wcs.centred((x, y), side_px, rng.uniform(0.985, 1.015), np.radians(rng.uniform(-4, 4)))
    offset = rng.uniform(-22, 22) + rng.uniform(-6, 6, BANDS)  # moonlight in all bands, airglow in each
    slopes = rng.uniform(-14, 14, (2, BANDS))
    # The slopes turn about the tile's own centre, the basis about the frame's.
    _, across, down = frame.plane_basis(np.array(x), np.array(y))
    return Pointing(wcs, side_px, np.vstack([offset - across * slopes[0] - down * slopes[1], slopes]))


def noise(counts: Array) -> Array:
    """The standard deviation of a pixel: the detector's own noise, and that of counting photons."""
    return np.sqrt(READ_NOISE**2 + np.clip(counts, 0, None) / GAIN)


def observe(sky: Sky, frame: Frame, tile: str) -> Image:
    """One exposure."""
    plan = pointing(frame, tile)
    image = sky.render(plan.wcs, plan.side_px, plan.side_px)
    rng = np.random.default_rng([SEED, tiles().index(tile), 1])
    image.pixels[...] += noise(image.pixels) * rng.standard_normal(image.pixels.shape, np.float32)
    image.pixels[...] += frame.plane_basis(*image.sky_grid()) @ plan.background
    return image
