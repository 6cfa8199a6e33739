"""Copies of Headway whose rules about earlier results and files are broken, one way each: the law finds them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec import structs

from headway.drivers import digests, earlier_runs, inputs, recovery, runs
from headway.drivers.inputs import InputReader
from headway.drivers.strays import Strays
from headway.engine.engine import Engine
from headway.journal import results
from headway.model import records
from headway.model.outcome import Ending, Stamp
from headway.model.records import Decision, Event, InputsRead
from headway.model.task import Fingerprint

_CHANGES, _READ, _EARLIER, _STAMP = Fingerprint.changes_since, InputReader.read, results.earlier_in, inputs.stamp
_MADE = InputReader._made
_DECLARE, _NOTE = runs.declare_named_inputs, results._Temporary.apply
_Records = Iterable[Event | Decision]


def _without_inputs(self: Fingerprint, earlier: Fingerprint, *words: Any) -> list[str]:
    return _CHANGES(structs.replace(self, inputs={}), structs.replace(earlier, inputs={}), *words)


def _without_recipe(self: Fingerprint, earlier: Fingerprint, *words: Any) -> list[str]:
    return _CHANGES(structs.replace(self, recipe=earlier.recipe), earlier, *words)


def _only_same_inputs(self: Fingerprint, earlier: Fingerprint, *words: Any) -> list[str]:
    """See changed contents, and not that there are more files or fewer."""
    common = {path: digest for path, digest in self.inputs.items() if path in earlier.inputs}
    before = {path: digest for path, digest in earlier.inputs.items() if path in common}
    return _CHANGES(structs.replace(self, inputs=common), structs.replace(earlier, inputs=before), *words)


def _in_any_order(self: Fingerprint, earlier: Fingerprint, *words: Any) -> list[str]:
    as_before = {path: self.inputs[path] for path in earlier.inputs if path in self.inputs} | self.inputs
    return _CHANGES(structs.replace(self, inputs=as_before), earlier, *words)


def _dated_alike(self: InputReader, path: str, task: Any, now: Stamp, before: Any) -> Stamp:
    """Do not read an output that has the size and the date of the earlier result."""
    for known in before.get(path, ()):
        if (now.size_bytes, now.modified_ns) == (known.size_bytes, known.modified_ns):
            return known
    return _MADE(self, path, task, now, before)


def _nothing_missing(self: InputReader, *words: Any) -> InputsRead:
    return structs.replace(_READ(self, *words), missing_outputs=[])


def _nothing_changed(self: InputReader, *words: Any) -> InputsRead:
    return structs.replace(_READ(self, *words), outputs={})


def _earlier(change: Callable[[_Records], Iterator[Event | Decision]]) -> Callable[[], AbstractContextManager[Any]]:
    """A copy that reads other records in a journal than there are."""
    return _patched(earlier_runs, "earlier_in", lambda journal: _EARLIER(change(journal)))


def _without_later_results(journal: _Records) -> Iterator[Event | Decision]:
    known: set[str] = set()
    for record in journal:
        if isinstance(record, records.ResultsKnown):
            known |= {result.task for result in record.results}
        if not isinstance(record, records.TaskEnded) or record.outcome.task not in known:
            yield record


def _failures_as_successes(journal: _Records) -> Iterator[Event | Decision]:
    for record in journal:
        if isinstance(record, records.TaskEnded) and record.outcome.ending is Ending.EXIT_CODE:
            yield structs.replace(record, outcome=structs.replace(record.outcome, ending=Ending.SUCCESS))
        else:
            yield record


def _without_former(journal: _Records) -> results.Earlier:
    return structs.replace(_EARLIER(journal), former={})


def _without_older(journal: _Records) -> results.Earlier:
    return structs.replace(_EARLIER(journal), older={})


def _kept_digests(self: Any, record: Event | Decision) -> None:
    """Temporary outputs count as what they were, although their task has made others."""
    if not isinstance(record, records.TaskEnded):
        _NOTE(self, record)


def _size_alone(path: str | Path) -> Stamp:
    return structs.replace(_STAMP(path), modified_ns=0, changed_ns=0)


def _without_auto(workflow: Any, *words: Any) -> Any:
    _, warnings = _DECLARE(workflow, *words)
    return workflow, warnings


def _patched(owner: Any, name: str, stand_in: Any) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: mock.patch.object(owner, name, stand_in)


BROKEN: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "changed inputs do not count": _patched(Fingerprint, "changes_since", _without_inputs),
    "a changed command does not count": _patched(Fingerprint, "changes_since", _without_recipe),
    "inputs that are new or gone do not count": _patched(Fingerprint, "changes_since", _only_same_inputs),
    "the order of inputs does not count": _patched(Fingerprint, "changes_since", _in_any_order),
    "an output of the same size and date is the result": _patched(InputReader, "_made", _dated_alike),
    "missing outputs do not count": _patched(InputReader, "read", _nothing_missing),
    "changed outputs do not count": _patched(InputReader, "read", _nothing_changed),
    "inputs that change while a command runs do not count": _patched(InputReader, "are_as_read", lambda *_: True),
    "a result counts after a newer one of its task": _earlier(_without_later_results),
    "a failure counts as a result": _earlier(_failures_as_successes),
    "files of tasks without a result are forgotten": _patched(earlier_runs, "earlier_in", _without_former),
    "what a file held before its newest content is forgotten": _patched(earlier_runs, "earlier_in", _without_older),
    "tasks are made of files of former tasks": _patched(Strays, "hides", lambda *_: False),
    "no tasks are made of temporary files that are gone": _patched(Engine, "temporary_for", lambda *_: {}),
    "sandboxes show what other workflow files make": _patched(Strays, "left_out_by", lambda *_: []),
    "patterns match files of former tasks": _patched(Strays, "without", lambda self, found, pattern: list(found)),
    "directories show files of former tasks": _patched(Strays, "contains", lambda *_: False),
    "a file of the same size has the same content": _patched(
        digests, "_stamp", lambda status: (status.st_size, 0, 0, 0)
    ),
    "an input of the same size has not changed meanwhile": _patched(inputs, "stamp", _size_alone),
    "temporary outputs count as those of an earlier result": _patched(results._Temporary, "apply", _kept_digests),
    "a lost attempt counts without its outputs": _patched(recovery, "publish", lambda *_: ()),
    "inputs that a command names are not declared": _patched(runs, "declare_named_inputs", _without_auto),
}

# The first history in which each is found, where that is not one of the first ten: tried first, to save the search.
FOUND_IN = {
    "the order of inputs does not count": 463,
    "inputs that are new or gone do not count": 16,
    "inputs that change while a command runs do not count": 11,
    "files of tasks without a result are forgotten": 892,
    "what a file held before its newest content is forgotten": 506,
    "tasks are made of files of former tasks": 25,
    "sandboxes show what other workflow files make": 44,
    "directories show files of former tasks": 38,
    "a file of the same size has the same content": 5,
    "an output of the same size and date is the result": 48,
    "an input of the same size has not changed meanwhile": 24,
    "temporary outputs count as those of an earlier result": 106,
    "a lost attempt counts without its outputs": 23,
}
