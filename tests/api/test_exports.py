"""`import headway` offers every function of the API, and costs little."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_starting_a_run_does_not_import_numba(tmp_path: Path) -> None:
    """Importing numba takes longer than everything else that a short run does."""
    (tmp_path / "workflow.yaml").write_text("name: w\ntasks: {t: {run: 'true'}}\n")
    code = "import headway, sys; headway.start('workflow.yaml'); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"
