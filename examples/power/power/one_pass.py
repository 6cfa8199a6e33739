"""The merged statistics against those of one pass over the whole record, by numpy's own functions."""

from __future__ import annotations

import numpy as np

from power import autocorrelation, profile, spectrum
from power.combine import SHARES
from power.describe import Summary
from power.histogram import SCALES
from power.period import DAY_MINUTES, Array, Period
from power.readings import QUANTITIES, Readings

ROUNDING = 1e-9
"""The largest admissible relative difference. Sums of n numbers in two different orders differ by at most about
n times the rounding of one operation, 1e-16 (N. Higham, "The accuracy of floating point summation", 1993)."""


def differences(whole: Summary, readings: Readings, period: Period) -> dict[str, float]:
    """The largest relative difference of each statistic; infinite where it should be exact and is not."""

    def relative(merged: Array, direct: Array) -> float:
        return float(np.max(np.abs(merged - direct)) / np.max(np.abs(direct)))

    there = np.isfinite(readings.values).all(axis=0)
    values = readings.values[:, there]
    seven = len(QUANTITIES)
    result = {
        "count": 0.0 if whole.moments.count == there.sum() else np.inf,
        "mean": relative(whole.moments.mean[:seven], np.mean(values, axis=1)),
        "covariance": relative(whole.moments.covariance[:seven, :seven], np.cov(values)),
    }
    for name, row in zip(QUANTITIES, values, strict=True):
        scale, counts = SCALES[name], whole.sums[f"histogram_{name}"]
        exact = np.quantile(row, SHARES, method="inverted_cdf")
        merged = np.array([scale.quantile(counts, share) for share in SHARES])
        same = counts.sum() == len(row) and (np.abs(merged - exact) <= scale.width).all()
        result[f"quantiles of {name}"] = 0.0 if same else np.inf

    direct = []
    for lag in autocorrelation.LAGS_MIN:
        earlier, later = readings["active"][:-lag], readings["active"][lag:]
        pair = np.isfinite(earlier) & np.isfinite(later)
        direct.append(np.corrcoef(earlier[pair], later[pair])[0, 1])
    result["autocorrelation"] = relative(autocorrelation.correlations(whole.sums["autocorrelation"]), np.array(direct))

    minute, unmetered = readings.minute[there], readings.unmetered[there]
    fitted, *_ = np.linalg.lstsq(profile.basis(minute, period).T, unmetered)
    result["profile"] = relative(profile.solve(whole.sums), fitted)
    some = np.linspace(0, len(spectrum.frequencies(period)) - 1, 12).astype(int)
    waves = [np.exp(-2j * np.pi * f * minute / DAY_MINUTES) for f in spectrum.frequencies(period)[some]]
    # Relative to the sum of sizes: a wave that is not there sums up to nearly nothing.
    apart = np.abs(whole.sums["fourier"][1, some] - np.array([unmetered @ wave for wave in waves]))
    result["spectrum"] = float(apart.max() / np.sum(np.abs(unmetered)))
    return result
