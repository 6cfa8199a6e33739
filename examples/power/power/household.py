"""The made household: known exactly, so that what the workflow finds can be held against it."""

from __future__ import annotations

import numpy as np

from power import profile, pump, weather
from power.period import Array, Period
from power.truth import SEED, Fault, Fridge, HeatPump, Oven, Truth, faults


def plant(values: Array, planted: list[Fault], channel: str) -> None:
    """Add the faults of a channel to it."""
    for fault in planted:
        if fault.channel == channel:
            values[fault.start : fault.start + fault.minutes] += fault.size


def stuck(on: Array, planted: list[Fault], channel: str) -> Array:
    """The same for something that is on or off: during a fault it is on."""
    for fault in planted:
        if fault.channel == channel:
            on[fault.start : fault.start + fault.minutes] = True
    return on


def oven_on(oven: Oven, minutes: int, rng: np.random.Generator) -> Array:
    """Minute by minute: the chance of a start depends on the hour, so there are no runs to draw at once."""
    start_chance = np.zeros(1440)
    for first, end, chance in oven.meals:
        start_chance[first * 60 : end * 60] = chance
    starts = (rng.random(minutes) < np.resize(start_chance, minutes)).tolist()
    stops = (rng.random(minutes) < oven.off_per_minute).tolist()
    on = np.zeros(minutes, bool)
    state = False
    for minute in range(minutes):
        state = (not stops[minute]) if state else starts[minute]
        on[minute] = state
    return on


def fridge_on(fridge: Fridge, minutes: int, rng: np.random.Generator) -> Array:
    """A Markov chain stays in a state for a geometrically distributed time."""
    pairs = int(minutes * fridge.on_per_minute) + 10  # half as many again as will be needed
    stays = np.column_stack([rng.geometric(fridge.on_per_minute, pairs), rng.geometric(fridge.off_per_minute, pairs)])
    return np.repeat(np.tile([False, True], pairs), stays.ravel())[:minutes]


def heat_pump_w(heat_pump: HeatPump, outdoor_c: Array, planted: list[Fault], rng: np.random.Generator) -> Array:
    heating = heat_pump.slope_w_per_k * np.maximum(0, heat_pump.balance_c - outdoor_c)
    for fault in planted:
        if fault.channel == "climate":
            heating[fault.start : fault.start + fault.minutes] = 0
    return heat_pump.standby_w + heating + rng.normal(0, heat_pump.noise_w, len(outdoor_c))


def simulate(truth: Truth, period: Period) -> tuple[Array, Array]:
    """What a perfect meter would read, a row for each quantity of readings.py, and the hourly temperature outside."""
    rng = np.random.default_rng(SEED)
    minute, planted = np.arange(period.minutes), faults(period)
    hourly_c = weather.make(period, rng)

    unmetered = np.array(truth.profile_w) @ profile.basis(minute, period)
    timer = truth.pump
    unmetered += timer.power_w * pump.share_on(minute, timer.period_min, timer.duty, timer.phase)
    unmetered += rng.normal(0, truth.unmetered_noise_w, period.minutes)
    plant(unmetered, planted, "unmetered")

    oven, fridge = truth.oven, truth.fridge
    kitchen = oven.standby_w + oven.power_w * stuck(oven_on(oven, period.minutes, rng), planted, "kitchen")
    kitchen += rng.normal(0, oven.noise_w, period.minutes)
    utility = fridge.standby_w + fridge.power_w * stuck(fridge_on(fridge, period.minutes, rng), planted, "utility")
    utility += rng.normal(0, fridge.noise_w, period.minutes)
    climate = heat_pump_w(truth.heat_pump, weather.at(minute, hourly_c), planted, rng)

    supply = truth.supply
    loads = np.stack([unmetered, kitchen, utility, climate])
    active = loads.sum(axis=0)
    reactive = np.array(supply.reactive_shares) @ loads + rng.normal(0, supply.reactive_noise_w, period.minutes)
    # Current lowers the voltage, which raises the current: V = V0 - R S / V has this solution.
    apparent = np.hypot(active, reactive)
    voltage = (supply.open_v + np.sqrt(supply.open_v**2 - 4 * supply.resistance_ohm * apparent)) / 2
    current = apparent / voltage
    voltage += rng.normal(0, supply.noise_v, period.minutes)
    plant(voltage, planted, "voltage")
    return np.stack([active, reactive, voltage, current, kitchen, utility, climate]), hourly_c
