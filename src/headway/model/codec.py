"""Records as lines of JSON, the form that journals and messages have."""

from __future__ import annotations

from typing import Union

import msgspec
from msgspec import field, structs

from headway.model.records import (
    KINDS,
    Decision,
    Event,
    InputsRead,
    JobRole,
    Launch,
    ReadInputs,
    Release,
    Submit,
    TaskEnded,
    Why,
)


class _BriefLaunch(Launch, frozen=True, tag="launch", rename={"why": "not read"}):
    """A launch without its explanations, which are most of a journal."""

    why: dict[str, Why] = field(default_factory=dict)


_MOST = frozenset((_BriefLaunch, TaskEnded, InputsRead, ReadInputs))  # of the records of a journal
_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Event | Decision] = msgspec.json.Decoder(Union[tuple(KINDS)])  # noqa: UP007
_BRIEF = [_BriefLaunch if each is Launch else each for each in KINDS]
_BRIEF_DECODER: msgspec.json.Decoder[Event | Decision] = msgspec.json.Decoder(Union[tuple(_BRIEF)])  # noqa: UP007


def encode(record: Event | Decision) -> bytes:
    """The record as one JSON object."""
    return _ENCODER.encode(record)


def decode(line: bytes) -> Event | Decision:
    """The record that `encode` wrote, also by another version: unknown fields are ignored, missing ones derived."""
    return _complete(_DECODER.decode(line))


def decode_brief(line: bytes) -> Event | Decision:
    """The same; a launch has no explanations, which take longer to read than all the rest of it."""
    record = _BRIEF_DECODER.decode(line)
    return record if type(record) in _MOST else _complete(record)


def _complete(record: Event | Decision) -> Event | Decision:
    if isinstance(record, Submit) and record.role == "unstated":
        return _with_intent(record)
    if isinstance(record, Release) and record.why.rule == "too-early":
        return structs.replace(record, too_early=True)
    return record


# --- journals written before 0.1.0: the intent is in the `Why`, which is read in `decode` and nowhere else ---

_ROLES: dict[str, JobRole] = {
    "work-and-no-nodes": "whole-run",
    "after-end": "stage",
    "on-start": "stage",
    "ahead": "stage",
    "a-task-a-job": "single-task",
    "anchor": "anchor",
    "filler": "filler",
    "small-filler": "small-filler",
}


def _with_intent(old: Submit) -> Submit:
    """The submission with its typed fields filled in from its `Why`."""
    if old.why.rule not in _ROLES:
        return old
    figures = old.why.figures
    wait_s, estimate_s = figures.get("wait_s"), figures.get("estimate_s")
    return structs.replace(
        old,
        role=_ROLES[old.why.rule],
        expected_wait_s=wait_s if isinstance(wait_s, float) else None,
        wait_estimate_s=estimate_s if isinstance(estimate_s, float) else None,
        wait_ticket={name: figures[name] for name in ("action",) if name in figures},
    )
