"""Modules in the workflow's directory are not imported, neither by commands nor by the processes that they start."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import headway
from tests.security.test_foreign_folder import WORKFLOW, Flow

OURS = ("click", "cloudpickle", "msgspec", "numba", "numpy", "rich", "yaml", "pip", "sitecustomize", "usercustomize")
SOURCES = Path(headway.__file__).parent


def planted(directory: Path, but: set[str]) -> None:
    """A module in place of each one of Python's own and of those that Headway needs."""
    for name in {*sys.stdlib_module_names, *OURS} - but:
        (directory / f"{name}.py").write_text(f"raise SystemExit('{name} was imported')\n")


def before_ours() -> set[str]:
    """What Python itself imports for `python -m` before it comes to the module that it is to run.

    `__future__` is first of all in the packages above that module.
    """
    names = subprocess.run(
        [sys.executable, "-I", "-c", "import runpy, pkgutil, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {"__future__", *(name.partition(".")[0] for name in names.split())}


@pytest.mark.parametrize("way", ["headway", "python -P -m headway", "python -m headway"])
def test_python_imports_nothing_from_the_workflows_directory(tmp_path: Path, way: str) -> None:
    """Of `python -m headway` that holds for all but what Python imports first, which nothing of ours can prevent."""
    Flow(tmp_path, WORKFLOW)
    script = shutil.which("headway", path=str(Path(sys.executable).parent))
    assert script is not None
    command = [script] if way == "headway" else [sys.executable, *way.split()[1:]]
    planted(tmp_path, but=before_ours() if way == "python -m headway" else set())
    done = subprocess.run([*command, "run"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "was imported" not in done.stdout + done.stderr
    assert (tmp_path / "out").exists()


def test_every_python_that_is_started_looks_for_nothing_where_it_is_started() -> None:
    found = 0
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 1 and _is_python(node.elts[0]):
                found += 1
                flag = node.elts[1]
                assert isinstance(flag, ast.Constant) and flag.value in ("-P", "-I"), f"{path}:{node.lineno}"
    assert found >= 10


def _is_python(node: ast.expr) -> bool:
    return ast.unparse(node) in ("sys.executable", "'python3'", "f'{prefix}/bin/python'")
