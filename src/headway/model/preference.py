"""`Preference`: what an hour sooner is worth."""

from __future__ import annotations

from msgspec import Struct

from headway.model.errors import InputError

FACTORS = {"time": 500.0, "balanced": 50.0, "cost": 5.0}
_LATER = 1.0  # with a factor of 1, by which share later the end may be if that needs fewer nodes


class Preference(Struct, frozen=True):
    """An hour sooner is worth so many hours of what the run uses on average, or so many core-hours.

    >>> Preference.of("cost").factor(mean_cores=50.0), Preference.of("500").factor(mean_cores=50.0)
    (5.0, 10.0)
    """

    hours: float = FACTORS["balanced"]
    core_hours: float | None = None

    @classmethod
    def of(cls, text: str | float) -> Preference:
        """Read `time`, `balanced`, `cost` or a number of core-hours."""
        word = str(text).strip()
        if word in FACTORS:
            return cls(FACTORS[word])
        try:
            core_hours = float(word)
        except ValueError:
            core_hours = -1.0
        if not 0.0 <= core_hours < float("inf"):
            todo = "write time, balanced, cost, or how many core-hours an hour sooner is worth"
            raise InputError(f"{word!r} is not a preference", todo=todo)
        return cls(core_hours=core_hours)

    def factor(self, mean_cores: float) -> float:
        """What an hour sooner is worth, in hours of a run that uses so many cores on average."""
        return self.hours if self.core_hours is None else max(0.01, self.core_hours / max(1e-9, mean_cores))

    def nearly(self, mean_cores: float) -> float:
        """Of jobs that end within this factor of the earliest end, the one with the fewest nodes is taken."""
        return 1.0 + min(1.0, _LATER / self.factor(mean_cores))
