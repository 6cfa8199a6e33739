"""The first parallel stage: what a chunk says about itself, in sums that merge exactly into the whole period's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from power import autocorrelation, profile, response, spectrum, switching, weather
from power.histogram import SCALES
from power.moments import Moments
from power.period import DAY_MINUTES, Array, Period
from power.readings import QUANTITIES, Readings


@dataclass(frozen=True)
class Summary:
    """Moments, which merge in their own way, and everything that merges by adding up."""

    moments: Moments
    sums: dict[str, Array]

    def __add__(self, other: Summary) -> Summary:
        return Summary(self.moments + other.moments, {name: self.sums[name] + other.sums[name] for name in self.sums})

    def save(self, path: Path) -> None:
        np.savez(path, count=self.moments.count, mean=self.moments.mean, products=self.moments.products, **self.sums)

    @classmethod
    def load(cls, path: Path) -> Summary:
        with np.load(path) as file:
            arrays = dict(file)
        moments = Moments(int(arrays.pop("count")), arrays.pop("mean"), arrays.pop("products"))
        return cls(moments, arrays)


def core_sums(readings: Readings, period: Period, hourly_c: Array) -> Summary:
    """What both parallel stages need: the second without the minutes in which something was wrong."""
    minute = readings.minute
    read = minute[np.isfinite(readings["active"])]
    return Summary(
        Moments.of(np.concatenate([readings.values, readings.unmetered[None]])),
        profile.sums(minute, readings.unmetered, period)
        | {
            "response": response.sums(weather.at(minute, hourly_c), readings["climate"]),
            "readings_by_day": np.bincount(read // DAY_MINUTES, minlength=period.days),
        },
    )


def describe(chunk: range, readings: Readings, period: Period, hourly_c: Array, cores: int = 1) -> Summary:
    """``readings`` include the neighbouring days: the autocorrelation reaches a day back."""
    own, reaching_back = readings.cut(chunk), readings.cut(range(readings.start, chunk.stop))
    base = core_sums(own, period, hourly_c)
    histograms = {f"histogram_{name}": SCALES[name].count(own[name]) for name in QUANTITIES}
    levels = {f"crossings_{name}": switching.crossings(own[name], SCALES[name]) for name in ("kitchen", "utility")}
    further = {
        "autocorrelation": autocorrelation.sums(reaching_back["active"], chunk.start - readings.start),
        "fourier": spectrum.sums(chunk.start, own.unmetered, spectrum.frequencies(period), cores),
        "filled_energy_wh": np.array(np.nansum(own.filled[0]) / 60),
    }
    return Summary(base.moments, base.sums | histograms | levels | further)
