"""`import headway` offers every function of the API, and costs little."""

from __future__ import annotations

import subprocess
import sys

import pytest

import headway
from headway.api import FUNCTIONS


def test_everything_is_listed() -> None:
    assert set(FUNCTIONS) <= set(dir(headway))
    assert {"run", "Executor", "Workflow", "RunSettings", "__version__"} <= set(dir(headway))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_there_and_explains_itself(name: str) -> None:
    function = getattr(headway, name)
    assert callable(function)
    assert function.__doc__
    assert "return" in function.__annotations__


def test_names_that_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'strat'"):
        headway.strat  # noqa: B018


def test_importing_it_loads_nothing_heavy() -> None:
    code = "import headway, sys; dir(headway); print(*{'numpy', 'msgspec', 'typing', 'asyncio'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:  # an editable install needs `site`
        code = code.replace("'typing', ", "")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
