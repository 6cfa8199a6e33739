"""Lines of text on a console: wrapped for readers, or left whole for those who copy."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def say(console: Console, line: Text | str, style: str = "") -> None:
    """Prose: on a screen wrapped between words, in a log one line."""
    console.print(line, style=style, soft_wrap=not console.is_terminal)


def show(console: Console, line: Text | str, style: str = "") -> None:
    """Something to copy, or laid out already: never broken."""
    console.print(line, style=style, soft_wrap=True)
