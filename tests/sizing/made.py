"""Sizers for the tests: those that the table of ways of sizing makes."""

from __future__ import annotations

from collections.abc import Callable

from headway.sizing import SIZERS
from headway.sizing.base import Sizer
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.base import Estimator


def sizer_of(estimator: type[Estimator], resource: str = "memory_bytes") -> EstimatedSizer:
    """Make a sizer of the way that is named as the estimator."""
    sizer = maker_of(estimator)(resource)
    assert isinstance(sizer, EstimatedSizer)
    return sizer


def maker_of(estimator: type[Estimator]) -> Callable[[str], Sizer]:
    """What makes such sizers."""
    make = SIZERS[estimator.name].sizer
    assert make is not None
    return make
