"""`Story`: the history of one task in a run: why it ran, its attempts, and its state."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Literal, TypeVar

from msgspec import Struct, field, structs

from headway.journal.base import Journal
from headway.journal.story.jobs import KINDS, Job, Jobs
from headway.model import records
from headway.model.deferred import DeferredBlock
from headway.model.outcome import Ending, Outcome
from headway.model.records import InputsRead, Launch, RunStarted, Why
from headway.model.task import Task

Kind = TypeVar("Kind", bound=records.Record)
State = Literal["succeeded", "reused", "failed", "cut-off", "running", "interrupted", "waiting"]


class Attempt(Struct, frozen=True):
    """An attempt and its outcome; without an outcome it is running, or was lost with its node or its manager."""

    launch: Launch
    outcome: Outcome | None = None
    lost: str | None = None  # why the node was lost
    job: records.JobSeen | None = None  # what the batch system said of its job
    given_back: int = 0  # nodes of its job


class Story(Struct):
    """Everything in the journal about one task."""

    task: Task
    run: str
    workflow: str
    sizer: str
    state: State = "waiting"
    attempts: list[Attempt] = field(default_factory=list)
    reused_from: str | None = None
    given_up: Why | None = None
    withdrawn: bool = False  # cancelled before it had a result
    cut_off_by: dict[str, Why] = field(default_factory=dict)
    waits_for: list[str] = field(default_factory=list)
    inputs: InputsRead | None = None
    jobs: list[Job] = field(default_factory=list)  # that wait in a queue, and that it may run in
    without_nodes: records.QueueUnread | None = None  # why no job can be planned for it now
    full_disk: str = ""  # if the disk is full now: a sentence about that
    settings: RunStarted | None = None  # of the run


def tasks_of(journal: Journal) -> dict[str, Task]:
    """All tasks of the run by id."""
    return {task.id: task for record in _all(journal, records.TasksAdded) for task in record.tasks}


def entry_of(journal: Journal, name: str) -> tuple[DeferredBlock, bool] | None:
    """The entry of that name whose tasks become known while the run goes on, and whether they have."""
    for deferred in _all(journal, records.TasksDeferred):
        for block in deferred.deferred.blocks:
            if block.name == name:
                return block, any(name in added.expands for added in _all(journal, records.TasksAdded))
    return None


def settings_of(journal: Journal) -> RunStarted:
    """The record of the run's start, with its settings."""
    for started in _all(journal, RunStarted):
        return started
    raise ValueError("a journal begins with its run's start")


def _all(journal: Journal, kind: type[Kind]) -> Iterator[Kind]:
    """All records of one kind."""
    tag = str(kind.__struct_config__.tag)
    return (record for record in journal.replay(kinds=[tag]) if isinstance(record, kind))


def story_of(journal: Journal, task: Task, tasks: Mapping[str, Task]) -> Story:
    """The story of `task`; `tasks` are all tasks of the run."""
    settings = settings_of(journal)
    story = Story(task, settings.run, settings.name, settings.sizer, settings=settings)
    attempts = story.attempts
    cancelled = False
    for record in journal.replay(task.id):
        match record:
            case Launch():
                attempts.append(Attempt(record))
            case records.TaskEnded() if attempts and attempts[-1].launch.attempt == record.outcome.attempt:
                attempts[-1] = structs.replace(attempts[-1], outcome=record.outcome)
            case records.Reuse():
                story.reused_from = record.run
            case records.Remake():
                story.reused_from = None
            case records.GiveUp():
                story.given_up = record.why
            case records.TaskWithdrawn():
                cancelled = True
            case InputsRead():
                story.inputs = record
    jobs = Jobs.of(journal.replay(kinds=KINDS)).known
    story.attempts = _with_losses(journal, [_with_job(it, jobs.get(it.launch.tag)) for it in attempts])
    story.state = _state(story)
    if story.state == "waiting":
        story.withdrawn = cancelled  # otherwise an attempt that was running has still finished
        story.cut_off_by = {} if cancelled else _failed_ancestors(journal, task, tasks)
        if story.withdrawn or story.cut_off_by:
            story.state = "cut-off"
        else:
            story.waits_for = _unfinished_parents(journal, task)
    if story.state == "waiting" and not story.waits_for:
        story.jobs = [job for job in jobs.values() if _waits(job) and _may_run_in(job.submit, task)]
        since = max((record.at for record in _all(journal, records.Resumed)), default=0.0)
        said = _all(journal, records.QueueUnread)
        unread = [record for record in said if record.wish == task.wish and record.at >= since]
        story.without_nodes = unread[-1] if unread and unread[-1].message else None
    return story


def _waits(job: Job) -> bool:
    return job.started_at is None and job.ended_at is None


def _may_run_in(submit: records.Submit, task: Task) -> bool:
    return submit.request.wish == task.wish and (not submit.tasks or task.id in submit.tasks)


def _state(story: Story) -> State:
    if story.given_up is not None:
        return "failed"
    if story.reused_from is not None:
        return "reused"
    if not story.attempts or story.attempts[-1].lost is not None:
        return "waiting"
    last = story.attempts[-1].outcome
    if last is None:
        return "running"
    return "succeeded" if last.ending is Ending.SUCCESS else "waiting"


def _with_job(attempt: Attempt, job: Job | None) -> Attempt:
    """Add what the batch system last said of the attempt's job."""
    return attempt if job is None else structs.replace(attempt, job=job.seen, given_back=job.given)


def _with_losses(journal: Journal, attempts: list[Attempt]) -> list[Attempt]:
    """Mark attempts without an outcome as lost if a later attempt exists or their node was lost since."""
    if all(attempt.outcome for attempt in attempts):
        return attempts
    losses = list(_all(journal, records.NodeLost))
    of_attempts = {(loss.task, loss.attempt): loss.message for loss in _all(journal, records.AttemptLost)}
    found = []
    for attempt in attempts:
        launch = attempt.launch
        messages = [loss.message for loss in losses if loss.node == launch.node and loss.at >= launch.at]
        if (launch.task, launch.attempt) in of_attempts:
            messages.insert(0, of_attempts[launch.task, launch.attempt])
        gone = attempt.outcome is None and (messages or attempt is not attempts[-1])
        lost = (messages or [""])[0] or "its node was lost"
        found.append(structs.replace(attempt, lost=lost) if gone else attempt)
    return found


def _failed_ancestors(journal: Journal, task: Task, tasks: Mapping[str, Task]) -> dict[str, Why]:
    """The ancestors that failed for good, nearest first."""
    failed = {record.task: record.why for record in _all(journal, records.GiveUp)}
    if not failed:
        return {}
    found: dict[str, Why] = {}
    seen: set[str] = set()
    above = deque(task.parents)
    while above:
        parent = above.popleft()
        if parent in seen:
            continue
        seen.add(parent)
        if parent in failed:
            found[parent] = failed[parent]
        else:
            above.extend(tasks[parent].parents)
    return found


def _unfinished_parents(journal: Journal, task: Task) -> list[str]:
    if not task.parents:
        return []
    done = {record.task for record in _all(journal, records.Reuse)}
    ends = (record.outcome for record in _all(journal, records.TaskEnded))
    done |= {outcome.task for outcome in ends if outcome.ending is Ending.SUCCESS}
    return [parent for parent in task.parents if parent not in done]
