"""`Clock`: hours and dates of a simulated queue, where its log has them; the time windows that users name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.model.batch_log import Seconds
from headway.model.errors import InputError
from headway.model.units import parse_duration

Span = tuple[float, float]

DAY_S = 86_400.0
_QUARTER_S = 900.0
_LAST_S = datetime(9999, 12, 30, tzinfo=UTC).timestamp()  # no date is later, in any time zone


class Clock(Struct, frozen=True):
    """Turns seconds since the first submission into hours and dates.

    If no date is known, `dated` is false and the first submission counts as midnight of day 0.
    """

    started_at: float = 0.0  # the first submission, in seconds since the epoch
    dated: bool = False
    zone: tzinfo = UTC
    zone_name: str = "UTC"

    @property
    def hours_are(self) -> str:
        """What hours of the day refer to: the name of a time zone, or the first submission."""
        return self.zone_name if self.dated else "since the first submission"

    def hours_of_day(self, at_s: Seconds) -> NDArray[np.int64]:
        """The hour of the day, 0 to 23, of each time."""
        epoch_s = at_s + self.started_at
        # One UTC offset per quarter of an hour is enough: clocks only change at full quarters.
        quarters, place = np.unique(np.floor_divide(np.minimum(epoch_s, _LAST_S), _QUARTER_S), return_inverse=True)
        ahead = [datetime.fromtimestamp(float(each) * _QUARTER_S, self.zone).utcoffset() for each in quarters]
        ahead_s = np.array([each.total_seconds() if each else 0.0 for each in ahead])
        hours: NDArray[np.int64] = np.floor_divide(epoch_s + ahead_s[place], 3600.0).astype(np.int64) % 24
        return hours

    def moment(self, at_s: float) -> datetime:
        """Date and time on the machine's clock; without a known date only the time of day is meaningful."""
        return datetime.fromtimestamp(min(self.started_at + at_s, _LAST_S), self.zone)

    def at(self, moment: datetime) -> float:
        """Seconds from the first submission to `moment`; without a time zone it is in the machine's own."""
        local = moment if moment.tzinfo else moment.replace(tzinfo=self.zone)
        return local.timestamp() - self.started_at

    def day_begins(self, at_s: float) -> float:
        """The last midnight at or before `at_s`."""
        return self.at(self.moment(at_s).replace(hour=0, minute=0, second=0, microsecond=0, fold=0))

    def day_after(self, at_s: float) -> float:
        """The next midnight after `at_s`; a day on which clocks change has 23 or 25 hours."""
        return self.day_begins(self.day_begins(at_s) + 1.25 * DAY_S)

    def words(self, at_s: float) -> str:
        """`1996-10-03 14:05`, or `day 12, 14:05` if no date is known; the first day is day 0."""
        now = self.moment(at_s)
        return f"{now:%Y-%m-%d %H:%M}" if self.dated else f"day {at_s // DAY_S:,.0f}, {now:%H:%M}"


def clock_of(started_at: float | None, header: dict[str, str]) -> Clock:
    """The clock of a log, with the time zone that its header names (Standard Workload Format).

    `TimeZoneString` is the name of a zone with its daylight saving time; the older `TimeZone` is the offset from UTC in
    seconds. Without a zone that this machine knows, times are in UTC.
    """
    if started_at is None:
        return Clock()
    told = {key.casefold(): value.strip() for key, value in header.items()}
    name = told.get("timezonestring", "")
    if name:
        try:
            return Clock(started_at, True, ZoneInfo(name), name)
        except (KeyError, ValueError, OSError):
            pass
    try:
        zone = timezone(timedelta(seconds=int(told.get("timezone", "0"))))
    except (ValueError, OverflowError):
        zone = UTC
    return Clock(started_at, True, zone, str(zone))


# --- time windows ---


_DATES = "write a day as 2024-03-01, a time span as 2024-03-01T08:00..2024-03-02, or count from the first job: 36h..48h"
_COUNTED = "count from the first job: 12d for a day, or 36h..48h"


def window_of(text: str, clock: Clock, where: str) -> Span:
    """Parse FROM..TO, or a day; each time is a date or a duration since the first submission."""
    begin, dots, end = (part.strip() for part in text.partition(".."))
    from_s = _time(begin, clock, where)
    if dots:
        to_s = _time(end, clock, where)
    else:  # the calendar day of a date, which may have 23 or 25 hours; otherwise 24 hours
        to_s = clock.day_after(from_s) if clock.day_begins(from_s) == from_s else from_s + DAY_S
    if from_s >= to_s:
        raise InputError(f"{text!r} ends before it begins", where=where, todo=_todo(clock))
    return from_s, to_s


def check_window(window: Span, end_s: float, clock: Clock, where: str) -> None:
    """Raise an InputError if the window lies outside of the schedule, which ends at `end_s`."""
    if window[0] >= end_s or window[1] <= 0:
        raise InputError(
            "there are no jobs in this time span",
            where=where,
            todo=f"the schedule goes from {clock.words(0.0)} to {clock.words(end_s)}",
        )


def _time(text: str, clock: Clock, where: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            return parse_duration(text)
        except InputError:
            raise InputError(f"{text!r} is not a time", where=where, todo=_todo(clock)) from None
    if not clock.dated:
        raise InputError("this log has no dates", where=where, todo=_COUNTED)
    try:
        return clock.at(moment)
    except (OverflowError, OSError, ValueError):
        raise InputError(f"{text!r} is too far in the past or future", where=where, todo=_todo(clock)) from None


def _todo(clock: Clock) -> str:
    return _DATES if clock.dated else _COUNTED
