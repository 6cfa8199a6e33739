"""The made sky: known exactly, so that the mosaic can be held against it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mosaic import nebula, stars
from mosaic.frame import Array, Frame
from mosaic.image import Image, Wcs
from mosaic.resample import interpolate

SEED = 17  # as in Messier 17, the nebula of the Montage runs of Souza et al. 2020


@dataclass(frozen=True)
class Sky:
    """A painted diffuse part and a catalogue of stars."""

    diffuse: Image
    catalogue: Array

    @classmethod
    def make(cls, frame: Frame) -> Sky:
        rng = np.random.default_rng(SEED)
        return cls(nebula.paint(frame, rng), stars.scatter(frame, rng))

    def render(self, wcs: Wcs, height: int, width: int) -> Image:
        """What a perfect camera with these coordinates would see."""
        x, y = wcs.to_sky(np.arange(width)[None, :], np.arange(height)[:, None])
        image = Image(interpolate(self.diffuse.pixels, *self.diffuse.wcs.to_pixel(x, y)), wcs)
        stars.shine(image, self.catalogue)
        return image

    def save(self, diffuse: Path, catalogue: Path) -> None:
        self.diffuse.save(diffuse)
        np.save(catalogue, self.catalogue)

    @classmethod
    def load(cls, diffuse: Path, catalogue: Path) -> Sky:
        return cls(Image.load(diffuse), np.load(catalogue))
