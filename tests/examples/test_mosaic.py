"""The science of examples/mosaic: each stage on a problem with a known answer, then all stages on a small sky."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

EXAMPLE = Path(__file__).parents[2] / "examples" / "mosaic"
sys.path.insert(0, str(EXAMPLE))

from mosaic import background, check, coadd, picture, resample, telescope  # noqa: E402
from mosaic.frame import COLUMNS, ROWS, Array, Frame, tiles  # noqa: E402
from mosaic.image import Image, Wcs  # noqa: E402
from mosaic.sky import Sky  # noqa: E402

WORKFLOW = yaml.safe_load((EXAMPLE / "workflow.yaml").read_text())
PAIRS: list[str] = ["{left}-{right}".format(**row) for row in WORKFLOW["tasks"]["diff_fit"]["each"]]
SMALL = Frame(pitch_px=120)


def constant(value: float, height: int, width: int, wcs: Wcs) -> Image:
    return Image(np.full((height, width, 3), value, np.float32), wcs)


def stitch(folder: Path) -> Image:
    return coadd.add(coadd.image_table(sorted(folder.glob("*.npz"))), SMALL)


@pytest.fixture(scope="module")
def sky() -> Sky:
    return Sky.make(SMALL)


def observe_and_project(sky: Sky) -> dict[str, Image]:
    return {tile: resample.project(telescope.observe(sky, SMALL, tile), SMALL) for tile in tiles()}


def find_corrections(projected: dict[str, Image]) -> dict[str, Array]:
    fits = []
    for pair in PAIRS:
        first, second = (projected[tile] for tile in pair.split("-"))
        fits.append(background.diff_fit(pair, first, second, SMALL))
    return background.model(fits)


@pytest.fixture(scope="module")
def projected(sky: Sky) -> dict[str, Image]:
    return observe_and_project(sky)


@pytest.fixture(scope="module")
def uncorrected_mosaic(projected: dict[str, Image], tmp_path_factory: pytest.TempPathFactory) -> Image:
    folder = tmp_path_factory.mktemp("projected")
    for tile, image in projected.items():
        image.save(folder / f"{tile}.npz")
    return stitch(folder)


@pytest.fixture(scope="module")
def mosaic(projected: dict[str, Image], tmp_path_factory: pytest.TempPathFactory) -> Image:
    folder = tmp_path_factory.mktemp("corrected")
    corrections = find_corrections(projected)
    for tile, image in projected.items():
        background.correct(image, corrections[tile], SMALL).save(folder / f"{tile}.npz")
    return stitch(folder)


def test_the_workflow_names_every_tile_and_every_pair_that_shares_an_edge() -> None:
    for stage in ("observe", "project", "background"):
        assert sorted(WORKFLOW["tasks"][stage]["each"]["tile"]) == sorted(tiles())
    across = {f"{a}{row}-{b}{row}" for row in ROWS for a, b in pairwise(COLUMNS)}
    down = {f"{col}{a}-{col}{b}" for col in COLUMNS for a, b in pairwise(ROWS)}
    assert set(PAIRS) == across | down
    assert len(PAIRS) == len(set(PAIRS))


def test_coordinates_convert_to_the_sky_and_back() -> None:
    wcs = Wcs.centred((310.0, 200.0), 101, 0.98, 0.3)
    assert np.allclose(wcs.to_sky(np.array(50), np.array(50)), (310.0, 200.0))
    column, row = np.array([0.0, 17.5, 99.0]), np.array([3.0, -4.0, 60.0])
    assert np.allclose(wcs.to_pixel(*wcs.to_sky(column, row)), (column, row))
    assert np.allclose(wcs.every(4).to_sky(column, row), wcs.to_sky(4 * column, 4 * row))


def test_an_image_can_be_saved_and_loaded(tmp_path: Path) -> None:
    image = Image(np.arange(24, dtype=np.float32).reshape(2, 4, 3), Wcs.centred((7.0, 9.0), 4, 1.01, -0.2))
    image.save(tmp_path / "image.npz")
    again = Image.load(tmp_path / "image.npz")
    assert again.wcs == image.wcs
    assert np.array_equal(again.pixels, image.pixels)


def test_reprojection_of_a_constant_is_that_constant() -> None:
    tile = constant(42.0, 140, 140, Wcs.centred(SMALL.tile_centre("b2"), 140, 1.01, np.radians(3)))
    result = resample.project(tile, SMALL)
    seen = np.isfinite(result.pixels)
    assert np.allclose(result.pixels[seen], 42.0, rtol=1e-6)
    # The result covers the tile except its outermost pixels, which lack neighbours, and nothing outside the tile.
    assert seen.mean() * result.pixels[..., 0].size == pytest.approx((137 * 1.01) ** 2, rel=0.01)


def test_reprojection_puts_every_pixel_where_it_belongs() -> None:
    tile = constant(0.0, 140, 140, Wcs.centred(SMALL.tile_centre("c1"), 140, 0.99, np.radians(-4)))
    x, y = tile.sky_grid()
    slanted = Image((2 * x - y)[..., None].repeat(3, axis=-1).astype(np.float32), tile.wcs)
    result = resample.project(slanted, SMALL)
    x, y = result.sky_grid()
    seen = np.isfinite(result.pixels[..., 0])
    assert seen.any()
    assert np.allclose(result.pixels[seen], (2 * x - y)[seen][:, None], atol=0.01)


def test_plane_fit_recovers_a_known_plane_under_noise_and_stars() -> None:
    rng = np.random.default_rng(1)
    basis = np.column_stack([np.ones(4000), rng.uniform(-2, 2, (4000, 2))])
    plane = np.array([[5.0, -3.0, 0.5], [1.0, 2.0, -4.0], [-0.5, 0.0, 7.0]])
    values = basis @ plane + rng.normal(0, 0.1, (4000, 3))
    values[:40] += 500.0  # a star
    values[40:80] = np.nan  # beyond the tile's edge
    fitted, moments, rms = background.fit_plane(basis, values)
    assert np.allclose(fitted, plane, atol=0.02)
    assert rms == pytest.approx(0.1, rel=0.1)
    assert moments[0, 0] == pytest.approx(3920, abs=80)  # the number of points in the fit


def test_difference_of_two_tiles_is_the_difference_of_their_planes() -> None:
    rng = np.random.default_rng(2)
    planes = rng.uniform(-5, 5, (2, 3, 3))
    blank = [constant(0.0, 100, 100, Wcs((0, 0))), constant(0.0, 90, 120, Wcs((70, 20)))]
    first, second = (background.correct(*pair, SMALL) for pair in zip(blank, -planes, strict=True))
    fit = background.diff_fit("a1-b1", first, second, SMALL)
    assert np.allclose(fit.plane, planes[0] - planes[1], atol=1e-4)
    assert fit.moments[0, 0] == 30 * 80


def test_background_model_solves_a_known_problem_up_to_one_common_plane() -> None:
    rng = np.random.default_rng(3)
    truth = {tile: rng.uniform(-50, 50, (3, 3)) for tile in tiles()}
    fits = []
    for pair in PAIRS:
        first, second = pair.split("-")
        points = np.column_stack([np.ones(50), rng.uniform(-2, 2, (50, 2))])
        fits.append(background.Fit(pair, truth[first] - truth[second], points.T @ points, 0.0))
    found = background.model(fits)
    errors = np.array([found[tile] - truth[tile] for tile in tiles()])
    assert np.allclose(errors, errors[0], atol=1e-6)
    assert np.allclose(sum(found.values()), 0, atol=1e-6)  # the solution of least norm has a mean of zero


def test_background_model_weights_overlaps_by_their_size() -> None:
    unit = np.eye(3)
    fits = [
        background.Fit("a1-b1", np.full((3, 3), 0.0), unit, 0.0),
        background.Fit("a1-b1", np.full((3, 3), 8.0), 3 * unit, 0.0),
    ]
    found = background.model(fits)
    assert np.allclose(found["a1"] - found["b1"], 6.0)


def test_adding_takes_the_mean_of_overlapping_tiles(tmp_path: Path) -> None:
    constant(2.0, 50, 60, Wcs((0, 0))).save(tmp_path / "a.npz")
    constant(4.0, 50, 60, Wcs((30, 0))).save(tmp_path / "b.npz")
    result = stitch(tmp_path).pixels
    assert result.shape == (SMALL.height_px, SMALL.width_px, 3)
    assert result[10, [10, 45, 80], 0].tolist() == [2.0, 3.0, 4.0]
    assert np.isnan(result[60:]).all()


def test_shrinking_averages_square_blocks_of_pixels() -> None:
    image = Image(np.arange(7 * 6 * 3, dtype=np.float32).reshape(7, 6, 3), Wcs((0, 0)))
    small = picture.shrink(image, 3)
    assert small.pixels.shape == (2, 2, 3)
    assert np.allclose(small.pixels[1, 0], image.pixels[3:6, 0:3].mean(axis=(0, 1)))


def test_stretch_levels_a_slanted_dark_sky_and_keeps_a_stars_colour() -> None:
    rng = np.random.default_rng(4)
    rows, columns = np.indices((90, 120))
    counts = (0.2 * rows - 0.1 * columns + 3)[..., None] + rng.normal(0, 0.1, (90, 120, 3))
    counts[45, 60] += [800.0, 400.0, 200.0]
    colours = picture.stretch(counts)
    assert np.median(colours) < 0.01
    red, green, blue = colours[45, 60]
    assert red > 1.5 * green > 2 * blue


def test_png_decodes_to_the_same_pixels(tmp_path: Path) -> None:
    colours = np.random.default_rng(5).random((13, 17, 3))
    picture.write_png(tmp_path / "picture.png", colours)
    data = (tmp_path / "picture.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(kind + body),)
        chunks[kind] = body
        at += 12 + length
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", chunks[b"IHDR"]) == (17, 13, 8, 2, 0, 0, 0)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(13, 1 + 17 * 3)
    assert (lines[:, 0] == 2).all()  # PNG filter 2: every line holds differences to the line above
    pixels = np.cumsum(lines[:, 1:], axis=0, dtype=np.uint8).reshape(13, 17, 3)
    assert np.array_equal(pixels, np.round(255 * colours))


def test_the_sky_is_the_same_at_every_call(sky: Sky) -> None:
    again = Sky.make(SMALL)
    assert np.array_equal(again.diffuse.pixels, sky.diffuse.pixels)
    assert np.array_equal(again.catalogue, sky.catalogue)


def test_without_noise_the_corrections_are_the_backgrounds_that_the_telescope_added(
    sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telescope, "noise", np.zeros_like)
    corrections = find_corrections(observe_and_project(sky))
    added = {tile: telescope.pointing(SMALL, tile).background for tile in tiles()}
    errors = np.array([corrections[tile] - added[tile] for tile in tiles()])
    errors -= errors.mean(axis=0)  # the one common plane
    assert np.abs(errors).max() < 0.02  # counts; the backgrounds themselves are tens of counts
    assert np.std(list(added.values())) > 5


def test_check_passes_on_the_mosaic(mosaic: Image, sky: Sky) -> None:
    assert 0.6 < check.residual_in_sigma(mosaic, sky, SMALL) < check.TOLERANCE


def test_check_fails_on_an_uncorrected_mosaic(uncorrected_mosaic: Image, sky: Sky) -> None:
    assert check.residual_in_sigma(uncorrected_mosaic, sky, SMALL) > 3 * check.TOLERANCE


def test_check_fails_on_a_hole(mosaic: Image, sky: Sky) -> None:
    pixels = mosaic.pixels.copy()
    pixels[100, 200] = np.nan
    assert check.residual_in_sigma(Image(pixels, mosaic.wcs), sky, SMALL) == np.inf


@pytest.mark.parametrize(("which", "status"), [("mosaic", 0), ("uncorrected_mosaic", 1)])
def test_check_reports_by_its_exit_status(
    which: str, status: int, sky: Sky, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(which).save(tmp_path / "mosaic.npz")
    sky.save(tmp_path / "sky.npz", tmp_path / "stars.npy")
    command = [sys.executable, "-m", "mosaic", "check", "mosaic.npz", "sky.npz", "stars.npy", "check.json"]
    env = {**os.environ, "PYTHONPATH": str(EXAMPLE), "MOSAIC_PITCH_PX": str(SMALL.pitch_px)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert "sigma" in done.stdout
    assert (tmp_path / "check.json").exists() == (status == 0)
