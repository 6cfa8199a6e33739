"""Progress bars for the terminal: one line per category."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from headway.report.run.figures import Figures, task_state
from headway.report.words import harmless

# Parts of a bar from left to right: figure, colour, and a character that distinguishes it without colours.
_PARTS = (
    ("reused", "blue", "━"),
    ("succeeded", "green", "━"),
    ("failed", "red", "x"),
    ("cut_off", "red", "·"),
    ("running", "yellow", "╍"),
)


def bars(categories: list[Figures], width: int, room: int, run_state: str = "running") -> list[Text]:
    """One line per category, at most `room` lines; active categories come first if there are too many."""
    if not categories:  # a service that got no command
        return []
    shown = categories
    if len(categories) > room:
        unfinished = [figures for figures in categories if figures.done < figures.total]
        moving = [figures for figures in unfinished if figures.running or figures.failed]
        ranked = list(dict.fromkeys(figures.name for figures in [*moving, *unfinished, *categories]))
        chosen = set(ranked[: room - 1])
        shown = [figures for figures in categories if figures.name in chosen]
    names = max(min(cell_len(harmless(figures.name)), max(8, width // 4)) for figures in shown)
    numbers = max(len(_number(figures)) for figures in shown)
    notes = 22 if width >= 72 else 0
    length = max(5, min(60, width - names - numbers - notes - 4))
    lines = [
        Text.assemble(
            fitted(harmless(figures.name), names),
            "  ",
            bar(figures, length),
            "  ",
            f"{_number(figures):>{numbers}}",
            *(("  ", _note(figures, run_state)) if notes else ()),
        )
        for figures in shown
    ]
    hidden = [figures for figures in categories if figures not in shown]
    if hidden:
        done = sum(figures.done == figures.total for figures in hidden)
        lines.append(Text(f"… and {done} finished categories, {len(hidden) - done} unfinished", style="dim"))
    return lines


def bar(figures: Figures, length: int) -> Text:
    """A bar of `length` cells, divided in proportion to the states of the tasks."""
    text = Text()
    counted = cells = 0
    for name, colour, shape in _PARTS:
        number = getattr(figures, name)
        counted += number
        fair = length * counted // max(1, figures.total)
        reach = min(length, max(fair, cells + (number > 0)))  # every state that occurs gets at least one cell
        text.append(shape * (reach - cells), style=colour)
        cells = reach
    return text.append("─" * (length - cells), style="bright_black")


def _number(figures: Figures) -> str:
    return f"{figures.done:,}/{figures.total:,}"


def _note(figures: Figures, run_state: str) -> Text:
    parts = []
    if figures.failed:
        parts.append((f"{figures.failed:,} failed", "red"))
    if figures.running:
        parts.append((f"{figures.running:,} {task_state('running', run_state)}", "yellow"))
    elif figures.reused:
        parts.append((f"{figures.reused:,} reused", "blue"))
    return Text(" ").join(Text(words, style=style) for words, style in parts)


def fitted(name: str, cells: int) -> str:
    """The name, cut or padded to exactly `cells` terminal cells."""
    return set_cell_size(name, cells) if cell_len(name) <= cells else set_cell_size(name, cells - 1) + "…"
