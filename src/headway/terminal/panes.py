"""The panes of `headway top`: what their tables show of a run at one moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from headway.api.matching import fitting, has_wildcard
from headway.model.resources import Resources
from headway.model.units import format_bytes, format_duration
from headway.report.bars import bar, fitted
from headway.report.run.job_lines import named, outlook, shape_of
from headway.report.run.summary import Failure
from headway.report.run.waiting_reasons import waiting_reasons
from headway.report.run.watched_run import WatchedRun, WatchedTask
from headway.report.words import count, harmless
from headway.terminal.live_table import Cell, Column, Row

MOST_TASKS = 300  # shown at a time; the search finds the others

STYLES = {
    "failed": "bold red",
    "running": "bold yellow",
    "retry": "yellow",
    "ready": "cyan",
    "waiting": "",
    "done": "green",
    "reused": "blue",
    "cut off": "red",
}

_FAILURES, _WAITS, _LONGEST = 2, 4, 12  # lines below the categories

Table = tuple[list[Column], list[Row]]
Pane = Callable[[WatchedRun, str, float, int], Table]


def categories(run: WatchedRun, state: str, now: float, width: int) -> Table:
    """Tasks by category: how many wait, are ready, run, are done, and failed."""
    names = min(max([8, *(len(harmless(name)) for name in run.categories)]), max(12, width // 4))
    done = max([4, *(len(f"{figures.done:,}/{figures.total:,}") for figures in run.categories.values())])
    cut_off = any(figures.cut_off for figures in run.categories.values())
    length = max(8, min(60, width - names - done - 40 - 9 * cut_off))
    counted = [*_COUNTS, "cut off"] if cut_off else [*_COUNTS]
    columns = [Column("category"), Column("progress"), *(Column(each, right=True) for each in counted)]
    rows = []
    for name, figures in run.categories.items():
        ready = run.ready(name)
        cells: list[Cell] = [fitted(harmless(name), names), bar(figures, length), f"{figures.done:,}/{figures.total:,}"]
        cells += [
            _some(figures.running, "running"),
            _some(ready, "ready"),
            _some(figures.waiting - ready, "waiting"),
            _some(figures.failed, "failed"),
        ]
        rows.append(Row(name, [*cells, _some(figures.cut_off, "cut off")] if cut_off else cells))
    return columns, rows


_COUNTS = ("done", "running", "ready", "waiting", "failed")


def _some(number: int, state: str) -> Text:
    """A number in the colour of its state; none is a faint point, so that the eye finds the others."""
    return Text(f"{number:,}", style=STYLES[state]) if number else Text("·", style="dim")


def glance(run: WatchedRun, state: str, now: float, width: int) -> Text:
    """What is below the categories: failures, why tasks wait, and what has been running longest."""
    lines = [Text.assemble((f"✗ {harmless(it.task)}", "bold red"), f" {harmless(it.why.text)}") for it in _last(run)]
    lines += [Text.assemble((what, "bold cyan"), f" {why}") for what, why in waiting_reasons(run, state, now)[:_WAITS]]
    if lines and run.running:
        lines.append(Text())
    names = min(max([8, *(len(harmless(name)) for name in run.running)]), max(16, width - 46))
    for launch in list(run.running.values())[:_LONGEST]:
        age = format_duration(max(0.0, now - launch.at))
        again = f"  try {launch.attempt}" if launch.attempt > 1 else ""
        name = fitted(harmless(launch.task), names)
        lines.append(
            Text.assemble(("▸ ", "yellow"), name, (f" {age:>8}", "bold"), f"  {_given(launch.resources)}{again}")
        )
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Text("\n").join(lines)


def _last(run: WatchedRun) -> list[Failure]:
    return list(run.failures.values())[-_FAILURES:]


def tasks(run: WatchedRun, state: str, now: float, width: int, wanted: str = "") -> Table:
    """Single tasks, those that need attention first; `wanted` are words that must be in name, category or state."""
    found = found_tasks(run, wanted)[:MOST_TASKS]
    names = min(max([8, *(len(harmless(task.id)) for _, task in found)]), max(16, width - 54))
    columns = [Column("state"), Column("task"), Column("time", right=True), Column("try", right=True)]
    columns += [Column("given", right=True), Column("used", right=True)]
    rows = []
    for each, task in found:
        cells: list[Cell] = [Text(each, style=STYLES[each]), fitted(harmless(task.id), names), _time(each, task, now)]
        cells += [f"{task.attempt}" if task.attempt else "", _given(task.given)]
        cells += ["" if task.used_bytes is None or each == "running" else format_bytes(task.used_bytes)]
        rows.append(Row(task.id, cells))
    return columns, rows


def found_tasks(run: WatchedRun, wanted: str) -> list[tuple[str, WatchedTask]]:
    """Return the tasks that match all words of `wanted`, with their states: failed, running, ready, waiting, done."""
    finds = [_finder(word) for word in wanted.lower().split()]
    by_state: dict[str, list[WatchedTask]] = {state: [] for state in STYLES}
    for task in run.tasks.values():
        state = run.state(task)
        if all(finds_it(task.id.lower(), task.category.lower(), state) for finds_it in finds):
            by_state[state].append(task)
    by_state["done"].sort(key=lambda task: -(task.ended_at or 0.0))  # the newest result first
    return [(state, task) for state, found in by_state.items() for task in found]


def _finder(word: str) -> Callable[[str, str, str], bool]:
    """Return whether a word is part of a task's name, category or state, or, if it is a pattern, fits one of them."""
    if has_wildcard(word):
        fits = fitting(word)
        return lambda *texts: any(fits(text) for text in texts)
    return lambda *texts: any(word in text for text in texts)


def _time(state: str, task: WatchedTask, now: float) -> str:
    if state == "running":
        return format_duration(max(0.0, now - task.launched_at))
    return "" if task.ended_at is None else format_duration(max(0.0, task.ended_at - task.launched_at))


def _given(given: Resources | None) -> str:
    return "" if given is None else f"{count_cores(given.cores)}, {format_bytes(given.memory_bytes)}"


def count_cores(cores: float) -> str:
    """Return a number of cores in words: `1 core`, `0.5 cores`."""
    return "1 core" if cores == 1 else f"{cores:g} cores"


def jobs(run: WatchedRun, state: str, now: float, width: int) -> Table:
    """Allocations: those that are held and how much of them is in use, and those that wait and for how long still."""
    rows = [] if run.finished else [Row(tag, _job(run, tag, now)) for tag in run.jobs.live()]
    others = sum(max([4, *(len(str(row.cells[number])) for row in rows)]) for number in range(3))
    columns = [Column("job"), Column("state"), Column("for", right=True), Column("cores in use", right=True)]
    return [*columns, Column("asks for, and why it waits", width=max(24, width - others - 24))], rows


def _job(run: WatchedRun, tag: str, now: float) -> list[Cell]:
    job = run.jobs.known[tag]
    nodes = [(node, capacity) for node, (of, capacity) in run.capacity.items() if of == tag]
    here = {node for node, _ in nodes}
    parts = [(node, launch.resources.cores) for launch in run.running.values() for node in (launch.node, *launch.also)]
    used = sum(cores for node, cores in parts if node in here)
    held = job.seen is not None and job.seen.held
    state = Text("HELD", style="bold red") if held else Text("waits", style="cyan")
    since, said = job.submit.at, []
    if job.started_at is not None:
        suspended = job.seen is not None and job.seen.suspended
        state = Text("suspended" if suspended else "runs", style="yellow" if suspended else "green")
        since = job.started_at
        said = [f"gave back {count(job.given, 'node')}"] if job.given else []
    else:
        said = [harmless(job.seen.message)] if job.seen and job.seen.message else []
        said += outlook(job.expected_at, now)
    cores = f"{used:g} of {sum(capacity.cores for _, capacity in nodes):g}" if nodes else "·"
    name = named(job) if run.batch else next(iter(here), named(job))
    about = "; ".join([shape_of(job), *said])
    return [harmless(name), state, format_duration(max(0.0, now - since)), cores, about]


def sizes(run: WatchedRun, state: str, now: float, width: int) -> Table:
    """What each category is given now, how that moved, and what its last attempts used."""
    names = min(max([8, *(len(harmless(name)) for name in run.categories)]), max(12, width // 5))
    columns = [Column("category"), Column("given now"), Column("used last", right=True)]
    columns += [Column("most used", right=True), Column("retries", right=True), Column("given so far")]
    rows = []
    for name, it in run.sizes.items():
        most = run.categories[name].totals["memory_bytes"].most
        last = it.used_bytes
        cells: list[Cell] = [fitted(harmless(name), names), _given(it.now)]
        cells += ["" if last is None else format_bytes(last), "" if most is None else format_bytes(most)]
        rows.append(Row(name, [*cells, _some(it.retries, "retry"), _moved(it.memory, width - names - 61)]))
    return columns, rows


def _moved(amounts: Sequence[float], room: int) -> str:
    """The last amounts that differed, as many as there is room for."""
    words = [format_bytes(amount) for amount in amounts]
    if len(words) == 1:
        return "not changed"
    while len(words) > 2 and len(" → ".join(words)) > room:
        del words[0]
    return " → ".join(words)


def waiting(run: WatchedRun, state: str, now: float, width: int) -> Table:
    """What waits, and why."""
    found = waiting_reasons(run, state, now)
    what = min(max([8, *(len(words) for words, _ in found)]), max(20, width // 3))
    columns = [Column("what", width=what), Column("waits", width=max(24, width - what - 5))]
    return columns, [Row(str(number), list(pair)) for number, pair in enumerate(found)]


PANES: dict[str, Pane] = {"categories": categories, "tasks": tasks, "jobs": jobs, "sizes": sizes, "waiting": waiting}
EMPTY = {
    "tasks": "No task matches.",
    "jobs": "The run holds nothing and waits for nothing.",
    "sizes": "No tasks yet.",
    "waiting": "Nothing waits.",
}


def headline(run: WatchedRun, state: str, host: str, elapsed: str) -> Text:
    """The first line: which run this is, its state and for how long."""
    style = {"succeeded": "bold green", "failed": "bold red", "running": "bold cyan"}.get(state, "bold yellow")
    name, number = (harmless(run.settings.name), run.settings.run) if run.settings else ("", "")
    stopping = " (stopping)" if run.stopping and state == "running" else ""
    words = {
        "running": f" for {elapsed}{host}",
        "interrupted": f" after {elapsed}: its manager is gone, nothing is lost",
    }
    return Text.assemble(
        (name, "bold"), f", run {number}: ", (state, style), words.get(state, f" after {elapsed}"), stopping
    )


def counts(run: WatchedRun, width: int) -> Text:
    """The second line: a bar and the numbers of tasks by state."""
    whole = run.whole()
    ready = sum(run.ready(name) for name in run.categories)
    parts: Sequence[tuple[int, str, str]] = (
        (whole.running, "running", STYLES["running"]),
        (ready, "ready", STYLES["ready"]),
        (whole.waiting - ready, "waiting", ""),
        (whole.failed, "failed", STYLES["failed"]),
        (whole.cut_off, "cut off", STYLES["cut off"]),
    )
    words = Text(f" {whole.done:,} of {whole.total:,} done", style="bold")
    for number, state, style in parts:
        if number:
            words.append("  ").append(f"{number:,} {state}", style=style)
    return Text.assemble(bar(whole, max(6, width - words.cell_len - 1)), words)


def held(run: WatchedRun) -> Text:
    """The third line: what is in use, and the jobs; of a run that is over, where its results are."""
    if run.finished:
        return Text(f"results in {harmless(run.settings.directory)}" if run.settings else "", style="dim")
    used, available = run.in_use(), run.available()
    parts = [f"{used.cores:g} of {available.cores:g} cores"]
    parts.append(f"{format_bytes(used.memory_bytes)} of {format_bytes(available.memory_bytes)} memory in use")
    if run.batch:
        live = run.jobs.live()
        running = sum(job.started_at is not None for job in live.values())
        parts.append(f"{count(running, 'job')} held, {len(live) - running:,} waiting")
    return Text(", ".join(parts), style="dim")


def words_below(name: str, run: WatchedRun, shown: int, wanted: str) -> str:
    """The line below a table: what is not shown, and what can be done."""
    if not shown:
        return EMPTY[name]
    if name == "tasks":
        found = len(found_tasks(run, wanted)) if wanted else len(run.tasks)
        matching = f" that match {wanted!r}" if wanted else ""
        if shown < found:
            return f"{shown:,} of {found:,} tasks{matching}; / finds others, Enter opens one"
        return f"{count(found, 'task')}{matching}; Enter opens one: why, and its log"
    return "Enter shows the tasks of a category" if name == "sizes" else ""
