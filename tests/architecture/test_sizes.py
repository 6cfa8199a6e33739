"""How long functions and files of the command line may be."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "headway"
MOST_LINES_OF_A_FUNCTION = 80
MOST_LINES_OF_A_VERB = 150


def length(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_no_function_is_long() -> None:
    long = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}"
        for path in SOURCE.rglob("*.py")
        if "kernels" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


def test_the_command_line_only_parses_calls_and_prints() -> None:
    assert [path.name for path in (SOURCE / "cli").glob("*.py") if length(path) > MOST_LINES_OF_A_VERB] == []
