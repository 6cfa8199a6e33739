"""Sizers as the table of ways of sizing makes them."""

from __future__ import annotations

from collections.abc import Callable

from headway.sizing import SIZERS
from headway.sizing.base import Sizer
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.base import Estimator


def sizer_of(estimator: type[Estimator], resource: str = "memory_bytes") -> EstimatedSizer:
    """Make the sizer of an estimator for a resource."""
    sizer = maker_of(estimator)(resource)
    assert isinstance(sizer, EstimatedSizer)
    return sizer


def maker_of(estimator: type[Estimator]) -> Callable[[str], Sizer]:
    """Return the function that makes the sizers of an estimator, by resource."""
    make = SIZERS[estimator.name].sizer
    assert make is not None
    return make
