"""The second sequential stage: from merged sums to a model of the household."""

from __future__ import annotations

from typing import Any

import numpy as np

from power import autocorrelation, profile, response, spectrum, switching
from power.describe import Summary
from power.histogram import SCALES
from power.period import CHUNKS, DAY_MINUTES, Period
from power.readings import QUANTITIES

SHARES = (0.01, 0.25, 0.5, 0.75, 0.99)
UNMETERED = len(QUANTITIES)  # its row in the moments
VOLTAGE, CURRENT, REACTIVE = (QUANTITIES.index(name) for name in ("voltage", "current", "reactive"))
LOADS = [UNMETERED, *(QUANTITIES.index(name) for name in ("kitchen", "utility", "climate"))]


def merge(summaries: list[Summary]) -> Summary:
    """In the order of the chunks."""
    whole = summaries[0]
    for summary in summaries[1:]:
        whole = whole + summary
    return whole


def statistics(whole: Summary) -> dict[str, dict[str, float]]:
    """What the paper's workflow is after: mean, median, standard deviation and so on, of each quantity."""
    table = {}
    for at, name in enumerate(QUANTITIES):
        counts = whole.sums[f"histogram_{name}"]
        table[name] = {
            "mean": float(whole.moments.mean[at]),
            "deviation": float(np.sqrt(whole.moments.covariance[at, at])),
            **{f"q{round(100 * share):02d}": SCALES[name].quantile(counts, share) for share in SHARES},
        }
    return table


def pump_frequency(summaries: list[Summary], whole: Summary, period: Period) -> float:
    """The strongest wave in what no sub-meter sees, in cycles a day."""
    mean_w = float(whole.moments.mean[UNMETERED])
    strength = np.abs(spectrum.about_the_mean(whole.sums["fourier"], mean_w))
    top = int(np.argmax(strength))
    middles_day = np.array([(period.chunk(name)[0] + len(period.chunk(name)) / 2) / DAY_MINUTES for name in CHUNKS])
    each = np.array([spectrum.about_the_mean(part.sums["fourier"][:, top], mean_w) for part in summaries])
    counts = np.array([part.moments.count for part in summaries])
    return spectrum.refine(float(spectrum.frequencies(period)[top]), middles_day, each, counts)


def model(summaries: list[Summary], period: Period) -> dict[str, Any]:
    """Everything that the second parallel stage needs to know about the whole period, and the statistics."""
    whole = merge(summaries)
    open_v, (drop,) = whole.moments.regress(VOLTAGE, [CURRENT])
    climate = response.fit(whole.sums["response"])
    thresholds = {name: SCALES[name].valley(whole.sums[f"histogram_{name}"]) for name in ("kitchen", "utility")}
    return {
        "readings": whole.moments.count,
        "energy_kwh": float(whole.sums["filled_energy_wh"]) / 1000,
        "statistics": statistics(whole),
        "autocorrelation": autocorrelation.correlations(whole.sums["autocorrelation"]).tolist(),
        "profile_w": profile.solve(whole.sums).tolist(),
        "response": [climate.standby_w, climate.slope_w_per_k, climate.balance_c],
        "supply": [open_v, -float(drop)],
        "pump_cycles_per_day": pump_frequency(summaries, whole, period),
        "thresholds_w": thresholds,
        "off_chances": {
            name: switching.off_chance(whole.sums[f"crossings_{name}"], SCALES[name], threshold)
            for name, threshold in thresholds.items()
        },
    }
