"""The truth: every number that the made household is made of, and what goes wrong in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from power.period import Period

SEED = 1442  # the number of days in the data set that the Statistics workflow of Souza et al. 2020 reads

PROFILE_W = (
    *(480.0, 60.0),  # base load, and what a weekend adds to it
    *(-105.0, -90.0, 15.0, -70.0, 32.0, 18.0, -20.0, 12.0),  # cosine and sine of 1 to 4 cycles a day
    *(25.0, 20.0, -18.0, 10.0),  # of 1 and 2 cycles a day, at weekends only
    *(45.0, 12.0),  # of one cycle a year: lamps burn longer in winter
)


@dataclass(frozen=True)
class Oven:
    """Kitchen (sub-metering 1): started at meals, on for a geometrically distributed time."""

    standby_w: float = 60.0
    power_w: float = 2_100.0
    noise_w: float = 12.0
    # First hour, hour after the last, probability of a start in a minute in which it is off.
    meals: tuple[tuple[int, int, float], ...] = ((7, 9, 0.004), (12, 14, 0.003), (18, 21, 0.006))
    off_per_minute: float = 1 / 35


@dataclass(frozen=True)
class Fridge:
    """Utility room (sub-metering 2): a two-state Markov chain, day and night."""

    standby_w: float = 60.0
    power_w: float = 110.0
    noise_w: float = 10.0
    on_per_minute: float = 1 / 28
    off_per_minute: float = 1 / 14


@dataclass(frozen=True)
class HeatPump:
    """Climate (sub-metering 3): works the harder the colder it is outside, below a balance point."""

    standby_w: float = 150.0
    slope_w_per_k: float = 95.0
    balance_c: float = 15.5
    noise_w: float = 28.0


@dataclass(frozen=True)
class Pump:
    """A circulation pump on a timer: not sub-metered, and of unknown period."""

    power_w: float = 80.0
    period_min: float = 97.3
    duty: float = 0.25
    phase: float = 0.31  # of a cycle, at the period's first minute


@dataclass(frozen=True)
class Supply:
    """The cable to the house: voltage sags with current. Reactive power is a share of each active one."""

    open_v: float = 241.5
    resistance_ohm: float = 0.24
    noise_v: float = 0.8
    reactive_shares: tuple[float, ...] = (0.12, 0.01, 0.55, 0.30)  # unmetered, kitchen, utility, climate
    reactive_noise_w: float = 20.0


@dataclass(frozen=True)
class Truth:
    """All of it."""

    profile_w: tuple[float, ...] = PROFILE_W
    unmetered_noise_w: float = 45.0
    oven: Oven = field(default_factory=Oven)
    fridge: Fridge = field(default_factory=Fridge)
    heat_pump: HeatPump = field(default_factory=HeatPump)
    pump: Pump = field(default_factory=Pump)
    supply: Supply = field(default_factory=Supply)


@dataclass(frozen=True)
class Fault:
    """Something that went wrong: where, from which minute on, for how long, and by how much."""

    what: str
    channel: str  # of those in explain.py
    start: int
    minutes: int
    size: float = 0.0

    def overlaps(self, start: int, minutes: int) -> bool:
        return start < self.start + self.minutes and self.start < start + minutes


def faults(period: Period) -> list[Fault]:
    """The planted ones: (share of the period gone by, hour of day), so that every period has them all."""

    def minute(share: float, hour: float) -> int:
        return int(share * period.days) * 1440 + int(hour * 60)

    return [
        Fault("heating circuit off", "climate", minute(0.055, 3), 180),
        Fault("heater forgotten", "unmetered", minute(0.20, 13), 300, 400.0),
        Fault("brown-out", "voltage", minute(0.37, 17.5), 40, -3.0),
        Fault("fridge left open", "utility", minute(0.54, 9), 540),
        Fault("lamp left on", "unmetered", minute(0.71, 0.5), 420, 40.0),
        Fault("oven left on", "kitchen", minute(0.88, 20), 660),
    ]
