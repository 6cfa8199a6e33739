"""One command a stage of the workflow: ``python3 -m mosaic STAGE ...`` (see workflow.yaml)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from mosaic import background, check, coadd, picture, resample, telescope
from mosaic.frame import Frame
from mosaic.image import Image
from mosaic.sky import Sky

FRAME = Frame.from_environment()


def write_json(path: str, content: object) -> None:
    """Arrays become nested lists; repr of a float is exact, so nothing is lost on the way."""
    Path(path).write_text(json.dumps(content, default=np.ndarray.tolist, indent=1) + "\n")


def sky(diffuse: str, catalogue: str) -> None:
    """Make the sky that is going to be observed."""
    Sky.make(FRAME).save(Path(diffuse), Path(catalogue))


def observe(tile: str, diffuse: str, catalogue: str, raw: str) -> None:
    """Take one exposure of it."""
    made = Sky.load(Path(diffuse), Path(catalogue))
    telescope.observe(made, FRAME, tile).save(Path(raw))


def project(raw: str, projected: str) -> None:
    """mProject: bring a tile onto the frame's pixel grid."""
    resample.project(Image.load(Path(raw)), FRAME).save(Path(projected))


def diff_fit(pair: str, projected: str, fit: str) -> None:
    """mDiffFit: a plane through the difference of two neighbours."""
    first, second = (Image.load(Path(projected, f"{tile}.npz")) for tile in pair.split("-"))
    write_json(fit, asdict(background.diff_fit(pair, first, second, FRAME)))


def concat_fit(fits: str, table: str) -> None:
    """mConcatFit: all planes in one table."""
    write_json(table, [json.loads(path.read_text()) for path in sorted(Path(fits).glob("*.json"))])


def bg_model(table: str, corrections: str) -> None:
    """mBgModel: what to take off each tile."""
    fits = [background.Fit.from_json(row) for row in json.loads(Path(table).read_text())]
    write_json(corrections, background.model(fits))


def correct(tile: str, projected: str, corrections: str, corrected: str) -> None:
    """mBackground: take it off."""
    plane = np.array(json.loads(Path(corrections).read_text())[tile])
    background.correct(Image.load(Path(projected)), plane, FRAME).save(Path(corrected))


def image_table(tiles: str, table: str) -> None:
    """mImgtbl: which tiles there are, and where."""
    write_json(table, [asdict(entry) for entry in coadd.image_table(sorted(Path(tiles).glob("*.npz")))])


def add(table: str, mosaic: str) -> None:
    """mAdd: stitch them."""
    entries = [coadd.Entry(**row) for row in json.loads(Path(table).read_text())]
    coadd.add(entries, FRAME).save(Path(mosaic))


def shrink(mosaic: str, small: str) -> None:
    """mShrink: make it fit a screen."""
    picture.shrink(Image.load(Path(mosaic))).save(Path(small))


def paint(small: str, png: str) -> None:
    """mJPEG: colours."""
    picture.write_png(Path(png), picture.stretch(Image.load(Path(small)).pixels))


def compare(mosaic: str, diffuse: str, catalogue: str, report: str) -> None:
    """Fail unless the mosaic is the sky, up to noise; the report is written only if it is."""
    made = Sky.load(Path(diffuse), Path(catalogue))
    rms = check.residual_in_sigma(Image.load(Path(mosaic)), made, FRAME)
    print(f"residual against the known sky: {rms:.3f} sigma (at most {check.TOLERANCE} allowed)")
    if rms > check.TOLERANCE:
        sys.exit("the mosaic is not the sky that was observed")
    write_json(report, {"residual_sigma": rms, "tolerance_sigma": check.TOLERANCE})


STAGES: dict[str, Callable[..., None]] = {
    "sky": sky,
    "observe": observe,
    "project": project,
    "diff-fit": diff_fit,
    "concat-fit": concat_fit,
    "bg-model": bg_model,
    "background": correct,
    "image-table": image_table,
    "add": add,
    "shrink": shrink,
    "picture": paint,
    "check": compare,
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in STAGES:
        sys.exit(f"usage: python3 -m mosaic {{{','.join(STAGES)}}} FILE...")
    STAGES[sys.argv[1]](*sys.argv[2:])
