"""Each line of the threat model in SECURITY.md names a test, and there is such a test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text().partition("## Packages")[0]
LINES = [line for line in TEXT.splitlines() if line.startswith("| ") and "held by" not in line]


def test_there_are_lines_for_each_concern() -> None:
    assert len(LINES) > 25
    for concern in (
        "0600",
        "token",
        "keys",
        "TLS",
        "pickle",
        "quoted",
        "settings",
        "plugin",
        "password",
        "link",
        "draft",
    ):
        assert concern in TEXT


def test_each_line_names_a_test_that_exists() -> None:
    for line in LINES:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", line)
        assert named, line
        for path, name in named:
            tree = ast.parse((ROOT / path).read_text())
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{path}::{name}"
