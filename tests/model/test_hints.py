"""Resource hints as programs pass them."""

from __future__ import annotations

import math

import pytest

from headway.model.errors import InputError
from headway.model.hints import hints


def test_amounts_with_units_and_without() -> None:
    stated = {"memory": "2 GB", "disk": 5, "time": "1m", "cores": 0.5, "gpus": 0, "licence": 0}
    assert hints(stated) == {
        "memory_bytes": 2e9,
        "disk_bytes": 5,
        "walltime_s": 60,
        "cores": 0.5,
        "gpus": 0,
        "licence": 0,
    }


@pytest.mark.parametrize(
    ("name", "nothing"),
    [
        ("memory", 0),
        ("memory", "0 GB"),
        ("disk", 0),
        ("disk", "0 B"),
        ("time", 0.0),
        ("time", "0s"),
        ("time", "00:00"),
        ("cores", 0),
        ("memory_bytes", 0),
    ],
)
def test_a_hint_of_zero_is_refused(name: str, nothing: float | str) -> None:
    with pytest.raises(InputError) as caught:
        hints({name: nothing})
    assert str(caught.value) == f"{name} is {nothing!r}, which is nothing; write more, or leave it out"


@pytest.mark.parametrize("name", ["memory", "disk", "time", "cores"])
@pytest.mark.parametrize("amount", [math.nan, math.inf, -math.inf, -1])
def test_impossible_amounts_are_refused(name: str, amount: float) -> None:
    with pytest.raises(InputError, match="not a number of at least 0"):
        hints({name: amount})
