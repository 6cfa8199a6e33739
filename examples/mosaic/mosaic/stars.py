"""The stars of the made sky, and what a telescope makes of a point of light."""

from __future__ import annotations

import numpy as np

from mosaic.frame import COLUMNS, DEFAULT_PITCH_PX, ROWS, Array, Frame
from mosaic.image import Image

STARS_PER_TILE = 420
FAINTEST, BRIGHTEST = 14.0, 30_000.0  # peak counts
CLUSTER, CLUSTER_STARS = (1.58, 1.42), 30  # its place, in tiles
COUNT_SLOPE = 0.95  # of the cumulative number of stars against brightness
CORE_PX, CORE_FALLOFF = 2.6, 2.8  # a Moffat profile: the blur of the air
SPIKE_TURN = 0.30  # the struts of the mirror, in radians
SPIKE_WIDTH_PX, SPIKE_STRENGTH = 1.8, 0.012
HALO_STRENGTH = 0.003
NEGLIGIBLE = 0.05  # counts: where a star's light is given up, far below the noise of a pixel


def blackbody_colour(kelvin: Array) -> Array:
    """Red, green and blue of a glowing body, the brightest of them set to one (Planck's law)."""
    micron = np.array([0.66, 0.54, 0.44])
    light = micron**-5.0 / np.expm1(14_388.0 / (micron * kelvin[..., None]))
    white = micron**-5.0 / np.expm1(14_388.0 / (micron * 6_600.0))
    colour: Array = light / white
    colour /= colour.max(axis=-1, keepdims=True)
    return colour


def scatter(frame: Frame, rng: np.random.Generator) -> Array:
    """The catalogue: one row a star of x, y and the peak counts in the three bands."""
    field = round(STARS_PER_TILE * len(COLUMNS) * len(ROWS) * (frame.pitch_px / DEFAULT_PITCH_PX) ** 2)
    count = field + CLUSTER_STARS
    peak = np.minimum(FAINTEST * rng.random(count) ** (-1 / COUNT_SLOPE), BRIGHTEST)
    kelvin = np.exp(rng.uniform(np.log(3_000), np.log(20_000), count))
    x, y = rng.uniform(0, frame.width_px, count), rng.uniform(0, frame.height_px, count)
    # The young stars that light the nebula: hot, bright and close together.
    peak[field:] = 10 ** rng.uniform(2.3, 4.0, CLUSTER_STARS)
    kelvin[field:] = 22_000
    x[field:], y[field:] = frame.pitch_px * (np.array(CLUSTER) + rng.normal(0, 0.10, (CLUSTER_STARS, 2))).T
    return np.column_stack([x, y, peak[:, None] * blackbody_colour(kelvin)])


def spike_length_px(peak: float) -> float:
    """The distance over which a spike fades by e; it grows with the star, as it does on film."""
    return 5.0 + 0.33 * float(np.sqrt(peak))


def point_spread(u: Array, v: Array, peak: float) -> Array:
    """A point's light at (u, v) pixels from it, relative to its peak.

    A core, and for bright points a halo and four spikes that sink below the noise for all others.
    """
    square = u**2 + v**2
    light: Array = (1 + square / CORE_PX**2) ** -CORE_FALLOFF
    length = spike_length_px(peak)
    cos, sin = np.cos(SPIKE_TURN), np.sin(SPIKE_TURN)
    along, across = np.abs(cos * u + sin * v), np.abs(cos * v - sin * u)
    for near, far in ((along, across), (across, along)):
        light += SPIKE_STRENGTH * np.exp(-near / length - 0.5 * (far / SPIKE_WIDTH_PX) ** 2)
    light += HALO_STRENGTH * np.exp(-np.sqrt(square) / (0.45 * length))
    return light


def reach_px(peak: float) -> float:
    """How far from a star its light still matters."""
    core = CORE_PX * (peak / NEGLIGIBLE) ** (0.5 / CORE_FALLOFF)
    spike = spike_length_px(peak) * np.log(max(SPIKE_STRENGTH * peak / NEGLIGIBLE, 1.0))
    return float(max(core, spike))


def shine(image: Image, catalogue: Array) -> None:
    """Add every star that reaches into the image to its pixels."""
    height, width = image.pixels.shape[:2]
    scale = np.linalg.svd(np.array(image.wcs.matrix), compute_uv=False)[-1]
    columns, rows = image.wcs.to_pixel(catalogue[:, 0], catalogue[:, 1])
    for (x, y, *colours), column, row in zip(catalogue, columns, rows, strict=True):
        reach = reach_px(max(colours)) / scale
        left, right = max(0, int(column - reach)), min(width, int(column + reach) + 2)
        top, bottom = max(0, int(row - reach)), min(height, int(row + reach) + 2)
        if left < right and top < bottom:
            sky_x, sky_y = image.wcs.to_sky(np.arange(left, right)[None, :], np.arange(top, bottom)[:, None])
            light = point_spread(sky_x - x, sky_y - y, max(colours))
            image.pixels[top:bottom, left:right] += light[..., None] * np.array(colours)
