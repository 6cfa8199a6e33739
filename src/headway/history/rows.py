"""Observations and waits as rows of a table, and back."""

from __future__ import annotations

from typing import Any

import msgspec

from headway.history.base import KeptWait, Seen, State
from headway.model.damage import SIGNS
from headway.model.observation import LATEST_S, MOST_AMOUNT, Observation
from headway.model.outcome import Measured
from headway.model.records import SeenWait

Row = tuple[Any, ...]
Values = dict[str, Any]

_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode


class _Peak(msgspec.Struct):
    """The part of a usage that figures are made from."""

    memory_bytes: Measured | None = None


_PEAK = msgspec.json.Decoder(_Peak)


def observation_values(category: int, origin: int | None, observation: Observation) -> Values:
    """The values of an observation's columns; `category` and `origin` are ids."""
    return {
        "category": category,
        "origin": origin,
        "run": observation.run,
        "task": observation.task,
        "attempt": observation.attempt,
        "ending": str(observation.ending),
        "started_at": observation.started_at,
        "ended_at": observation.ended_at,
        "given": _ENCODE(observation.given).decode(),
        "usage": _ENCODE(observation.usage).decode(),
        "input_bytes": observation.input_bytes,
        "hints": _ENCODE(observation.hints).decode(),
    }


def observation_of(category: str, row: Row) -> list[Observation]:
    """The observation in a row; an empty list if it cannot be read or true, since others can still be used."""
    *plain, given, usage, input_bytes, hints = row
    try:
        fields = [category, *plain, _DECODE(given), _DECODE(usage), input_bytes, _DECODE(hints)]
        found = msgspec.convert(fields, Observation)
    except SIGNS:
        return []
    return [found] if found.is_possible else []


def seen_of(row: Row) -> list[Seen]:
    """What figures are made from, in a row of ending, start, end and usage; empty if it cannot be read."""
    ending, started_at, ended_at, usage = row
    try:
        peak = _PEAK.decode(usage).memory_bytes
        seen = (str(ending), float(started_at), float(ended_at), peak.value if peak else None)
    except SIGNS:
        return []
    possible = abs(seen[1]) <= LATEST_S and abs(seen[2]) <= LATEST_S and 0 <= (seen[3] or 0) <= MOST_AMOUNT
    return [seen] if possible else []


def wait_values(site: str, kept: KeptWait) -> Values:
    """The values of a wait's columns."""
    about = {"site": site, "run": kept.run, "job": kept.job, "partition": kept.partition}
    return about | {"submitted_at": kept.submitted_at} | msgspec.structs.asdict(kept.wait)


def wait_of(row: Row) -> list[KeptWait]:
    """The wait in a row; an empty list if it cannot be read."""
    *about, nodes, asked_s, estimate_s, waited_s = row
    try:
        wait = msgspec.convert([nodes, asked_s, estimate_s, waited_s], SeenWait)
        fields = dict(zip(("run", "job", "partition", "submitted_at"), about, strict=True))
        kept = msgspec.convert(fields | {"wait": wait}, KeptWait)
    except SIGNS:
        return []
    spans = (wait.asked_s, wait.estimate_s or 0.0, wait.waited_s, abs(kept.submitted_at))
    possible = 0 < wait.nodes <= MOST_AMOUNT and all(0 <= span <= LATEST_S for span in spans)
    return [kept] if possible else []


def state_text(state: State) -> str:
    """A learner's state as text for its column."""
    return _ENCODE(state).decode()


def state_of(text: object) -> State | None:
    """The state in a column; None if it cannot be read, so that the learner starts anew."""
    try:
        return msgspec.json.decode(text, type=State) if isinstance(text, str) else None
    except SIGNS:
        return None
