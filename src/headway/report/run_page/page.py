"""The page of a run: its data, and the HTML file around them, which needs no network."""

from __future__ import annotations

import time
from collections import Counter
from html import escape
from importlib.resources import files

import msgspec

from headway.journal.base import Journal
from headway.journal.folder import RunFolder
from headway.model.units import format_bytes, format_duration
from headway.report.run.again import again, chosen_words, config_words
from headway.report.run.ending import headline, last_words
from headway.report.run.summary import RunSummary
from headway.report.run_page.collecting import ENDINGS, STATES, Collector
from headway.report.run_page.comparing import saved_tiles
from headway.report.run_page.data import Category, Failed, PageData, Tile
from headway.report.words import count, harmless, held, moment, share

MOST_FAILURES = 50
_SWITCHES = ("keep_going", "again", "fresh")
# Okabe and Ito's colours, which people with every kind of colour vision can tell apart; and the same, darker.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a7a7a")
DARKER = ("#004c78", "#9a6a00", "#00694d", "#8c4f72", "#2f7fa8", "#8f3f00", "#7d7200", "#4d4d4d")
_SOURCES = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_SECTIONS = (
    ("timeline", "Timeline"),
    ("over-time", "Running and waiting"),
    ("memory", "Asked, given, used"),
    ("waits", "Queue waits"),
    ("failures", "Failures"),
    ("graph", "Graph"),
    ("tasks", "Tasks"),
    ("decisions", "Decisions"),
    ("settings", "Settings"),
)


def page_data(journal: Journal, folder: RunFolder, state: str) -> PageData:
    """Read a run's journal; `state` is that of the run now."""
    summary = RunSummary()
    collector = Collector(summary)
    for record in journal.replay():
        summary.apply(record)
        collector.apply(record)
    return data_of(summary, collector, folder, state, failures_of(summary, folder))


def data_of(
    summary: RunSummary, collector: Collector, folder: RunFolder, state: str, failures: list[Failed]
) -> PageData:
    """The data of a run of which both have heard all records, also while it goes on."""
    collector.end()
    settings = summary.settings
    title = f"{harmless(settings.name) if settings else ''}, run {folder.run}"
    now = time.time() if state == "running" else summary.last_at
    return PageData(
        title=title,
        headline=_headline(summary, title, state, now),
        state=state,
        begun_at=collector.began,
        until=round(now - collector.began, 2),
        tiles=_tiles(summary, collector, now),
        categories=_categories(summary, collector),
        queued=summary.batch,
        states=list(STATES),
        endings=list(ENDINGS),
        jobs=collector.jobs,
        nodes=collector.nodes,
        tasks=collector.tasks,
        attempts=collector.attempts,
        failures=failures,
        decisions=collector.decisions,
        decisions_left_out=collector.decisions_left_out,
        settings=_settings(summary, collector),
        warnings=[harmless(text) for text in settings.warnings] if settings else [],
    )


def page_of(data: PageData, graph: str) -> str:
    """The whole HTML file; `graph` is an SVG picture of the workflow."""
    here = files("headway.report.run_page")
    style, script = ((here / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    # Within a script element nothing may look like its end.
    inside = msgspec.json.encode(data.document()).decode().replace("<", "\\u003c")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_SOURCES}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(data.title)}</title>",
            f"<style>{style}</style></head><body>",
            f'<header><h1>{escape(data.title)}</h1><p class="lead">{escape(data.headline)}</p>',
            '<div id="tiles"></div>',
            f"{section_links()}</header>",
            "<noscript><p>The pictures and tables of this page are drawn by its own script, which is switched off"
            " here. <code>headway usage</code> and <code>headway why</code> say the same in a terminal.</p></noscript>",
            f"<main>{sections(graph)}</main>",
            f'<script type="application/json" id="data">{inside}</script>',
            f"<script>{script}</script></body></html>",
            "",
        ]
    )


def section_links() -> str:
    """Links to the parts of the page."""
    links = "".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in _SECTIONS)
    return f'<nav aria-label="Sections">{links}</nav>'


def sections(graph: str = "") -> str:
    """The parts of the page with their headings, which the script fills; `graph` is an SVG picture."""
    return "".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{escape(title)}</h2>'
        f"{graph if name == 'graph' else ''}</section>"
        for name, title in _SECTIONS
    )


def _headline(summary: RunSummary, title: str, state: str, now: float) -> str:
    """What happened, in one sentence; the title has said which run that is."""
    if state != "running":
        said = headline(summary).plain.removeprefix(f"{title}: ")
        return said[:1].upper() + said[1:]
    whole = summary.whole()
    return f"Running for {format_duration(summary.elapsed_s(now))}: {whole.done:,} of {count(whole.total, 'task')} done"


def _tiles(summary: RunSummary, collector: Collector, now: float) -> list[Tile]:
    whole = summary.whole()
    memory = whole.totals["memory_bytes"]
    retries = whole.attempts - whole.succeeded - whole.running
    tiles = [
        Tile(
            format_duration(summary.elapsed_s(now)),
            "took" if summary.finished else "so far",
            f"from {moment(collector.began)}",
        ),
        Tile(f"{whole.done:,} of {whole.total:,}", "tasks done", f"{whole.reused:,} reused" if whole.reused else ""),
    ]
    if summary.batch and (waits := summary.jobs.waits_s()):
        longest = f"longest {format_duration(max(waits))}"
        tiles.append(Tile(format_duration(sum(waits) / len(waits)), "mean wait of a job in the queue", longest))
    if summary.batch and (core_hours := summary.jobs.held_core_hours(now)):
        used = f"tasks ran in {share(min(1.0, summary.jobs.used_core_hours / core_hours))} of them"
        if (charged := summary.jobs.billing_hours(now)) is not None:
            used += f"; charged {charged:.3g} billing-hours"
        tiles.append(Tile(f"{core_hours:.3g}", "core-hours held by jobs", used))
    if whole.busy is not None:
        tiles.append(Tile(share(whole.busy), "of the given cores were busy", f"{whole.cpu_s / 3600:.3g} CPU hours"))
    if memory.awe is not None:
        given = f"{held('memory_bytes', memory.allocated)} given"
        tiles.append(Tile(share(memory.awe), "of the given memory was used", given))
    tiles += saved_tiles(collector, now)
    tiles.append(
        Tile(f"{max(0, retries):,}", "attempts ended without a result", count(whole.failed, "task") + " failed")
    )
    return tiles


def _categories(summary: RunSummary, collector: Collector) -> list[Category]:
    tries = Counter(collector.tasks.category[task] for task in collector.attempts.task)
    firsts = Counter(
        collector.tasks.category[task]
        for task, number in zip(collector.attempts.task, collector.attempts.number, strict=True)
        if number == 1
    )
    return [
        Category(
            harmless(name),
            (COLOURS + DARKER)[number % len(COLOURS + DARKER)],
            figures.total,
            figures.done,
            figures.failed,
            tries[number] - firsts[number],
            round(asked["memory_bytes"] / 1e6, 1) if asked.get("memory_bytes") else None,
            asked.get("cores"),
            asked.get("walltime_s"),
        )
        for name, number in collector.categories.items()
        for figures, asked in [(summary.categories[name], collector.most_asked[number])]
    ]


def failures_of(summary: RunSummary, folder: RunFolder) -> list[Failed]:
    """The tasks that failed for good, and the last lines that they wrote."""
    return [
        Failed(harmless(each.task), harmless(each.why.text), last_words(folder, each))
        for each in list(summary.failures.values())[:MOST_FAILURES]
    ]


def _settings(summary: RunSummary, collector: Collector) -> list[tuple[str, str]]:
    """What one needs to know to repeat the run."""
    settings = summary.settings
    if settings is None:
        return []
    told = {
        "to do it again": again(settings),
        "Headway": settings.version,
        **settings.made_with,
        "machines": _machines(collector),
        "directory": settings.directory,
        "workflow": settings.source,
        "begun": moment(settings.at),
        "runs on": settings.cluster,
        "plan": settings.plan,
        "a task may have": str(summary.limits),
        "sizes by": settings.sizer,
        "order": settings.order,
        "seed": str(settings.seed),
        "switched on": ", ".join(name.replace("_", "-") for name in _SWITCHES if getattr(settings, name)),
        "failures": f"at most {share(settings.failures)} of attempts, once a category is known"
        if settings.failures < 1
        else "",
        "learned from": count(summary.learned_from, "earlier attempt") if summary.learned_from else "",
        "prefers": settings.prefer,
        "budget": f"{settings.budget:g} core-hours" if settings.budget is not None else "",
        "chosen settings": ", ".join(chosen_words(settings)),
        "config": ", ".join(config_words(settings)),
        "stated": ", ".join(_stated(name, value) for name, value in settings.stated.items()),
        "only tasks": ", ".join(settings.tasks),
        "only tasks with": " and ".join(settings.only),
        "until": ", ".join(settings.until),
        **{f"batch system: {name}": value for name, value in settings.batch.items()},
        "calls of the batch system": ", ".join(f"{n:,} {name}" for name, n in Counter(summary.calls).most_common()),
    }
    return [(name, harmless(value)) for name, value in told.items() if value]


def _machines(collector: Collector) -> str:
    """The nodes by what they have: `2 with 8 cores, 16 GB memory: n1, n2`."""
    kinds: dict[str, list[str]] = {}
    for node, capacity in collector.machines.items():
        kinds.setdefault(str(capacity.replace(walltime_s=None, disk_bytes=0)), []).append(node)
    named = {kind: ", ".join(nodes[:8]) + (", …" if len(nodes) > 8 else "") for kind, nodes in kinds.items()}
    return "; ".join(f"{len(nodes):,} with {kind}: {named[kind]}" for kind, nodes in kinds.items())


def _stated(name: str, value: float) -> str:
    return f"{name.removesuffix('_bytes')} {format_bytes(value) if name.endswith('_bytes') else f'{value:g}'}"
