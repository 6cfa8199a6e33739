"""`advise`: what to ask for the tasks of each category, from logs of earlier runs, as configuration for other tools."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, structs, to_builtins

from headway.api.amounts import parse_share, parse_size
from headway.api.history import attempts_in
from headway.api.keywords import Tell, chosen_names, refuse, settled
from headway.api.settings import settings_for
from headway.api.task_logs import read_logs
from headway.api.whole_files import check_distinct, check_target, write_whole
from headway.model.advice import Advice, Trial
from headway.model.errors import InputError
from headway.model.observation import Observation
from headway.model.outcome import Ending, Quality
from headway.model.task_log import LoggedTask, TaskLog
from headway.report.advice.tools import TOOLS, tool_of


class AdviseSettings(Struct, frozen=True, kw_only=True):
    """For which tool advice is written, how careful it is, and which files are written."""

    tool: str | None = None  # nextflow, snakemake, slurm, cwl, headway, table; None: where the log comes from
    failures: float | str | None = None  # share of attempts that may fail; None: 3%, or 0 where nothing is retried
    retries: Annotated[int, Meta(ge=0, le=10)] = 2  # of a task that ran out of memory or time
    category_from: str = ""  # a regular expression: what it matches in a task's name is its category
    fewest: Annotated[int, Meta(ge=2)] = 5  # records that a category needs
    most_memory: float | str | None = None  # the most that a task can get; None: as the log says
    workflow: str = ""  # for cwl: the file whose steps are the categories
    output: str | None = None  # a file for the configuration
    html: str | None = None  # a file for a page
    force: bool = False  # overwrite files


class AdviceGiven(Struct, frozen=True):
    """The advice, and the configuration as text."""

    logs: list[str]  # files, or the history
    tool: str
    tasks: int
    left_out: int
    advice: Advice
    config: str
    files: list[str] = []  # that were written

    def document(self) -> dict[str, Any]:
        """Return what `headway advise --json` prints."""
        return {
            "logs": self.logs,
            "for": self.tool,
            "tasks": self.tasks,
            "left_out": self.left_out,
            "failures": self.advice.failures,
            "fewest": self.advice.fewest,
            "attempts": self.advice.attempts,
            "categories": [structs.asdict(each) | {"trial": _trial(each.trial)} for each in self.advice.categories],
            "left_alone": to_builtins(self.advice.left_alone),
            "trial": _trial(self.advice.total().trial),
            "config": self.config,
        }


def _trial(trial: Trial) -> dict[str, Any]:
    derived = {name: getattr(trial, name) for name in ("failed", "failed_share", "saved_gb_h")}
    return structs.asdict(trial) | derived


def advise(
    logs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    settings: AdviseSettings | None = None,
    *,
    directory: str | os.PathLike[str] = ".",
    history: str = "",
    progress: Tell | None = None,
    **named: Any,
) -> AdviceGiven:
    """Return what to ask for the tasks of each category, learned from logs of one pipeline (the oldest first).

    Without a log, it is what the runs in `directory` taught; `history` is the location of that history. Keywords are
    the fields of `AdviseSettings`: `advise("trace.txt", tool="nextflow", output="advice.config")`.
    """
    from headway.simulation.advice import Terms, advice_from

    asked, given = settled(AdviseSettings, settings, named)
    if asked.tool is not None:
        chosen_names((asked.tool,), TOOLS, "tool", "--for")
    outputs = [Path(file) for file in (asked.output, asked.html) if file]
    paths = [Path(logs)] if isinstance(logs, str | os.PathLike) else [Path(log) for log in logs]
    check_distinct(outputs, paths)
    for output in outputs:
        check_target(output, force=asked.force)
    log, names = _logged(paths, Path(directory), history, asked.category_from)
    name = asked.tool or tool_of(log.format)
    tool = TOOLS[name]
    if name != "cwl":
        refuse(["workflow"], given, "--for cwl")
    careful = "3%" if tool.retries else 0
    terms = Terms(
        parse_share(careful if asked.failures is None else asked.failures),
        1 + (asked.retries if tool.retries else 0),
        asked.fewest,
        tool.megabyte,
        tool.time_kills,
    )
    if asked.most_memory is not None:
        log.machine = log.machine.replace(memory_bytes=_size(asked.most_memory))
    tell = (lambda done: progress(log.name, done, len(log.tasks))) if progress else None
    advice = advice_from(log, terms, tell)
    config = tool.write(advice, names, **({"workflow": asked.workflow} if asked.workflow else {}))
    answer = AdviceGiven(names, name, len(log.tasks), log.left_out, advice, config, [str(file) for file in outputs])
    _write(answer, asked)
    return answer


def _write(answer: AdviceGiven, asked: AdviseSettings) -> None:
    if asked.output:
        write_whole(Path(asked.output), [answer.config])
    if asked.html:
        from headway.report.advice.page import page

        config = "" if answer.tool == "table" else answer.config  # the page has a table of its own
        write_whole(Path(asked.html), [page(answer.advice, answer.logs, answer.tool, config)])


def _size(stated: float | str) -> float:
    try:
        return parse_size(stated) if isinstance(stated, str) else stated
    except InputError as error:
        raise InputError(error.what, where="--most-memory", todo=error.todo) from None


def _logged(paths: Sequence[Path], directory: Path, history: str, category_from: str) -> tuple[TaskLog, list[str]]:
    """Read the logs as one, or the history of a directory if there are none; also return their names."""
    if paths:
        from headway.formats.read_task_log import joined

        log = joined([log for _, log in read_logs(paths, category_from)])
        return log, ["standard input" if str(path) == "-" else str(path) for path in paths]
    location, kept = attempts_in(directory, history or settings_for(directory).history)
    return _as_log([each.observation for each in kept]), [f"the history of {directory.resolve()} in {location}"]


def _as_log(observations: Sequence[Observation]) -> TaskLog:
    """Return the successful attempts of a history as a log; their requests are the workflow's hints."""
    from headway.formats.nextflow_trace import MACHINE

    tasks = []
    for each in sorted(observations, key=lambda seen: seen.started_at):
        peaks = {"memory_bytes": each.usage.memory_bytes, "cores": each.usage.cores_peak}
        used = {
            name: peak.value
            for name, peak in peaks.items()
            if peak is not None and peak.quality is not Quality.LOWER_BOUND and peak.value > 0
        }
        if each.ending is Ending.SUCCESS and "memory_bytes" in used:
            run_s = max(0.0, each.ended_at - each.started_at)
            tasks.append(LoggedTask(each.task, each.category, run_s, used, each.hints, started_at=each.started_at))
    if not tasks:
        raise InputError("no task of this history succeeded with a measurement of its memory", todo="name a LOG")
    most = max(max(task.used["memory_bytes"], task.asked.get("memory_bytes", 0.0)) for task in tasks)
    machine = MACHINE.replace(memory_bytes=max(MACHINE.memory_bytes, most))
    left_out = len(observations) - len(tasks)
    kills = ("memory_bytes",)
    return TaskLog("history", tasks, (*kills, "cores"), machine, kills, left_out=left_out, format="headway")
