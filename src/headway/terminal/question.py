"""A question that is answered with yes or no, above the screen."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Static


class Question(ModalScreen[bool]):
    """Answers True only if `y` is pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape,q", "answer(False)", "No", key_display="n"),
    ]
    CSS = """
    Question { align: center middle; }
    Question > Vertical {
        width: 64; max-width: 90%; height: auto; border: heavy $warning; padding: 1 2; background: $surface;
    }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield Vertical(Static(self._text, markup=False))
        yield Footer(show_command_palette=False)

    def action_answer(self, answer: bool) -> None:
        """Close the question."""
        self.dismiss(answer)
