"""What an hour sooner is worth."""

from __future__ import annotations

import pytest

from headway.drivers.assemble import assemble
from headway.drivers.run_settings import RunSettings, run_started
from headway.model.errors import InputError
from headway.model.preference import Preference


@pytest.mark.parametrize(
    ("text", "factor"), [("time", 500.0), ("balanced", 50.0), ("cost", 5.0), ("64", 2.0), (16, 0.5)]
)
def test_a_preference_weighs_time_against_core_hours(text: str | float, factor: float) -> None:
    assert Preference.of(text).factor(mean_cores=32.0) == factor


def test_the_less_time_is_worth_the_later_the_end_may_be() -> None:
    later = [Preference.of(text).nearly(mean_cores=10.0) for text in ("time", "balanced", "cost", "0")]
    assert later == sorted(later)
    assert later[1] == pytest.approx(1.02)


@pytest.mark.parametrize("text", ["fast", "-1", "nan", "inf", ""])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a preference"):
        Preference.of(text)


def test_a_run_tells_its_plan() -> None:
    told: list[Preference] = []
    started = run_started(RunSettings(plan="headway", prefer="cost"), name="w", at=0.0)
    engine = assemble(started)
    engine.planner.prefer = told.append  # type: ignore[method-assign]
    assemble(started, engine.planner)
    assert told == [Preference.of("cost")]
