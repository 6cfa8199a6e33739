"""`TopApp`: `headway top` as an application of textual."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from headway.api.watching import Watch
from headway.terminal.run_screen import RunScreen

_LOOK_EVERY_S = 1.0


class TopApp(App[None]):
    """Shows a run; without the palette of commands, since all keys are on the screen."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", show=False, priority=True)]
    # Of the first screen textual loads no styles of its own.
    CSS = """
    #headline, #counts, #held, #news { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #news { background: $panel; display: none; }
    #categories-table { height: auto; max-height: 70%; }
    #glance { height: 1fr; padding: 1 1 0 1; }
    #trouble { height: auto; padding: 0 1; color: $text-error; display: none; }
    TabbedContent { height: 1fr; }
    TabPane { padding: 0; }
    ContentTabs { margin: 0; }
    LiveTable { height: 1fr; }
    .below { height: 1; padding: 0 1; color: $text-muted; }
    #search { display: none; border: none; height: 1; padding: 0 1; background: $boost; }
    """

    def __init__(self, watch: Watch, pane: str = "categories", look_every_s: float = _LOOK_EVERY_S) -> None:
        super().__init__()
        self._main = RunScreen(watch, pane, look_every_s)

    def get_default_screen(self) -> Screen[None]:
        """Return the screen that is shown first."""
        return self._main
