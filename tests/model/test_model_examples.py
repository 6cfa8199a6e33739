"""The examples in the docstrings of the model and of the planning policies are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import headway

ROOMS = ("model", "grouping", "planning", "waiting")
MODULES = [
    module.name
    for room in ROOMS
    for module in pkgutil.iter_modules([f"{headway.__path__[0]}/{room}"], f"headway.{room}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    assert sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES) >= 20
