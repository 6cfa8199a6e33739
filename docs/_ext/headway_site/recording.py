"""Record commands in a real shell as a moving picture: an SVG that CSS animates, so that it plays without a script."""

from __future__ import annotations

import html
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

COLUMNS, ROWS = 100, 24
CHARACTER, LINE, EDGE = 8.0, 18, 16  # pixels
TYPED_S, THINK_S, READ_S, LAST_S = (
    0.045,
    0.7,
    0.09,
    5.0,
)  # a typed character; before a command; to read a line; at the end
LONGEST_S = 1.2  # of a pause in the output
STYLE = """\
text{font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;fill:#d7dee8}
.c{fill:#fff;font-weight:600}.p{fill:#7ee2a8}.g{fill:#7ee2a8}.r{fill:#ffb86b}
@media (prefers-reduced-motion:reduce){*{animation:none!important}}
"""


class Shown(NamedTuple):
    """One line of the terminal, and when it appears."""

    text: str
    at_s: float
    typed_s: float = 0.0  # how long it takes to type; 0: it is output


def record(commands: list[str], files: dict[str, str]) -> str:
    """Run the commands one after the other in an empty directory and return the picture."""
    lines: list[Shown] = []
    now = 0.0
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder).resolve() / "first"
        directory.mkdir()
        for name, text in files.items():
            (directory / name).write_text(text)
        for command in commands:
            now += THINK_S
            lines.append(Shown(command, now, len(command) * TYPED_S))
            now += len(command) * TYPED_S + 0.2
            output = _output(command, directory)
            for text, pause_s in output:
                now += min(pause_s, LONGEST_S)
                lines.append(Shown(text.replace(str(directory), "~/first"), now))
            now += len(output) * READ_S
    return _picture(lines, now + LAST_S)


def _output(command: str, directory: Path) -> list[tuple[str, float]]:
    """Return the lines that a command prints, each with the time since the line before."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWAY", "_HEADWAY"))}
    places = {
        "HEADWAY_HISTORY": "none",
        "XDG_STATE_HOME": str(directory.parent),
        "XDG_CONFIG_HOME": str(directory.parent),
    }
    environment = kept | places | {"PATH": path, "COLUMNS": str(COLUMNS), "PYTHONUNBUFFERED": "1"}
    shell = subprocess.Popen(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert shell.stdout is not None
    found, last = [], time.monotonic()
    for line in shell.stdout:
        now = time.monotonic()
        found.append((line.rstrip()[:COLUMNS], now - last))
        last = now
    if shell.wait() != 0:
        raise RuntimeError(f"{command} failed: {found}")
    return found


def _picture(lines: list[Shown], took_s: float) -> str:
    """Return the SVG: lines that appear, a shade that uncovers what is typed, and a screen that scrolls."""
    wide, high = COLUMNS * CHARACTER + 2 * EDGE, ROWS * LINE + 2 * EDGE
    rules, shapes = [], []
    for number, line in enumerate(lines):
        y = EDGE + (number + 1) * LINE - 5
        rules.append(_frames(f"l{number}", took_s, [(0, "visibility:hidden"), (line.at_s, "visibility:visible")]))
        shapes.append(f'<g style="animation-name:l{number}">{_line(line, y)}</g>')
        if line.typed_s:
            start, length = EDGE + 2 * CHARACTER, len(line.text) * CHARACTER
            begun, ended = (f"{100 * at / took_s:.2f}%" for at in (line.at_s, line.at_s + line.typed_s))
            rules.append(
                f"@keyframes t{number}{{0%,{begun}{{transform:scaleX(1);"
                f"animation-timing-function:steps({len(line.text)},end)}}{ended},100%{{transform:scaleX(0)}}}}"
            )
            shapes.append(
                f'<rect class="t" style="animation-name:t{number};transform-origin:{start + length}px 0" x="{start}" '
                f'y="{y - 13}" width="{length}" height="{LINE}" fill="#16202c" transform="scale(0 1)"/>'
            )
    scrolls = [(line.at_s, max(0, number + 1 - ROWS)) for number, line in enumerate(lines)]
    moves = [(0.0, "transform:translateY(0)")] + [
        (at, f"transform:translateY({-by * LINE}px)") for at, by in scrolls if by
    ]
    rules.append(_frames("scroll", took_s, moves))
    last = -max(0, len(lines) - ROWS) * LINE
    looped = f"animation-duration:{took_s:.2f}s;animation-iteration-count:infinite"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}" height="{high}" '
        f'role="img" aria-label="A recorded terminal: headway run, run again, and headway why">'
        f"<style>{STYLE}g,.t{{{looped}}}g{{animation-timing-function:step-end}}{''.join(rules)}</style>"
        f'<rect width="100%" height="100%" rx="10" fill="#16202c"/><clipPath id="screen"><rect x="0" y="{EDGE + 1}" '
        f'width="{wide:.0f}" height="{ROWS * LINE + 8}"/></clipPath><g clip-path="url(#screen)">'
        f'<g style="animation-name:scroll;transform:translateY({last}px)">{"".join(shapes)}</g></g></svg>\n'
    )


def _line(line: Shown, y: float) -> str:
    text = html.escape(line.text)
    if line.typed_s:
        return f'<text x="{EDGE}" y="{y}"><tspan class="p">$ </tspan><tspan class="c">{text}</tspan></text>'
    kind = "g" if "succeeded" in line.text else "r" if "retry" in line.text else ""
    return f'<text x="{EDGE}" y="{y}"{f" class={chr(34)}{kind}{chr(34)}" if kind else ""}>{text}</text>' if text else ""


def _frames(name: str, took_s: float, moments: list[tuple[float, str]]) -> str:
    """Return the keyframes of an animation that jumps at certain moments."""
    return f"@keyframes {name}{{{''.join(f'{100 * at / took_s:.2f}%{{{what}}}' for at, what in moments)}}}"
