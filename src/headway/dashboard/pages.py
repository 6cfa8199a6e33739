"""The HTML of the dashboard's pages. What they show is fetched by their scripts, and enters them as text."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from headway.report.run_page.page import section_links, sections

_REPORT, _OWN = files("headway.report.run_page"), files("headway.dashboard") / "static"
# The files that pages use: those of the report, which draw a run, and the dashboard's own.
_STATIC = {name: _REPORT / name for name in ("page.css", "page.js")} | {
    name: _OWN / name for name in ("dashboard.css", "common.js", "list.js", "run.js", "history.js", "queue.js")
}
_VIEWS = (("/", "Runs"), ("/history", "History"), ("/queue", "Queue"))


def static_file(name: str) -> tuple[str, str] | None:
    """The text of a file that pages use, and what it is."""
    if name not in _STATIC:
        return None
    return _STATIC[name].read_text(encoding="utf-8"), "text/css" if name.endswith(".css") else "text/javascript"


def list_page(folder: str, csrf: str) -> str:
    """All runs below a folder."""
    body = (
        f'<header><h1>Runs</h1><p class="lead">{escape(folder)}</p></header><main><section id="runs"></section></main>'
    )
    return _page("Runs", "list.js", body, csrf, "/")


def run_page(title: str, csrf: str) -> str:
    """One run, as its report shows it."""
    body = (
        f'<header><h1>{escape(title)}</h1><p class="lead"></p>'
        '<div class="controls" id="acts"><span id="live" role="status">reading the journal…</span></div>'
        f'<div id="tiles"></div>{section_links()}</header><main>{sections()}</main>'
    )
    return _page(title, "run.js", body, csrf, "")


def history_page(csrf: str) -> str:
    """What earlier runs taught."""
    body = (
        '<header><h1>History</h1><p class="lead">What earlier runs taught, by category.</p></header>'
        '<main><section id="history"></section></main>'
    )
    return _page("History", "history.js", body, csrf, "/history")


def queue_page(csrf: str) -> str:
    """How long a job would wait."""
    fields = "".join(
        f'<label>{escape(words)} <input type="number" name="{name}" min="1" max="{most}" value="{value}" required>'
        "</label>"
        for name, words, most, value in (
            ("nodes", "nodes", 100_000, 1),
            ("cores", "cores on each", 100_000, 1),
            ("minutes", "minutes", 525_600, 60),
        )
    )
    body = (
        '<header><h1>Queue</h1><p class="lead">How long would a job wait in the queue of the Slurm cluster here?</p>'
        f'</header><main><form id="shape" class="controls">{fields}'
        '<button type="submit">Predict the wait</button></form>'
        '<p id="answer" class="answer" role="status"></p><section id="shapes"></section>'
        '<p class="quiet">The queue is read at most once a minute, and planned as <code>headway waits --on slurm</code>'
        " does. Nothing is submitted.</p></main>"
    )
    return _page("Queue", "queue.js", body, csrf, "/queue")


def _page(title: str, script: str, body: str, csrf: str, here: str) -> str:
    views = "".join(
        f'<a href="{path}"{" aria-current=page" if path == here else ""}>{name}</a>' for path, name in _VIEWS
    )
    read_only = "" if csrf else '<span class="quiet">read only</span>'
    return "".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta name="csrf" content="{escape(csrf)}"><title>{escape(title)} · Headway</title>',
            '<link rel="icon" href="data:,">',
            '<link rel="stylesheet" href="/static/page.css"><link rel="stylesheet" href="/static/dashboard.css">',
            '<script src="/static/page.js" defer></script><script src="/static/common.js" defer></script>',
            f'<script src="/static/{script}" defer></script></head><body>',
            f'<nav class="views" aria-label="Dashboard"><b>Headway</b>{views}{read_only}</nav>',
            "<noscript><p>The pages of the dashboard are drawn by scripts, which are switched off here. <code>"
            "headway runs</code>, <code>status</code> and <code>why</code> say the same in a terminal.</p></noscript>",
            f"{body}</body></html>\n",
        ]
    )
