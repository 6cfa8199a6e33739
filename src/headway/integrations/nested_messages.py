"""Messages between a call's process and its executor: one JSON object per line, over a unix socket.

Functions, arguments and values are not sent: they lie in the folder of calls.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from headway.integrations.calls import CallSpec
from headway.model.outcome import Outcome

SOCKET = "socket"  # in the folder of calls


class Message(Struct, frozen=True, tag_field="say", omit_defaults=True):
    """A message, sent as one line."""


class Submit(Message, frozen=True, tag="submit"):
    """To the executor: make this call, which lies in the folder."""

    spec: CallSpec


class Withdraw(Message, frozen=True, tag="withdraw"):
    """To the executor: the call is cancelled."""

    task: str


class Waits(Message, frozen=True, tag="waits"):
    """To the executor: the caller waits for calls of its own, or goes on."""

    task: str
    attempt: int
    waits: bool


class Accepted(Message, frozen=True, tag="accepted"):
    """To the caller: the run knows of the call."""

    task: str


class Started(Message, frozen=True, tag="started"):
    """To the caller: the call has started."""

    task: str


class Done(Message, frozen=True, tag="done"):
    """To the caller: the call has ended; its value is there, or `error` says why not."""

    task: str
    outcome: Outcome | None = None
    error: str = ""
    need_failed: bool = False


ToExecutor = Submit | Withdraw | Waits
ToCall = Accepted | Started | Done

_ENCODER = msgspec.json.Encoder()
from_call: msgspec.json.Decoder[ToExecutor] = msgspec.json.Decoder(ToExecutor)
from_executor: msgspec.json.Decoder[ToCall] = msgspec.json.Decoder(ToCall)


def line(message: Message) -> bytes:
    """Encode a message."""
    return _ENCODER.encode(message) + b"\n"
