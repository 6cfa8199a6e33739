"""What a call's process and its executor say to each other: one JSON object a line, over a unix socket.

Functions, arguments and values do not go this way: they lie in the folder of calls.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from headway.integrations.calls import CallSpec
from headway.model.outcome import Outcome

SOCKET = "socket"  # in the folder of calls


class Message(Struct, frozen=True, tag_field="say", omit_defaults=True):
    """One line."""


class Submit(Message, frozen=True, tag="submit"):
    """Make this call, which lies in the folder."""

    spec: CallSpec


class Withdraw(Message, frozen=True, tag="withdraw"):
    """Never mind that call."""

    task: str


class Waits(Message, frozen=True, tag="waits"):
    """The caller waits for calls of its own, or goes on."""

    task: str
    attempt: int
    waits: bool


class Accepted(Message, frozen=True, tag="accepted"):
    """The call will be made."""

    task: str


class Started(Message, frozen=True, tag="started"):
    """The call is being made."""

    task: str


class Done(Message, frozen=True, tag="done"):
    """The call has ended: there is a value, or `error` says why not."""

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
    """The message as it is sent."""
    return _ENCODER.encode(message) + b"\n"
