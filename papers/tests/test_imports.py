"""Who may import whom: studies import the product and the frame, and only the commands import `headway.cli`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

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


def test_imports_point_down() -> None:
    wrong = [f"{path.relative_to(ROOT)}: {why}" for path in FILES for why in offences(path)]
    assert FILES and wrong == []


def offences(path: Path) -> Iterator[str]:
    """Say what is wrong with the imports of a module."""
    here = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for module in imports(path):
        if module.startswith("headway.cli") and (here != "cli" or module not in COMMANDS_MAY_USE):
            yield f"it may not import {module}"
        if module.startswith("headway_papers.") and room(module) != here:
            there = room(module)
            if there == "cli":
                yield f"nothing imports a command: {module}"
            if here == "frame":
                yield f"the frame knows no study: {module}"
            if here != "cli" and there in STUDIES:
                yield f"studies do not import one another: {module}"
