"""The diffuse part of the made sky: a nebula with dust in front of it, and galaxies far behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mosaic.frame import Array, Frame
from mosaic.image import Image, Wcs
from mosaic.resample import interpolate

CELL_PX = 3  # one cell of the diffuse sky: clouds have no detail finer than a few pixels of the mosaic
MARGIN = 0.3  # in tiles: how far the painted sky reaches beyond the frame, for tiles that point outwards


def colour(red: float, green: float, blue: float) -> Array:
    """In single precision, as all of this module: it is a painting, and a large one."""
    return np.array([red, green, blue], np.float32)


HYDROGEN = colour(1.00, 0.26, 0.30)  # the red rim
SULPHUR = colour(1.00, 0.58, 0.20)  # the golden filaments
OXYGEN = colour(0.12, 0.62, 0.80)  # the teal inside
SCATTERED = colour(0.20, 0.42, 1.00)  # starlight reflected by dust
OPACITY = colour(0.75, 1.00, 1.35)  # dust reddens


@dataclass(frozen=True)
class Galaxy:
    """A spiral seen at an angle. Lengths are in tiles."""

    x: float
    y: float
    radius: float
    flatness: float  # 1 is face on, 0 edge on
    turn: float
    winding: float  # of the arms; larger is tighter
    brightness: float


GALAXIES = (
    Galaxy(3.24, 0.74, 0.170, 0.74, 0.6, 5.2, 260.0),
    Galaxy(3.52, 2.42, 0.105, 0.24, -0.5, 4.6, 240.0),
    Galaxy(0.33, 0.38, 0.050, 0.55, 1.9, 4.4, 210.0),
    Galaxy(2.62, 2.72, 0.030, 0.80, 0.2, 4.0, 190.0),
    Galaxy(3.78, 1.62, 0.028, 0.35, 2.4, 4.0, 170.0),
)


def cloud(rng: np.random.Generator, x: Array, coarsest: float, steepness: float) -> Array:
    """Fractal noise of unit variance: white noise whose spectrum is bent to a power law.

    ``coarsest`` is the largest wavelength in tiles. The finest detail is faded out at a few cells, so
    that the sky is smooth on the scale of a pixel and may be sampled anywhere.
    """
    cell = x[0, 1] - x[0, 0]
    height, width = x.shape
    frequency = np.hypot(np.fft.fftfreq(height, cell)[:, None], np.fft.rfftfreq(width, cell)[None, :])
    gain = (frequency**2 + coarsest**-2) ** (-steepness / 2) * np.exp(-((2.2 * cell * frequency) ** 2))
    gain[0, 0] = 0.0  # no mean
    white = rng.standard_normal(x.shape, np.float32)
    noise: Array = np.fft.irfft2(np.fft.rfft2(white) * gain.astype(np.float32), x.shape)
    noise /= noise.std()
    return noise


def drift(fields: Array, dx: Array, dy: Array) -> Array:
    """``fields`` (on the last axis) carried along by a flow given in cells: what turns fog into wisps."""
    height, width = fields.shape[:2]
    column = np.clip(np.arange(width)[None, :] + dx, 1, width - 3)
    row = np.clip(np.arange(height)[:, None] + dy, 1, height - 3)
    return interpolate(fields, column, row)


def nebula(rng: np.random.Generator, x: Array, y: Array) -> Array:
    """Gas lit from within: teal where it is hottest, golden filaments, a red rim, and dust in front."""
    cells_per_tile = 1 / (x[0, 1] - x[0, 0])
    flow_x, flow_y = (0.10 * cells_per_tile * cloud(rng, x, 0.8, 2.6) for _ in range(2))
    still = np.stack([cloud(rng, x, size, 2.0) for size in (1.4, 0.7, 0.5, 0.22, 1.1)], axis=-1)
    fog, coarse, middle, fine, dust = np.moveaxis(drift(still, flow_x, flow_y), -1, 0)

    # Where noise changes its sign it makes curves: threads of gas, the finer ones strung along the coarser.
    threads = np.exp(-2.2 * np.abs(coarse))
    threads = threads * (0.45 + 0.9 * np.exp(-2.6 * np.abs(middle)) + 0.7 * np.exp(-2.6 * np.abs(fine)))
    gas = np.exp(0.55 * fog) * (0.30 + 1.15 * threads)

    distance = np.hypot((x - 1.55) / 1.35, (y - 1.50) / 1.00) + 0.15 * fog + 0.05 * middle
    inside = np.exp(-((distance / 0.40) ** 2))
    shell = np.exp(-(((distance - 0.48) / 0.24) ** 2))
    rim = np.exp(-(((distance - 0.76) / 0.30) ** 2))
    light: Array = (
        (200 * inside * (0.40 + 0.55 * gas))[..., None] * OXYGEN
        + (120 * shell * gas)[..., None] * SULPHUR
        + (100 * rim * gas)[..., None] * HYDROGEN
    )
    blue = np.hypot(x - 2.75, y - 2.05) + 0.07 * coarse
    light += (60 * np.exp(-((blue / 0.30) ** 2)) * gas)[..., None] * SCATTERED
    depth = 2.0 / (1 + np.exp(-3.5 * (dust + 0.25 * fine - 0.6))) * np.exp(-(((distance - 0.3) / 0.5) ** 2))
    light *= np.exp(-depth[..., None] * OPACITY)
    return light


def spiral(galaxy: Galaxy, rng: np.random.Generator, x: Array, y: Array) -> Array:
    """A disc with two arms: an old golden bulge, young blue arms with pink knots, dust inside the arms."""
    clumps = cloud(rng, x, 0.6 * galaxy.radius, 1.7)
    cos, sin = np.cos(galaxy.turn), np.sin(galaxy.turn)
    u, v = x - galaxy.x, y - galaxy.y
    u, v = cos * u + sin * v, (cos * v - sin * u) / galaxy.flatness
    radius = np.hypot(u, v) / galaxy.radius + 1e-3
    phase = 2 * np.arctan2(v, u) - galaxy.winding * np.log(radius) + 0.35 * clumps
    settled = 1 - np.exp(-((radius / 0.35) ** 2))  # the arms begin outside the bulge
    arms = np.exp(2.2 * (np.cos(phase) - 1)) * settled
    lanes = np.exp(4.0 * (np.cos(phase - 1.1) - 1)) * settled * np.exp(-radius / 1.6)
    disc = np.exp(-radius / 0.68) * np.exp(-((radius / 2.2) ** 4))
    knots = disc * arms * np.clip(clumps - 0.8, 0, None)
    bulge = 2.0 * np.exp(-((radius / 0.13) ** 0.85))
    light: Array = (
        (disc * (0.25 + 0.75 * np.exp(-radius)))[..., None] * colour(1.00, 0.86, 0.68)
        + (1.9 * disc * arms * np.exp(0.45 * clumps))[..., None] * colour(0.50, 0.70, 1.00)
        + (2.2 * knots)[..., None] * colour(1.00, 0.30, 0.50)
        + bulge[..., None] * colour(1.00, 0.84, 0.58)
    )
    light *= galaxy.brightness * np.exp(-lanes[..., None] * OPACITY)
    return light


def paint(frame: Frame, rng: np.random.Generator) -> Image:
    """Everything in the sky that is not a star."""
    margin_px = round(MARGIN * frame.pitch_px)
    shape = [(side + 2 * margin_px) // CELL_PX for side in (frame.height_px, frame.width_px)]
    canvas = Image(np.zeros((*shape, 3)), Wcs((-margin_px, -margin_px)).every(CELL_PX))
    x, y = ((axis / frame.pitch_px).astype(np.float32) for axis in canvas.sky_grid())
    light = nebula(rng, x, y)
    for galaxy in GALAXIES:
        rows = slice(*np.searchsorted(y[:, 0], galaxy.y + 3.5 * galaxy.radius * np.array([-1, 1])))
        columns = slice(*np.searchsorted(x[0], galaxy.x + 3.5 * galaxy.radius * np.array([-1, 1])))
        light[rows, columns] += spiral(galaxy, rng, x[rows, columns], y[rows, columns])
    return Image(light, canvas.wcs)
