"""Printing text to a console: wrapped on a screen, or never wrapped."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def say(console: Console, line: Text | str, style: str = "") -> None:
    """Print prose: wrapped between words on a screen, as one line in a file."""
    console.print(line, style=style, soft_wrap=not console.is_terminal)


def show(console: Console, line: Text | str, style: str = "") -> None:
    """Print a line that is never wrapped, such as a command to copy or a table row."""
    console.print(line, style=style, soft_wrap=True)
