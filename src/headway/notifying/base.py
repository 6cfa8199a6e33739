"""`Target`: a place that messages are sent to, and the error of a message that did not arrive."""

from __future__ import annotations

from abc import ABC, abstractmethod

from headway.notifying.message import Message

TIME_OUT_S = 10.0  # for one try


class NotSentError(Exception):
    """A message did not arrive. The text never holds the address, which may be a secret.

    `again`: it may arrive if it is sent again.
    """

    def __init__(self, reason: str, *, again: bool = True) -> None:
        super().__init__(reason)
        self.again = again


class Target(ABC):
    """A place that messages are sent to."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What warnings call it; without anything that may be a secret."""

    def check(self) -> None:
        """Raise an error if nothing can be sent from here; called when a run starts."""

    @abstractmethod
    def send(self, message: Message) -> None:
        """Send the message once, within about `TIME_OUT_S`; raise a `NotSentError` if it did not arrive."""
