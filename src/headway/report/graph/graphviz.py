"""A workflow's graph in Graphviz's DOT language."""

from __future__ import annotations

from collections.abc import Iterator

from headway.report.columns import one_line
from headway.report.graph.picture import Picture


def dot_lines(title: str, picture: Picture) -> Iterator[str]:
    """The picture as a digraph; node names are the names of tasks or categories."""
    yield f"digraph {_quoted(title)} {{"
    yield '  graph [rankdir=TB, fontname="Helvetica", bgcolor="transparent"];'
    yield '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontcolor="white", color="#00000000"];'
    yield '  edge [color="#8c8c8c", arrowsize=0.6];'
    names = [_quoted(box.name) for box in picture.boxes]
    if len(set(names)) < len(names):  # some names differ only in unprintable characters
        names = [f"n{place}" for place in range(len(names))]
    for name, box in zip(names, picture.boxes, strict=True):
        label = _quoted(box.name, box.caption) if box.caption else _quoted(box.name)
        path = ', color="black", penwidth=2' if box.critical else ""
        colour = picture.colours[box.category]
        yield f'  {name} [label={label}, tooltip={_quoted(box.name, *box.notes)}, fillcolor="{colour}"{path}];'
    for line in picture.lines:
        marks = [f'label="{line.dependencies:,}"'] if line.dependencies > 1 else []
        marks += ['color="black", penwidth=2'] if line.critical else []
        attributes = f" [{', '.join(marks)}]" if marks else ""
        yield f"  {names[line.source]} -> {names[line.target]}{attributes};"
    yield "}"


def _quoted(*lines: str) -> str:
    """The lines as one quoted string, with everything escaped that Graphviz would interpret."""
    escaped = (one_line(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    text = "\\n".join(escaped)
    return f'"{text}"'.encode("utf-8", "replace").decode()
