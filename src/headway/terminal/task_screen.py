"""The screen of one task: why it is as it is, and the end of its log, which is followed."""

from __future__ import annotations

from io import StringIO
from typing import ClassVar

from rich.console import Console
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Footer, RichLog, Static

from headway.api.logs import STREAMS, TaskLogs
from headway.api.watching import Watch, last_lines
from headway.model.errors import HeadwayError
from headway.report.run.story_text import tell
from headway.report.words import harmless
from headway.terminal.panes import STYLES

_LOOK_EVERY_S = 0.5
_MOST_LINES = 1000


class TaskScreen(Screen[None]):
    """`headway why` and `headway logs --follow` of one task in one screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.pop_screen", "Back"),
        Binding("o", "other_stream", "Other stream"),
        Binding("q", "app.quit", "Quit"),
    ]
    CSS = """
    TaskScreen #title, TaskScreen #stream { height: 1; padding: 0 1; }
    TaskScreen #stream { background: $panel; }
    TaskScreen #why { height: 1fr; max-height: 50%; padding: 0 1; }
    TaskScreen #log { height: 1fr; padding: 0 1; background: $background; }
    """

    def __init__(self, watch: Watch, task: str) -> None:
        super().__init__()
        self._watch = watch
        self._about = task
        self._stream = ""  # empty: the one that has something, standard error first
        self._logs: TaskLogs | None = None
        self._seen: tuple[object, ...] = ()
        self._told: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield VerticalScroll(Static("reading …", id="story", markup=False), id="why")
        yield Static(id="stream", markup=False)
        yield RichLog(id="log", max_lines=_MOST_LINES, wrap=True, highlight=False, markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Begin to follow the task."""
        self._look()
        self.set_interval(_LOOK_EVERY_S, self._look)

    def on_resize(self) -> None:
        """Lay the story out again."""
        self._told = ()

    def action_other_stream(self) -> None:
        """Show standard output instead of standard error, or the other way round."""
        shown = self._stream or self._fuller()
        self._stream = STREAMS[0] if shown == STREAMS[1] else STREAMS[1]
        self._seen = ()
        self._look()

    def _look(self) -> None:
        summary = self._watch.summary
        task = summary.tasks[self._about]
        state = summary.state(task)
        title = Text.assemble((harmless(self._about), "bold"), ": ", (state, STYLES[state]))
        self.query_one("#title", Static).update(title)
        facts = (state, task.attempt, task.ending, task.missing, summary.finished)
        if facts != self._told:
            self._told = facts
            self._read(max(40, self.size.width - 4))
        self._show_log()

    @work(thread=True, exclusive=True)
    def _read(self, width: int) -> None:
        """Read the journal about the task, which may take a moment."""
        try:
            story = self._watch.story(self._about)
            logs = self._watch.logs(self._about)
        except HeadwayError as error:
            self.app.call_from_thread(self._show, Text(str(error)), None)
            return
        out = StringIO()
        console = Console(
            file=out,
            width=width,
            force_terminal=True,
            color_system="standard",
            highlight=False,
            markup=False,
            emoji=False,
        )
        if story is not None:
            tell(console, story)
        self.app.call_from_thread(self._show, Text.from_ansi(out.getvalue()), logs)

    def _show(self, story: Text, logs: TaskLogs | None) -> None:
        self._logs, self._seen = logs, ()
        if self.is_mounted:
            self.query_one("#story", Static).update(story)
            self._show_log()

    def _fuller(self) -> str:
        if self._logs is not None and not self._logs.size_bytes(STREAMS[1]) and self._logs.size_bytes(STREAMS[0]):
            return STREAMS[0]
        return STREAMS[1]

    def _show_log(self) -> None:
        bar, log = self.query_one("#stream", Static), self.query_one("#log", RichLog)
        if self._logs is None:
            bar.update("it has written nothing yet")
            return
        stream = self._stream or self._fuller()
        size, text = last_lines(self._logs, stream)
        seen = (self._logs.run, self._logs.attempt, stream, size)
        if seen == self._seen:
            return
        self._seen = seen
        written = f"{size:,} bytes" if size else "nothing was written"
        bar.update(f"{stream} of attempt {self._logs.attempt}: {written}")
        log.clear()
        for line in text.rstrip("\n").split("\n")[-_MOST_LINES:]:
            log.write(Text(harmless(line.rsplit("\r", 1)[-1])))
