"""The check: is the mosaic the sky that was observed?"""

from __future__ import annotations

import numpy as np

from mosaic.background import fit_plane
from mosaic.frame import Frame
from mosaic.image import BANDS, Image
from mosaic.sky import Sky
from mosaic.telescope import noise

STEP = 3  # every third pixel of every third row is compared: a million points are enough

TOLERANCE = 1.0
"""The largest admissible root mean square of the residuals, in units of one exposure's noise.

A pixel of the mosaic is a weighted mean of sixteen pixels of at least one exposure, which can only lower the
noise: resampling alone brings it to about 0.8, overlaps to less. Above 1 the mosaic is worse than the
single exposures were, so something other than noise is in it.
"""


def residual_in_sigma(mosaic: Image, sky: Sky, frame: Frame) -> float:
    """The root mean square of (mosaic - sky) / noise, without the plane that all tiles share, which cannot be found.

    Infinite if no tile has seen some pixel of the frame.
    """
    if not np.isfinite(mosaic.pixels).all():
        return np.inf
    sampled = Image(mosaic.pixels[::STEP, ::STEP], mosaic.wcs.every(STEP))
    truth = sky.render(sampled.wcs, *sampled.pixels.shape[:2]).pixels
    residual = sampled.pixels - truth
    basis = frame.plane_basis(*sampled.sky_grid())
    plane, _, _ = fit_plane(basis.reshape(-1, 3), residual.reshape(-1, BANDS))
    return float(np.sqrt(np.mean(((residual - basis @ plane) / noise(truth)) ** 2)))
