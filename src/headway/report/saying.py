"""Printing lines of text to a console: wrapped on a screen, or never wrapped."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def say(console: Console, *lines: Text | str, style: str = "") -> None:
    """Print prose: each line is wrapped between words on a screen, and stays one line in a file."""
    for line in lines:
        console.print(line, style=style, soft_wrap=not console.is_terminal)


def show(console: Console, *lines: Text | str, style: str = "") -> None:
    """Print lines that are never wrapped, such as a command to copy or the rows of a table."""
    for line in lines:
        console.print(line, style=style, soft_wrap=True)
