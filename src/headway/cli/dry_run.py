"""Print what a run would do."""

from __future__ import annotations

from collections import Counter

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headway.api.preview import FAILS, LATER, MAY_RUN, RUNS, STANDS, Preview, Verdict
from headway.cli.output import console_for, print_json
from headway.report.run.orphans import orphan_sentence
from headway.report.saying import say, show
from headway.report.words import count, harmless

_MOST_ALIKE = 5  # tasks of one category with the same verdict that are listed one by one
_STYLES = {RUNS: "bold green", MAY_RUN: "yellow", STANDS: "dim", FAILS: "bold red", LATER: "cyan"}


def print_preview(plan: Preview, *, quiet: bool, as_json: bool) -> int:
    """Print the preview, and return the exit code."""
    if as_json:
        print_json(plan.document())
    elif not quiet:
        _print(console_for(), plan)
    return 0


def _print(console: Console, plan: Preview) -> None:
    """Print one line per task; of many tasks of one category with the same verdict, only the first few."""
    counts = Counter(verdict.verdict for verdict in plan.verdicts)
    say(console, _headline(plan, counts))
    console.print()
    grid = Table.grid(padding=(0, 2))
    widest = max(cell_len(verdict.task) for verdict in plan.verdicts)
    grid.add_column(no_wrap=True, max_width=max(12, min(widest, console.width // 3)), overflow="ellipsis")
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in plan.verdicts:
        groups.setdefault((verdict.category, verdict.verdict), []).append(verdict)
    for group in groups.values():
        listed = group if len(group) <= _MOST_ALIKE else group[: _MOST_ALIKE - 2]
        for verdict in listed:
            why = Text(harmless(verdict.why))
            if verdict.given is not None:
                why.append(f"; gets {verdict.given.replace(disk_bytes=0)}", style="cyan")
            grid.add_row(Text(harmless(verdict.task)), _label(verdict.verdict), why)
        if len(group) > len(listed):
            grid.add_row(Text(f"… {len(group) - len(listed):,} more", style="dim"), _label(group[0].verdict), "")
    console.print(grid)
    if sentence := orphan_sentence(plan.orphans):
        show(console, "", sentence, style="yellow")


def _headline(plan: Preview, counts: Counter[str]) -> Text:
    stands = "result stands" if counts[STANDS] == 1 else "results stand"
    later = "kind of task comes later" if counts[LATER] == 1 else "kinds of tasks come later"
    words = {RUNS: "would run", MAY_RUN: "may run", FAILS: "would fail", STANDS: stands, LATER: later}
    told = ", ".join(f"{counts[verdict]:,} {text}" for verdict, text in words.items() if counts[verdict])
    name = harmless(plan.name)
    at_least = "at least " if counts[LATER] else ""
    tasks = f"{at_least}{count(len(plan.verdicts) - counts[LATER], 'task')}"
    return Text.assemble((name, "bold"), f": {tasks} on {plan.limits}: {told}")


def _label(verdict: str) -> Text:
    return Text(verdict, style=_STYLES[verdict])
