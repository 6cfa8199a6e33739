"""How large the page of a long run is, and how long a browser takes to draw, search, sort and zoom it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests.report.run_page.browser import Browser, browsing
from tests.report.run_page.test_page import long_run

from headway.report.run_page.page import page_of

_ACTS = {
    "search": "const box = document.querySelector('#tasks input');"
    "box.value = '9'; box.dispatchEvent(new Event('input'))",
    "sort": "document.querySelectorAll('#tasks thead button')[4].click()",
    "zoom": "timeline.zoom(0.5)",
}


def main(repeats: int = 5) -> None:
    """Print the longest of several times each: a page must be quick every time."""
    table = Table(title=f"the page of a run in Chromium, the longest of {repeats} times")
    for heading in ("tasks", "size", "open", *_ACTS):
        table.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder, browsing() as browser:
        for tasks in (1_000, 10_000, 100_000):
            file = Path(folder) / f"{tasks}.html"
            file.write_text(page_of(long_run(tasks), ""))
            times = [_times(browser, file) for _ in range(repeats)]
            longest = [max(column) for column in zip(*times, strict=True)]
            table.add_row(f"{tasks:,}", f"{file.stat().st_size / 1e6:.2f} MB", *(f"{each:.2f} s" for each in longest))
    Console().print(table)


def _times(browser: Browser, file: Path) -> list[float]:
    begun = time.monotonic()
    browser.open(file)
    times = [time.monotonic() - begun]
    for script in _ACTS.values():
        begun = time.monotonic()
        # The next frame is drawn when the browser has done all that the act asks for.
        browser.run(f"{script}; return new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        times.append(time.monotonic() - begun)
    return times


if __name__ == "__main__":
    main()
