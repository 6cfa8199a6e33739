"""The examples in the formats' docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import headway.formats

MODULES = [f"headway.formats.{module.name}" for module in pkgutil.iter_modules(headway.formats.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    assert sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES) >= 3
