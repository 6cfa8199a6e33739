"""The examples in docstrings and in docs/sizing.md are true, and every estimator has one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import headway.kernels
import headway.ordering
import headway.sizing
from headway.drivers.assemble import sizers
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.base import Estimator
from headway.testing import EstimatorContract

MODULES = sorted(
    found.name
    for package in (headway.sizing, headway.ordering, headway.kernels)
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if ".batch" not in found.name
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    assert not doctest.testmod(importlib.import_module(name)).failed


@pytest.mark.parametrize("name", sorted(sizers()))
def test_every_estimator_has_an_example(name: str) -> None:
    sizer = sizers()[name]("memory_bytes")
    assert isinstance(sizer, EstimatedSizer)
    assert any(">>>" in (kind.__doc__ or "") for kind in type(sizer.estimator).__mro__)


class TestTheEstimatorOfThePage(EstimatorContract):
    """The estimator that docs/sizing.md shows."""

    def make(self) -> Estimator:
        page = (Path(__file__).parents[2] / "docs" / "sizing.md").read_text()
        (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        names: dict[str, type[Estimator]] = {}
        exec(code, names)
        return names["MeanAndAHalf"]()
