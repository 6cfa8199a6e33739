"""Print how much code there is, room by room, beside the last release: `make size`.

Counted are lines of code (no blank lines, comments or docstrings), files, and tokens as Python's tokenizer splits them.
Lines say little when they are long: tokens do not depend on how a text is broken into lines.

`python -m tests.size --of COMMIT --write` counts a commit and keeps its table, in `tests/released_size.json`.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import subprocess
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RELEASED = Path(__file__).with_name("released_size.json")
PRODUCT, PAPERS, TESTS = "src/headway", "papers/src", "tests"
_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


class Size(NamedTuple):
    """How much code some files have."""

    lines: int = 0
    files: int = 0
    tokens: int = 0

    def plus(self, other: Size) -> Size:
        return Size(*(mine + its for mine, its in zip(self, other, strict=True)))


def size_of(text: str) -> Size:
    """Count the code of one file."""
    documented = set(_docstring_lines(text))
    lines: set[int] = set()
    tokens = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE and token.start[0] not in documented:
            tokens += 1
            lines.update(range(token.start[0], token.end[0] + 1))
    return Size(len(lines), 1, tokens)


def _docstring_lines(text: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def room_of(path: PurePosixPath) -> str:
    """Return the room of a file: `src/headway/engine`, or papers and tests as a whole; empty if not counted."""
    if path.suffix != ".py":
        return ""
    if path.is_relative_to(PRODUCT):
        parts = path.relative_to(PRODUCT).parts
        return f"{PRODUCT}/{parts[0] if len(parts) > 1 else '*.py'}"
    if path.is_relative_to(PAPERS):
        return PAPERS
    return TESTS if path.is_relative_to(TESTS) or path.is_relative_to("papers/tests") else ""


def count(files: Iterable[tuple[str, str]]) -> dict[str, Size]:
    """Count files, given as path and text, by room."""
    rooms: dict[str, Size] = {}
    for name, text in files:
        if room := room_of(PurePosixPath(name)):
            rooms[room] = rooms.get(room, Size()).plus(size_of(text))
    return dict(sorted(rooms.items()))


def here() -> Iterator[tuple[str, str]]:
    """Yield path and text of each Python file of the working tree."""
    for folder in (PRODUCT, PAPERS, TESTS, "papers/tests"):
        for path in (ROOT / folder).rglob("*.py"):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def at(commit: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of each Python file of a commit."""
    for name in _git("ls-tree", "-r", "--name-only", commit).splitlines():
        if room_of(PurePosixPath(name)):
            yield name, _git("show", f"{commit}:{name}")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def totals(rooms: dict[str, Size]) -> dict[str, Size]:
    """Add up product, papers and tests."""
    sums: dict[str, Size] = {}
    for room, size in rooms.items():
        whole = PRODUCT if room.startswith(f"{PRODUCT}/") else room
        sums[whole] = sums.get(whole, Size()).plus(size)
    return sums


def table(now: dict[str, Size], before: dict[str, Size], release: str) -> str:
    """Return the rows of all rooms and of the whole, each figure beside that of the release."""
    head = f"{'room':30} {'lines':>7} {release:>7} {'files':>6} {release:>6} {'tokens':>8} {release:>8}"
    rows = [head]
    for rooms, old in ((now, before), (totals(now), totals(before))):
        for room in sorted(rooms.keys() | old.keys()):
            mine, its = rooms.get(room, Size()), old.get(room, Size())
            figures = (
                f"{mine.lines:>7,} {its.lines:>7,} {mine.files:>6} {its.files:>6} {mine.tokens:>8,} {its.tokens:>8,}"
            )
            rows.append(f"{room:30} {figures}")
        rows.append("")
    return "\n".join(rows).rstrip()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.size", description=__doc__)
    parser.add_argument("--of", metavar="COMMIT", default="", help="count this commit, not the working tree")
    parser.add_argument("--release", metavar="VERSION", default="", help="its version, for --write")
    parser.add_argument("--write", action="store_true", help="keep its table, as that of the last release")
    given = parser.parse_args()
    rooms = count(at(given.of) if given.of else here())
    if given.write:
        commit = _git("rev-parse", given.of or "HEAD").strip()
        made_by = f"python -m tests.size --of {commit[:12]} --release {given.release} --write"
        kept = {"release": given.release, "made_by": made_by, "rooms": rooms}
        RELEASED.write_text(json.dumps(kept, indent=1) + "\n")
    released = json.loads(RELEASED.read_text())
    before = {room: Size(*size) for room, size in released["rooms"].items()}
    print(table(rooms, before, released["release"]))


if __name__ == "__main__":
    main()
