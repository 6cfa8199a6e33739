"""Shell completion of run numbers, names and columns. It prints no errors: the user has not run a command yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

if TYPE_CHECKING:
    from headway.model.task import Task

_MOST = 200


def complete_run(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the numbers of the runs here, newest first."""
    from headway.api.finding import run_numbers

    try:
        runs = run_numbers(_directory(ctx))
    except Exception:
        return []
    return _items(incomplete, runs)


def complete_task(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of categories and tasks. A pattern stays as it was typed: it means several names."""
    tasks = _tasks(ctx)
    return _items(incomplete, dict.fromkeys([*(task.category for task in tasks.values()), *tasks]))


def complete_file_or_task(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of categories and tasks, and let the shell add files."""
    return [CompletionItem(incomplete, type="file"), *complete_task(ctx, parameter, incomplete)]


def complete_run_or_task(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the numbers of the runs here, then the names of categories and tasks."""
    return [*complete_run(ctx, parameter, incomplete), *complete_task(ctx, parameter, incomplete)]


def complete_column(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the columns that tasks have."""
    return _items(incomplete, _columns(ctx))


def complete_only(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return columns with `=` behind them or, after that, their values, also after a comma."""
    columns = _columns(ctx)
    name, equals, values = incomplete.partition("=")
    if equals:
        given, comma, _last = values.rpartition(",")
        others = [value for value in columns.get(name, ()) if value not in given.split(",") or not comma]
        return _items(incomplete, (f"{name}={given}{comma}{value}" for value in others))
    names = [column for column in columns if column.startswith(name)]
    # The only one comes with its values, so that the shell does not take the word for finished.
    known = [f"{names[0]}={value}" for value in columns[names[0]]] if len(names) == 1 else []
    return _items(incomplete, [*(f"{column}=" for column in names), *known])


def complete_sizer(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of sizers."""
    from headway.api.settings import sizer_names

    return _items(incomplete, sizer_names())


def _items(incomplete: str, words: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(incomplete)][:_MOST]


def _tasks(ctx: click.Context) -> Mapping[str, Task]:
    from headway.api.finding import known_tasks

    try:
        return known_tasks(_directory(ctx), ctx.params.get("run"), ctx.params.get("workflow"))
    except Exception:
        return {}


def _columns(ctx: click.Context) -> dict[str, list[str]]:
    from headway.api.matching import columns_of

    return columns_of(_tasks(ctx).values())


def _directory(ctx: click.Context) -> Path:
    return Path(ctx.params.get("directory") or ".")


class _Bash(BashComplete):
    """Bash takes `sample=s1` for three words; here it is one, and only what follows the last `=` is replaced."""

    _kept = ""  # the part of the word that bash does not replace

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        words: list[str] = []
        before = ""
        for word in (*args, incomplete):
            if words and (word == "=" or (before == "=" and not word.startswith("-"))):
                words[-1] += word
            else:
                words.append(word)
            before = word
        *args, last = words
        kept = last.removesuffix(incomplete) if incomplete != "=" else last
        self._kept = kept.partition("=")[2] if kept.startswith("-") else kept
        return args, last

    def format_completion(self, item: CompletionItem[Any]) -> str:
        return f"{item.type},{item.value.removeprefix(self._kept)}"


def register() -> None:
    """Let click answer bash as `_Bash` does; to be called before click looks for the shell's class."""
    add_completion_class(_Bash)
