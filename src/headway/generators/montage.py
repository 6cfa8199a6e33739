"""Montage: images of the sky stitched into one. 9 levels: wide at first, single tasks at the end.

Shape and figures: Bharathi et al., "Characterization of scientific workflows" (WORKS 2008), as in the Pegasus
WorkflowGenerator. Pairs are mean and standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from headway.generators.draft import Draft
from headway.generators.family import Family, nearest_split
from headway.model.instance import Instance

# seconds
PROJECT_S = (13.59, 0.245)
DIFFERENCE_S = (10.59, 0.1)
CONCAT_S_A_DIFFERENCE = 0.08
MODEL_S_A_DIFFERENCE = (0.13, 0.1)
BACKGROUND_S = (10.74, 0.173)
TABLE_S_AN_IMAGE = (0.37, 0.1)
ADD_S = (30.11, 0.224)
SHRINK_S = 12.21
PICTURE_BYTES_A_S = (549_291.0, 62_719.0)

# bytes
HEADER = 304.0
IMAGE = 4_222_080.0
PROJECTED = (4_162_432.0, 10_666.0)
DIFFERENCE = (284_097.20, 147_591.0)
FIT = (273.74, 9.95)
FITS_TABLE_A_DIFFERENCE = 209.95
CORRECTIONS_AN_IMAGE = 53.18
TABLE_AN_IMAGE = (352.24, 48.06)
MOSAIC_A_DEGREE = 173_465_280.0
SHRUNK_TO = 1 / 24.99
PICTURE_TO = 0.15  # measured in files of that generator

_IMAGES_A_TASK = 1 / 6.1  # 82 of 500
_FEWEST = 11


def make(name: str, tasks: int, seed: int) -> Instance:
    """mProjectPP for each image, mDiffFit for each two that overlap, one fit over all (mConcatFit, mBgModel),
    mBackground for each image, and mImgTbl, mAdd, mShrink, mJPEG."""
    draft = Draft(name, seed)
    tasks, images = nearest_split(tasks, _FEWEST, lambda count: max(2, round(_IMAGES_A_TASK * count)), _fits)
    header = draft.file("region.hdr", HEADER)
    projected = []
    for image in range(images):
        raw = draft.file(f"image_{image}.fits", IMAGE)
        pair = [draft.file(f"projected_{image}{part}.fits", *PROJECTED) for part in ("", "_area")]
        draft.task("mProjectPP", draft.draw(*PROJECT_S), [raw, header], pair)
        projected.append(pair)
    fits = []
    for one, other in islice(_neighbours(images), tasks - 6 - 2 * images):
        fits.append(draft.file(f"fit_{one}_{other}.txt", *FIT))
        difference = draft.file(f"difference_{one}_{other}.fits", *DIFFERENCE)
        pairs = [*projected[one], *projected[other]]
        draft.task("mDiffFit", draft.draw(*DIFFERENCE_S), [*pairs, header], [fits[-1], difference])
    corrections = _fit_all(draft, fits, images)
    corrected = []
    for image, pair in enumerate(projected):
        corrected += [draft.file(f"corrected_{image}{part}.fits", *PROJECTED) for part in ("", "_area")]
        draft.task("mBackground", draft.draw(*BACKGROUND_S), [*pair, corrections], corrected[-2:])
    _stitch(draft, corrected, header, images)
    return draft.instance("Montage, made up after Bharathi et al. 2008")


def _fit_all(draft: Draft, fits: list[str], images: int) -> str:
    table = draft.file("fits.tbl", FITS_TABLE_A_DIFFERENCE * len(fits))
    draft.task("mConcatFit", CONCAT_S_A_DIFFERENCE * len(fits), fits, [table])
    corrections = draft.file("corrections.tbl", CORRECTIONS_AN_IMAGE * images)
    draft.task("mBgModel", draft.draw(*MODEL_S_A_DIFFERENCE) * len(fits), [table], [corrections])
    return corrections


def _stitch(draft: Draft, corrected: list[str], header: str, images: int) -> None:
    table = draft.file("images.tbl", draft.draw(*TABLE_AN_IMAGE) * images)
    draft.task("mImgTbl", draft.draw(*TABLE_S_AN_IMAGE) * images, corrected, [table])
    degrees = math.sqrt(images) / 8  # 82 images are about one square degree
    mosaic = [draft.file(f"mosaic{part}.fits", MOSAIC_A_DEGREE * degrees) for part in ("", "_area")]
    draft.task("mAdd", draft.draw(*ADD_S), [table, header, *corrected], mosaic)
    shrunk = draft.file("shrunk.fits", draft.file_bytes[mosaic[0]] * SHRUNK_TO)
    draft.task("mShrink", SHRINK_S, mosaic, [shrunk])
    shrunk_bytes = draft.file_bytes[shrunk]
    picture = draft.file("mosaic.jpg", shrunk_bytes * PICTURE_TO)
    draft.task("mJPEG", shrunk_bytes / draft.draw(*PICTURE_BYTES_A_S), [shrunk], [picture])


def _fits(tasks: int, images: int) -> bool:
    """Return whether a possible number of overlapping pairs is left."""
    return images > 1 and images - 1 <= tasks - 6 - 2 * images <= images * (images - 1) // 2


def _neighbours(images: int) -> Iterator[tuple[int, int]]:
    """Yield pairs of images, which lie in rows, the nearest first: beside, then below, then diagonal, …"""
    width = math.ceil(math.sqrt(images))
    steps = [
        (down, right)
        for down in range(-(-images // width))
        for right in range(-width + 1, width)
        if (down, right) > (0, 0)
    ]
    for down, right in sorted(steps, key=lambda step: (step[0] ** 2 + step[1] ** 2, step)):
        for column in range(
            max(0, -right), min(width, width - right)
        ):  # whole columns first, so that every row has pairs
            for one in range(column, images, width):
                other = one + down * width + right
                if other < images:
                    yield one, other


FAMILY = Family("images of the sky stitched into one; 9 levels with a thin tail", _FEWEST, make)
