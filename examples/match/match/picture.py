"""The picture: are E-values what they promise, what is found of what was planted, and where it lies."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from match.canvas import Canvas, Colour
from match.check import CERTAIN, best_hits, is_found
from match.database import WORD, Database
from match.hits import Hit
from match.made import SIMILARITIES, Planted
from match.panel import INK, PALE, PANEL, Panel

WIDTH, HEIGHT = 1500, 1060
PAPER = (0.045, 0.06, 0.10)
RANDOM, PROMISED, MISSED = (0.50, 0.60, 0.78), (0.30, 0.85, 0.95), (1.0, 0.30, 0.35)
# From hardly similar to the same: colours between which ``heat`` mixes.
HEAT = np.array([(0.55, 0.16, 0.55), (0.88, 0.24, 0.45), (0.98, 0.55, 0.22), (1.0, 0.88, 0.42)])


def heat(similarity: float) -> Colour:
    stops = np.linspace(*SIMILARITIES, len(HEAT))
    red, green, blue = (float(np.interp(similarity, stops, channel)) for channel in HEAT.T)
    return red, green, blue


def chance_of_run(share: float, bases: int, run: int = WORD) -> float:
    """Return the probability that the bases hold a run of unchanged ones, each unchanged with probability ``share``."""
    # none[i]: no run among the first i; a first run that ends at i begins behind a changed base and no earlier run.
    none = np.ones(bases + 1)
    for i in range(run, bases + 1):
        first_here = share**run * (1 if i == run else (1 - share) * none[i - run - 1])
        none[i] = none[i - 1] - first_here
    return float(1 - none[bases])


def paint(path: Path, hits: list[Hit], planted: list[Planted], queries: list[str], database: Database) -> None:
    """All three plots on one canvas."""
    canvas = Canvas(WIDTH, HEIGHT, PAPER)
    best = best_hits(hits)
    found = {each.query: is_found(each, best.get(each.query)) for each in planted}
    million = database.total_bases / 1e6
    canvas.text(90, 52, f"{len(queries):,} queries in {million:.3g} million bases", INK, 24)
    legend = [("planted and found", heat(0.9)), ("planted and missed", MISSED), ("chance", RANDOM)]
    x = WIDTH - 60.0
    for words, colour in reversed(legend):
        canvas.text(x, 50, words, PALE, 13, align=1)
        x -= canvas.text_width(words, 13) + 18
        canvas.dot(x, 44, colour, 12)
        x -= 36
    calibration(canvas, hits, planted, found, queries)
    sensitivity(canvas, planted, found)
    places(canvas, hits, planted, found, database)
    canvas.save(path)


def calibration(
    canvas: Canvas, hits: list[Hit], planted: list[Planted], found: dict[str, bool], queries: list[str]
) -> None:
    """How many hits have at most an E-value: of random queries, as promised, and right ones of planted queries."""
    highest = 10 ** np.ceil(np.log10(10 * len(queries)))
    panel = Panel(canvas, 90, 140, 700, 480, x=(1e-4, 10), y=(0.5, highest), log_x=True, log_y=True)
    names = {0.0001: "0.0001", 0.001: "0.001", 0.01: "0.01", 0.1: "0.1", 1.0: "1", 10.0: "10"}
    counts = {10.0**n: f"{10**n:,}" for n in range(round(np.log10(highest)) + 1)}
    panel.frame("does chance keep to its E-values", "E-value at most", "hits", names, counts)
    is_planted = {each.query for each in planted}
    grid = np.logspace(-4, 1, 200)
    promised = grid * (len(queries) - len(is_planted))
    spread = 2 * np.sqrt(promised)
    edges = [round(panel.across(x)) for x in grid]
    for left, right, low, high in zip(edges, edges[1:], promised - spread, promised + spread, strict=False):
        canvas.box(left, panel.up(high), right, panel.up(low), PROMISED, 0.18)
    panel.curve(grid, promised, PROMISED, 2)
    of_random = np.sort([hit.evalue for hit in hits if hit.query not in is_planted])
    panel.curve(grid, np.searchsorted(of_random, grid, side="right"), RANDOM, 4)
    origin = {each.query: each.entry for each in planted if found[each.query]}
    of_planted = np.sort([hit.evalue for hit in hits if origin.get(hit.query) == hit.entry])
    panel.curve(grid, np.searchsorted(of_planted, grid, side="right"), heat(0.9), 4)
    canvas.text(panel.across(2e-4), panel.up(max(len(of_planted), 1)) - 12, "planted and found", heat(0.9), 12)
    canvas.text(panel.across(0.05), panel.up(0.1 * len(queries)), "promised by E", PROMISED, 12, align=1)
    canvas.text(panel.across(0.2), panel.up(0.02 * len(queries)), "random queries", RANDOM, 12)


def sensitivity(canvas: Canvas, planted: list[Planted], found: dict[str, bool]) -> None:
    """What share is found, by how similar it still is; and how often enough is left of it to be noticed."""
    panel = Panel(canvas, 850, 140, 1440, 480, x=SIMILARITIES, y=(0, 1.08))
    percent = {value / 100: f"{value}%" for value in range(60, 101, 5)}
    panel.frame(
        "is what was planted found", "similarity", "share found", percent, {v / 4: f"{25 * v}%" for v in range(5)}
    )
    step = 0.02
    similarities = np.array([each.similarity for each in planted])
    hit = np.array([found[each.query] for each in planted])
    for low in np.arange(*SIMILARITIES, step):
        inside = (similarities >= low) & (similarities < low + step)
        if inside.any():
            left, right = panel.across(low) + 3, panel.across(low + step) - 3
            canvas.box(left, panel.up(1), right, panel.up(hit[inside].mean()), MISSED, 0.35)
            canvas.box(left, panel.up(hit[inside].mean()), right, panel.bottom, heat(low + step / 2), 0.9)
    grid = np.linspace(*SIMILARITIES, 81)
    length = round(float(np.mean([each.end - each.start for each in planted])))
    chances = np.array([chance_of_run(share, length) for share in grid])
    panel.curve(grid, chances, PROMISED, 2.5)
    canvas.text(panel.across(0.605), panel.up(1.02), f"chance that {WORD} bases in a row are left", PROMISED, 12)
    x = panel.across(CERTAIN)
    canvas.line([(x, panel.top), (x, panel.bottom)], INK, 1.5)
    canvas.text(x + 8, panel.up(1.02), "must be found", INK, 12)


def places(canvas: Canvas, hits: list[Hit], planted: list[Planted], found: dict[str, bool], database: Database) -> None:
    """Every hit at its place in the database, as high as its score."""
    million = database.total_bases / 1e6
    panel = Panel(canvas, 90, 630, 1440, 960, x=(0, million), y=(24, 1600), log_y=True)
    step = 10 ** np.floor(np.log10(million / 3))
    step *= 2 if million / step < 20 else 5
    marks = {float(at): f"{at:g}" for at in np.arange(0, million * 1.001, step)}
    bits = {float(value): f"{value:,}" for value in (30, 50, 100, 200, 500, 1000)}
    panel.frame("where in the database", "million bases", "score in bits", marks, bits)
    start = dict(zip(database.names, (database.starts[:-1] / 1e6).tolist(), strict=True))
    truth = {each.query: each for each in planted}
    for hit in reversed(hits):  # the best are painted last
        x, y = panel.across(start[hit.entry] + hit.entry_start / 1e6), panel.up(hit.bits)
        origin = truth.get(hit.query)
        if origin and origin.entry == hit.entry:
            whole = found[hit.query]  # or else only a part of it, or something else ranks higher
            canvas.dot(x, y, PANEL, 11, 0.8)
            canvas.dot(x, y, heat(origin.similarity) if whole else MISSED, 8 if whole else 5)
        else:
            canvas.dot(x, y, RANDOM, 3.5, 0.45)
    seen = {(hit.query, hit.entry) for hit in hits}
    for each in planted:
        if (each.query, each.entry) not in seen:
            x = panel.across(start[each.entry] + each.start / 1e6)
            canvas.line([(x, panel.bottom - 10), (x, panel.bottom - 1)], MISSED, 2.5)
