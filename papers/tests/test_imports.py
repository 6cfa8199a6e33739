"""Who may import whom: studies import the product and the frame, and only the commands import `headway.cli`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "headway_papers"
STUDIES = {"asa", "bucketing", "feedback", "glume", "rl"}
COMMANDS_MAY_USE = {"headway.cli.options", "headway.cli.output", "headway.cli.study_progress"}
FILES = sorted(ROOT.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def room(module: str) -> str:
    """The folder of a module of this distribution, or its name if it lies beside the folders."""
    return module.split(".")[1] if module.count(".") else ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    here = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for module in imports(path):
        if module.startswith("headway.cli"):
            assert here == "cli" and module in COMMANDS_MAY_USE, module
        if module.startswith("headway_papers.") and room(module) != here:
            there = room(module)
            assert there != "cli", "nothing imports a command"
            assert here != "frame", f"the frame knows no study: {module}"
            assert here == "cli" or there not in STUDIES, f"studies do not import one another: {module}"
