"""`RunScreen`: the main screen of `headway top`, which follows a run."""

from __future__ import annotations

import asyncio
import time
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static, TabbedContent, TabPane

from headway.api.watching import Watch
from headway.model.errors import HeadwayError
from headway.report.run.progress import styled
from headway.report.words import clock, count, stopwatch
from headway.terminal.live_table import LiveTable
from headway.terminal.panes import PANES, counts, glance, headline, held, tasks, words_below
from headway.terminal.question import Question
from headway.terminal.task_screen import TaskScreen

_REDRAW_S = 5.0  # times of tasks and jobs, while nothing happens


class RunScreen(Screen[None]):
    """Only reads the run's journal, so that it may come and go."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"pane('{name}')", "Panes", show=number == 1, key_display=f"1-{len(PANES)}")
            for number, name in enumerate(PANES, 1)
        ),
        Binding("slash", "search", "Find", key_display="/"),
        Binding("escape", "clear", "Show all", show=False),
        Binding("c", "cancel", "Stop the run"),
        Binding("d", "dark", "Light/dark"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, watch: Watch, pane: str, look_every_s: float) -> None:
        super().__init__()
        self._watch = watch
        self._first = pane
        self._look_every_s = look_every_s
        self._drawn_at = 0.0
        self._state = ""  # when it was last drawn
        self._drawn: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        for name in ("headline", "counts", "held", "trouble"):
            yield Static(id=name, markup=False)
        with TabbedContent(initial=self._first):
            for number, name in enumerate(PANES, 1):
                with TabPane(f"{number} {name.capitalize()}", id=name):
                    if name == "tasks":
                        yield Input(placeholder="words in the name, the category or the state of tasks", id="search")
                    yield LiveTable(f"{name}-table")
                    if name == "categories":
                        yield Static(id="glance", markup=False)
                    else:
                        yield Static(id=f"{name}-below", classes="below", markup=False)
        yield Static(id="news", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Begin to follow the run."""
        self.query_one(f"#{self._first}-table").focus()
        self._follow()

    @work(exclusive=True)
    async def _follow(self) -> None:
        """Read what is new, again and again; a journal that cannot be read any further stays as it was."""
        self.query_one("#headline", Static).update("reading the journal …")
        while True:
            try:
                if self._watch.look():
                    self._drawn = ()
                    await asyncio.sleep(0)  # keys are heard while much is read
                    if self._watch.behind:
                        continue
            except HeadwayError as error:
                trouble = self.query_one("#trouble", Static)
                trouble.update(f"The journal cannot be read any further, this is what was read: {error}")
                trouble.display = True
                self.draw()
                return
            self.draw()
            await asyncio.sleep(self._look_every_s)

    # --- drawing ---

    def draw(self) -> None:
        """Show the run as it is now: the lines above, and the pane that is seen."""
        run, state, now = self._watch.summary, self._watch.state, time.time()
        if not self.query("#news"):  # the screen is being closed
            return
        search, pane = self.query_one("#search", Input).value, self.query_one(TabbedContent).active
        elapsed = stopwatch(run.elapsed_s(now if state == "running" else None))
        manager = self._watch.manager
        host = "" if manager is None else f", process {manager.pid} on {manager.host}"
        self.query_one("#headline", Static).update(headline(run, state, host, elapsed))
        if self._state == "running" and run.finished:
            self.notify(f"The run has ended: {state} after {elapsed}.", timeout=10)
        self._state = state
        drawn = (pane, state, search, self.size.width)
        if drawn == self._drawn and (state != "running" or time.monotonic() - self._drawn_at < _REDRAW_S):
            return
        self._drawn, self._drawn_at = drawn, time.monotonic()
        width = self.size.width - 2
        self.query_one("#counts", Static).update(counts(run, width))
        self.query_one("#held", Static).update(held(run))
        table = self.query_one(f"#{pane}-table", LiveTable)
        if pane == "tasks":
            columns, rows = tasks(run, state, now, width, search)
        else:
            columns, rows = PANES[pane](run, state, now, width)
        table.show(columns, rows)
        if pane == "categories":
            self.query_one("#glance", Static).update(glance(run, state, now, width))
        else:
            self.query_one(f"#{pane}-below", Static).update(words_below(pane, run, len(rows), search))
        news = self._watch.news
        if news is not None:
            self.query_one("#news").display = True
            self.query_one("#news", Static).update(Text.assemble(clock(news[0]), " ", styled(news[1])))

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self.draw)

    def on_tabbed_content_tab_activated(self) -> None:
        """Draw the pane that is seen now, and let its table have the keys."""
        self.draw()
        if self.focused is None or self.focused.id != "search":
            self.query_one(f"#{self.query_one(TabbedContent).active}-table").focus()

    # --- keys ---

    def action_pane(self, name: str) -> None:
        """Show a pane."""
        self.set_focus(None)
        self.query_one(TabbedContent).active = name

    def action_search(self) -> None:
        """Ask for words that tasks must have."""
        search = self.query_one("#search", Input)
        search.display = True
        search.focus()
        self.query_one(TabbedContent).active = "tasks"

    def action_clear(self) -> None:
        """Show all tasks again."""
        search = self.query_one("#search", Input)
        search.value, search.display = "", False
        self.query_one(f"#{self.query_one(TabbedContent).active}-table").focus()

    def on_input_changed(self) -> None:
        """Show what is found while it is typed."""
        self.draw()

    def on_input_submitted(self) -> None:
        """Go from the words to what was found."""
        self.query_one("#tasks-table").focus()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open a task, or show the tasks of a category."""
        pane, key = self.query_one(TabbedContent).active, event.row_key.value
        if pane == "tasks" and key in self._watch.summary.tasks:
            self.app.push_screen(TaskScreen(self._watch, key))
        elif pane in ("categories", "sizes") and key is not None:
            search = self.query_one("#search", Input)
            search.value, search.display = key, True
            self.action_pane("tasks")

    def action_dark(self) -> None:
        """Change between a light and a dark screen."""
        self.app.theme = "textual-light" if self.app.current_theme.dark else "textual-dark"

    def action_cancel(self) -> None:
        """Ask whether the run is to be stopped, and stop it."""
        run, state = self._watch.summary, self._watch.state
        number = self._watch.folder.run
        if state not in ("running", "interrupted"):
            self.notify(f"Run {number} is over ({state}).")
            return
        text = (
            f"Stop run {number} at once?\n\n"
            f"{count(len(run.running), 'running task')} will be ended. What succeeded is kept, and `headway resume` "
            "goes on with the rest."
        )
        self.app.push_screen(Question(text), self._answered)

    def _answered(self, yes: bool | None) -> None:
        if yes:
            self._stop()

    @work(thread=True)
    def _stop(self) -> None:
        try:
            said = self._watch.stop()
        except HeadwayError as error:
            self.app.call_from_thread(self.notify, str(error), severity="error", timeout=10)
            return
        self.app.call_from_thread(self.notify, said, timeout=10)
