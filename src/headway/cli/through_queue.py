"""A workflow through a simulated queue, plan by plan: `headway simulate TRACE --workflow W`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.cli.queue_progress import Tell
    from headway.kernels.batch.queue import BatchQueue
    from headway.model.batch_log import BatchJobs
    from headway.model.instance import Instance
    from headway.model.records import Decision, Event
    from headway.report.queue.through_queue import Passage

Journals = dict[str, "list[Event | Decision]"]  # by plan


def instance_of(path: Path) -> Instance:
    """The workflow, with the run times that are recorded in it."""
    from headway.formats.read_any import read_instance

    instance = read_instance(path)
    unknown = [task.id for task in instance.workflow if instance.recorded.get(task.id) is None]
    unknown += [task for task, seen in instance.recorded.items() if seen.run_s is None]
    if unknown:
        raise InputError(
            f"nothing says how long {unknown[0]!r} runs ({len(unknown)} of {len(instance.workflow)} tasks)",
            where=str(path),
            todo="simulate a recorded workflow: WfFormat, Pegasus DAX, or `headway convert` of a finished run",
        )
    return instance


def plans_of(names: tuple[str, ...]) -> list[str]:
    """The plans that were asked for; none: all."""
    from headway.planning import PLANS

    for name in names:
        if name not in PLANS:
            from headway.cli.nearest import nearest

            todo = nearest(name, sorted(PLANS), otherwise="there are")
            raise InputError(f"there is no plan called {name!r}", where="--plan", todo=todo)
    return list(dict.fromkeys(names)) or list(PLANS)


def start_of(start_s: float | None, jobs: BatchJobs) -> float:
    """When the workflow begins; by default in the middle of the log."""
    last_s = float(jobs.submit_s[-1])
    if start_s is None:
        return float(round(last_s / 2))
    if start_s > last_s:
        from headway.model.units import format_duration

        raise InputError(
            f"nothing is known of the queue that late: the last job comes after {format_duration(last_s)}",
            where="--start",
            todo="start the workflow earlier",
        )
    return start_s


def pass_through(queue: BatchQueue, jobs: BatchJobs, instance: Instance, plans: list[str], start_s: float) -> Journals:
    """The workflow under each plan, from the same queue of these jobs, as it is at `start_s`."""
    from headway.cli.queue_progress import queue_progress
    from headway.drivers.simulated import simulate
    from headway.drivers.through_queue import Through, run_through
    from headway.planning import PLANS
    from headway.simulation.batch import seen_waits

    journals: Journals = {}
    with queue_progress("the queue before the workflow") as tell:
        queue.advance(start_s)
        seen = seen_waits(queue, jobs)
        for number, plan in enumerate(plans, start=1):
            run = run_through(instance, Through(PLANS[plan], start_s, seen_waits=seen), number)
            simulate(queue.clone(), [run], _teller(tell, plan, number, len(plans), start_s))
            journals[plan] = run.journal
    return journals


def _teller(tell: Tell, plan: str, number: int, plans: int, start_s: float) -> Callable[[float], None]:
    """Tells which plan it is, and how far into it."""
    from headway.report.queue.words import waited

    return lambda now: tell(f"{plan}, {waited(now - start_s)} into it", number - 1, plans)


def document(journals: Journals) -> list[dict[str, Any]]:
    """The passages as JSON."""
    from msgspec import to_builtins

    return [to_builtins(passage) for passage in passages_of(journals)]


def passages_of(journals: Journals) -> list[Passage]:
    """What became of the workflow under each plan."""
    from headway.report.queue.through_queue import passage_of

    return [passage_of(plan, journal) for plan, journal in journals.items()]


def print_passages(journals: Journals, instance: Instance, start_s: float, queue_words: str) -> None:
    """The table and a sentence."""
    from headway.cli.output import console_for
    from headway.model.units import format_duration
    from headway.report.queue.through_queue import passage_table, verdict
    from headway.report.saying import say, show
    from headway.report.words import count, harmless

    passages = passages_of(journals)
    console = console_for()
    tasks = count(len(instance.workflow), "task")
    say(console, f"{harmless(instance.workflow.name)}: {tasks}, begun {format_duration(start_s)} into {queue_words}")
    console.print()
    for line in passage_table(passages, console.width):
        show(console, line)
    console.print()
    say(console, verdict(passages), "bold")
