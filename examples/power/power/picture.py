"""The picture: the whole period by day and minute, and beside and below it what was found in it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from power import profile, pump, spectrum, weather
from power.canvas import Canvas, Colour
from power.combine import UNMETERED
from power.describe import Summary
from power.explain import SWITCHED
from power.period import DAY_MINUTES, START, Array, Period
from power.readings import Readings
from power.response import Response

PAPER: Colour = (0.055, 0.06, 0.085)
PANEL: Colour = (0.085, 0.095, 0.13)
GRID: Colour = (0.17, 0.185, 0.235)
FAINT: Colour = (0.56, 0.59, 0.66)
BRIGHT: Colour = (0.93, 0.94, 0.96)
GOLD: Colour = (1.0, 0.72, 0.25)
CYAN: Colour = (0.35, 0.93, 1.0)
HEAT = np.array(
    [(0.02, 0.02, 0.07), (0.17, 0.06, 0.33), (0.45, 0.11, 0.42), (0.78, 0.25, 0.28), (0.97, 0.55, 0.16), (1, 0.96, 0.7)]
)
COLDEST_W, HOTTEST_W = 400.0, 4_500.0
MAP_LEFT, MAP_TOP, MAP_WIDTH, MAP_HEIGHT = 76, 84, 730, 432
SIDE_LEFT, SIDE_WIDTH = 836, 190
LOWER_TOP, LOWER_HEIGHT = 628, 190
STEP_MIN = 10


def colours(share: Array) -> Array:
    """From dark to bright as the share goes from 0 to 1; nothing known is the paper's colour."""
    at = np.clip(np.nan_to_num(share), 0, 1) * (len(HEAT) - 1)
    painted = np.stack([np.interp(at, np.arange(len(HEAT)), channel) for channel in HEAT.T], axis=-1)
    painted[np.isnan(share)] = GRID
    return painted


def heat_share(watts: Array) -> Array:
    """Logarithmic: a fridge and an oven are to be seen in one picture."""
    return np.log(np.maximum(watts, 1) / COLDEST_W) / np.log(HOTTEST_W / COLDEST_W)


def paint_map(canvas: Canvas, readings: Readings, period: Period) -> None:
    """A column a day, midnight at the bottom."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a mean of nothing: an outage
        watts = np.nanmean(readings.filled[0].reshape(period.days, -1, STEP_MIN), axis=2)
    across = np.arange(MAP_WIDTH) * period.days // MAP_WIDTH
    down = np.arange(MAP_HEIGHT)[::-1] * watts.shape[1] // MAP_HEIGHT
    canvas.image(MAP_LEFT, MAP_TOP, colours(heat_share(watts[across][:, down].T)))
    for hour in range(0, 25, 6):
        y = hour_y(hour)
        canvas.text(MAP_LEFT - 10, y - 7, f"{hour:02d}:00", FAINT, align=1.0)
        canvas.fill(MAP_LEFT - 6, y, 4, 1, FAINT)
    months = START.astype("datetime64[M]") + np.arange(12 * period.days // 365 + 1)
    for month in months[:: max(1, len(months) // 12)]:
        day = int((month.astype("datetime64[D]") - START.astype("datetime64[D]")).astype(int))
        x = MAP_LEFT + day * MAP_WIDTH // period.days
        if x < MAP_LEFT + MAP_WIDTH - 40:
            canvas.fill(x, MAP_TOP + MAP_HEIGHT + 3, 1, 5, FAINT)
            canvas.text(x + 4, MAP_TOP + MAP_HEIGHT + 9, month_name(month), FAINT)
    for at in range(120):
        canvas.fill(MAP_LEFT + MAP_WIDTH - 240 + 2 * at, 58, 2, 12, tuple(colours(np.array([at / 119]))[0]))
    canvas.text(MAP_LEFT + MAP_WIDTH - 250, 57, "0.4 kW", FAINT, align=1.0)
    canvas.text(MAP_LEFT + MAP_WIDTH + 10, 57, "4.5 kW", FAINT)


def month_name(month: np.datetime64) -> str:
    return "JanFebMarAprMayJunJulAugSepOctNovDec"[3 * (month.astype(int) % 12) :][:3]


def hour_y(hour: float) -> int:
    return round(MAP_TOP + MAP_HEIGHT * (1 - hour / 24))


def paint_findings(canvas: Canvas, findings: list[dict[str, Any]], period: Period) -> None:
    """A numbered ring in the map for each, and a list."""
    x0 = SIDE_LEFT + SIDE_WIDTH + 28
    canvas.text(x0, 57, "Found wrong", BRIGHT)
    for number, finding in enumerate(findings, 1):
        middle = finding["start"] + finding["minutes"] / 2
        x = MAP_LEFT + middle / DAY_MINUTES * MAP_WIDTH / period.days
        y = hour_y(middle % DAY_MINUTES / 60)
        canvas.ring(x, y, 13, (0.0, 0.0, 0.0), 5)
        canvas.ring(x, y, 13, CYAN, 2.5)
        for right, down in ((-2, 0), (2, 0), (0, -2), (0, 2)):  # a dark rim, to be read on any ground
            canvas.text(round(x) + 19 + right, y - 6 + down, str(number), (0.0, 0.0, 0.0))
        canvas.text(round(x) + 19, y - 6, str(number), BRIGHT)
        when = str(START + np.timedelta64(finding["start"], "m"))
        top = MAP_TOP + 72 * (number - 1)
        canvas.ring(x0 + 11, top + 14, 11, CYAN, 2)
        canvas.text(x0 + 12, top + 7, str(number), BRIGHT, align=0.5)
        how_sure = "" if finding["channel"] in SWITCHED else f", {finding['score']:.0f} sigma"
        month = month_name(np.datetime64(when, "M"))
        canvas.text(x0 + 32, top, finding["channel"], CYAN)
        canvas.text(x0 + 32, top + 20, f"{int(when[8:10])} {month} {when[11:16]}", BRIGHT)
        canvas.text(x0 + 32, top + 40, f"{finding['minutes'] / 60:.1f} h{how_sure}", FAINT)


def paint_profile(canvas: Canvas, parameters: dict[str, float], period: Period) -> None:
    """The daily profile beside the map, on the same hours: a working day and a weekend day."""
    canvas.fill(SIDE_LEFT, MAP_TOP, SIDE_WIDTH, MAP_HEIGHT, PANEL)
    fitted = np.array([parameters[f"profile, {name} (W)"] for name in profile.NAMES])
    for watts in (200, 400, 600, 800):
        x = SIDE_LEFT + round(watts / 800 * SIDE_WIDTH)
        if watts < 800:
            canvas.fill(x, MAP_TOP, 1, MAP_HEIGHT, GRID)
            canvas.text(x, MAP_TOP + MAP_HEIGHT + 9, str(watts), FAINT, align=0.5)
    minute = np.arange(0, DAY_MINUTES + 1, 5)
    for day, colour in ((5, GOLD), (2, BRIGHT)):
        functions = profile.basis(day * DAY_MINUTES + np.minimum(minute, DAY_MINUTES - 1), period)
        functions[-2:] = 0  # of all seasons
        watts = fitted @ functions
        canvas.line(
            SIDE_LEFT + watts / 800 * SIDE_WIDTH, MAP_TOP + MAP_HEIGHT * (1 - minute / DAY_MINUTES), colour, 2.5
        )
    canvas.text(SIDE_LEFT + 10, MAP_TOP + 120, "weekend", GOLD)
    canvas.text(SIDE_LEFT + 10, MAP_TOP + 142, "weekday", BRIGHT)
    canvas.text(SIDE_LEFT, MAP_TOP + MAP_HEIGHT + 31, "base profile, W", FAINT)


def panel(canvas: Canvas, left: int, width: int, title: str, value: str) -> None:
    canvas.fill(left, LOWER_TOP, width, LOWER_HEIGHT, PANEL)
    canvas.text(left, LOWER_TOP - 46, title, BRIGHT)
    canvas.text(left, LOWER_TOP - 24, value, GOLD)


def paint_response(
    canvas: Canvas, left: int, width: int, readings: Readings, hourly_c: Array, parameters: dict[str, float]
) -> None:
    """Every minute's heat pump power against the temperature outside, and the line through it."""
    found = Response(
        *(parameters[f"heat pump, {name}"] for name in ("standby (W)", "slope (W/K)", "balance point (C)"))
    )
    panel(canvas, left, width, "Heat pump", f"{found.slope_w_per_k:.1f} W/°C below {found.balance_c:.2f} °C")
    outdoor_c = weather.at(readings.minute, hourly_c)
    there = np.isfinite(readings["climate"])
    low_c, high_c, top_w = -10.0, 30.0, 2_600.0
    inside = [[0, top_w], [low_c, high_c]]
    count, _, _ = np.histogram2d(readings["climate"][there], outdoor_c[there], (LOWER_HEIGHT, width), inside)
    share = np.where(count > 0, 0.25 + 0.75 * np.log1p(count) / np.log1p(count.max()), np.nan)[::-1]
    painted = colours(share)
    painted[np.isnan(share)] = PANEL
    canvas.image(left, LOWER_TOP, painted)
    at = np.array([low_c, found.balance_c, high_c])
    x = left + (at - low_c) / (high_c - low_c) * width
    canvas.line(x, LOWER_TOP + LOWER_HEIGHT * (1 - found.at(at) / top_w), CYAN, 1.5)
    for c in (-10, 0, 10, 20, 30):
        canvas.text(
            left + round((c - low_c) / (high_c - low_c) * width), LOWER_TOP + LOWER_HEIGHT + 8, f"{c}", FAINT, align=0.5
        )
    for w in (1000, 2000):
        canvas.text(
            left + width - 4, LOWER_TOP + round(LOWER_HEIGHT * (1 - w / top_w)) - 7, f"{w // 1000} kW", FAINT, align=1.0
        )
    canvas.text(left, LOWER_TOP + LOWER_HEIGHT + 28, "outdoor temperature, °C", FAINT)


def paint_spectrum(
    canvas: Canvas, left: int, width: int, merged: Summary, parameters: dict[str, float], period: Period
) -> None:
    """Amplitudes of the waves in what no sub-meter sees: the highest in each column."""
    cycles = parameters["timer, cycles a day"]
    panel(canvas, left, width, "A hidden timer", f"every {DAY_MINUTES / cycles:.5f} min")
    sums = spectrum.about_the_mean(merged.sums["fourier"], float(merged.moments.mean[UNMETERED]))
    amplitude = 2 * np.abs(sums) / merged.moments.count
    edges = np.linspace(0, len(amplitude), width + 1).astype(int)
    top_w = 1.15 * amplitude.max()
    for column in range(width):
        height = round(LOWER_HEIGHT * amplitude[edges[column] : edges[column + 1]].max() / top_w)
        canvas.fill(left + column, LOWER_TOP + LOWER_HEIGHT - height, 1, height, GOLD)
    for f in (15, 30, 45):
        x = left + round((f - spectrum.SLOWEST) / (spectrum.FASTEST - spectrum.SLOWEST) * width)
        canvas.text(x, LOWER_TOP + LOWER_HEIGHT + 8, str(f), FAINT, align=0.5)
    canvas.text(left + width - 4, LOWER_TOP + 8, f"{amplitude.max():.0f} W", FAINT, align=1.0)
    canvas.text(left, LOWER_TOP + LOWER_HEIGHT + 28, "cycles a day", FAINT)


def paint_fold(canvas: Canvas, left: int, width: int, found: Summary, parameters: dict[str, float]) -> None:
    """The timer's cycle: all of them on top of each other."""
    power_w, duty = parameters["timer, power (W)"], parameters["timer, duty"]
    panel(canvas, left, width, "and what it switches", f"{power_w:.1f} W, {100 * duty:.1f}% of the time")
    mean = found.sums["fold_sum"] / found.sums["fold_count"]
    high = mean > (mean.max() + mean.min()) / 2
    first = int(np.argmax(high & ~np.roll(high, 1)))
    shown = np.roll(mean - mean[~high].mean(), 24 - first)
    x = left + (np.arange(pump.FOLD_BINS) + 0.5) / pump.FOLD_BINS * width
    y = LOWER_TOP + LOWER_HEIGHT * (0.88 - 0.72 * shown / power_w)
    canvas.fill(left, LOWER_TOP + round(0.88 * LOWER_HEIGHT), width, 1, GRID)
    canvas.line(x, y, GOLD, 2.5)
    canvas.text(left, LOWER_TOP + LOWER_HEIGHT + 28, "one cycle", FAINT)


def paint(
    readings: Readings,
    hourly_c: Array,
    merged: Summary,
    found: Summary,
    model: dict[str, Any],
    report: dict[str, Any],
    period: Period,
) -> Canvas:
    canvas = Canvas(1290, 872, PAPER)
    numbers = report["parameters"]
    canvas.text(MAP_LEFT, 18, f"{period.days} days of a household, minute by minute", BRIGHT, 3)
    total = f"{model['energy_kwh']:,.0f} kWh, {model['readings']:,} readings"
    canvas.text(MAP_LEFT, 57, total, FAINT)
    paint_map(canvas, readings, period)
    paint_profile(canvas, numbers, period)
    paint_findings(canvas, report["findings"], period)
    paint_response(canvas, MAP_LEFT, 400, readings, hourly_c, numbers)
    paint_spectrum(canvas, 516, 340, merged, numbers, period)
    paint_fold(canvas, 896, 360, found, numbers)
    return canvas
