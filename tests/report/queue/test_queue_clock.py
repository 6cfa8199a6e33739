"""Hours, dates and windows of a simulated queue."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.errors import InputError
from headway.report.charts import duration_marks, number_marks
from headway.report.queue.charts import time_marks
from headway.report.queue.clock import DAY_S, Clock, check_window, clock_of, window_of

NOON = datetime(1996, 9, 23, 12, tzinfo=UTC).timestamp()
STOCKHOLM = clock_of(NOON, {"TimeZone": "3600", "TimeZoneString": "Europe/Stockholm"})


def test_the_zone_of_the_log() -> None:
    assert STOCKHOLM.hours_are == "Europe/Stockholm"
    assert STOCKHOLM.words(0.0) == "1996-09-23 14:00", "summer time, which TimeZone does not know of"
    assert clock_of(NOON, {"TimeZone": "3600"}).words(0.0) == "1996-09-23 13:00"
    assert clock_of(NOON, {"TimeZone": "-18000"}).hours_are == "UTC-05:00"
    assert clock_of(NOON, {}).hours_are == "UTC"


@pytest.mark.parametrize("zone", ["Nowhere/Atall", "../../etc/passwd", "", "/etc/localtime", "\0"])
def test_an_unknown_time_zone_is_ignored(zone: str) -> None:
    assert clock_of(NOON, {"TimeZoneString": zone}).words(0.0) == "1996-09-23 12:00"
    assert clock_of(NOON, {"TimeZone": "noon"}).words(0.0) == "1996-09-23 12:00"
    assert clock_of(NOON, {"TimeZone": "99999999999"}).hours_are == "UTC"


def test_hours_of_the_day_change_with_the_clocks() -> None:
    """On 1996-10-27 at 01:00 UTC clocks in Stockholm were set back from three to two."""
    change = datetime(1996, 10, 27, 1, tzinfo=UTC).timestamp() - NOON
    at_s = change + np.array([-3600.0, -1.0, 0.0, 3599.0, 3600.0])
    assert STOCKHOLM.hours_of_day(at_s).tolist() == [2, 2, 2, 2, 3]
    assert STOCKHOLM.day_after(change) - STOCKHOLM.day_begins(change) == 25 * 3600


def test_without_a_date_hours_count_from_the_first_submission() -> None:
    clock = clock_of(None, {"TimeZoneString": "Europe/Stockholm"})
    assert clock.hours_of_day(np.array([0.0, 3599.0, 3600.0, DAY_S, 2 * DAY_S - 1])).tolist() == [0, 0, 1, 0, 23]
    assert clock.words(12 * DAY_S + 14 * 3600 + 300) == "day 12, 14:05"
    assert clock.hours_are == "since the first submission"


def test_windows() -> None:
    midnight = -14 * 3600.0
    assert window_of("1996-09-24", STOCKHOLM, "") == (midnight + DAY_S, midnight + 2 * DAY_S)
    assert window_of("1996-09-24..1996-09-26", STOCKHOLM, "") == (midnight + DAY_S, midnight + 3 * DAY_S)
    assert window_of("1996-09-23T15:00..2h", STOCKHOLM, "") == (3600.0, 7200.0)
    assert window_of("1996-09-23T12:00+00:00..1h", STOCKHOLM, "") == (0.0, 3600.0)
    assert window_of("36h .. 48h", Clock(), "") == (36 * 3600.0, 48 * 3600.0)
    assert window_of("12d", Clock(), "") == (12 * DAY_S, 13 * DAY_S)
    first, last = window_of("1996-10-27", STOCKHOLM, "")
    assert last - first == 25 * 3600


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("soon", "'soon' is not a time"),
        ("", "'' is not a time"),
        ("1h..", "'' is not a time"),
        ("2h..1h", "ends before it begins"),
        ("1h..1h", "ends before it begins"),
        ("1996-09-24", "has no dates"),
    ],
)
def test_invalid_windows(text: str, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        window_of(text, Clock(), "--window")
    assert "36h..48h" in str(caught.value)


def test_a_window_outside_of_the_schedule() -> None:
    check_window((0.0, 10.0), 5.0, Clock(), "")
    for window in ((5.0, 10.0), (-10.0, 0.0)):
        with pytest.raises(InputError, match="no jobs in this time span"):
            check_window(window, 5.0, Clock(), "")


@given(st.integers(1, 4 * 10**9), st.integers(0, 2 * 10**9), st.sampled_from([Clock(), STOCKHOLM, Clock(NOON, True)]))
def test_time_marks_are_inside_and_few(span_s: int, from_s: int, clock: Clock) -> None:
    marks = time_marks(clock, from_s, from_s + span_s)
    places = [at_s for at_s, _ in marks]
    assert places == sorted(set(places))
    assert all(from_s <= at_s <= from_s + span_s for at_s in places)
    assert len(marks) <= 15


def test_labels_of_marks() -> None:
    year = [words for _, words in time_marks(STOCKHOLM, 0.0, 365 * DAY_S)]
    assert year[:4] == ["Oct 1996", "Nov", "Dec", "Jan 1997"]
    assert [words for _, words in time_marks(STOCKHOLM, 0.0, 7 * DAY_S)][:2] == ["24 Sep", "25 Sep"]
    assert [words for _, words in time_marks(Clock(), 0.0, 5 * DAY_S)][:2] == ["day 0", "day 1"]
    assert [words for _, words in time_marks(Clock(), 0.0, DAY_S)][:2] == ["00:00", "02:00"]
    assert [words for _, words in time_marks(Clock(), 0.0, 60.0)][:2] == ["00:00:00", "00:00:05"]
    assert [words for _, words in number_marks(1629)] == ["0", "500", "1,000", "1,500", "2,000"]
    assert [words for _, words in duration_marks(9000)] == ["0", "1 h", "2 h", "3 h"]


@given(st.one_of(st.just(0.0), st.floats(1e-6, 1e12)))
def test_scales_cover_the_largest_value(most: float) -> None:
    for marks in (number_marks(most), duration_marks(most)):
        assert marks[0][0] == 0
        assert marks[-1][0] >= most * (1 - 1e-6)
        assert len(marks) <= 6
