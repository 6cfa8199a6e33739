"""The examples in docstrings are true."""

from __future__ import annotations

import doctest

import headway.generators


def test_examples() -> None:
    failed, tried = doctest.testmod(headway.generators)
    assert tried > 0
    assert failed == 0
