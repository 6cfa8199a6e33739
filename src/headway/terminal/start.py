"""Start the screens: on the terminal, or without one to make a picture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from headway.api.watching import Watch
from headway.api.whole_files import write_whole
from headway.terminal.app import TopApp

_PICTURE = (100, 32)  # columns and lines
_FONTS = re.compile(r"@font-face \{[^{}]*\}\s*")


def watch_run(run: str | None, directory: Path, pane: str) -> None:
    """Follow a run on the terminal until the user leaves."""
    watch = Watch(run, directory)
    try:
        watch.look()  # a journal that cannot be read is an error before the screen is taken
        TopApp(watch, pane).run()
    finally:
        watch.close()


def picture_of(run: str | None, directory: Path, pane: str, file: Path) -> None:
    """Write what the screen would show as SVG."""
    watch = Watch(run, directory)
    try:
        watch.catch_up()
        app = TopApp(watch, pane)
        found: list[str] = []

        async def take(pilot: Any) -> None:
            while not any(key.size.width for key in app.screen.query("FooterKey")):  # the last that is drawn
                await pilot.pause(0.05)
            await pilot.pause(0.2)
            found.append(app.export_screenshot(title="headway top"))
            app.exit()

        app.run(headless=True, size=_PICTURE, auto_pilot=take)
    finally:
        watch.close()
    write_whole(file, [_FONTS.sub("", found[0])])  # fonts that a browser would fetch from elsewhere
