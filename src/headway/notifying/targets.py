"""Targets as users write them: `https://…`, `command:…`, `mail:…`."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.errors import HeadwayError, InputError
from headway.notifying.base import Target
from headway.notifying.command import Command
from headway.notifying.mail import Mail
from headway.notifying.webhook import Webhook


def target_of(text: str) -> Target:
    """Return the target that a text means; an error, which does not repeat what may be secret, if it means none."""
    kind, colon, rest = text.strip().partition(":")
    match kind.lower() if colon else "":
        case "https" | "http":
            return Webhook(text.strip())
        case "command":
            return Command(rest)
        case "mail":
            return Mail(rest.strip())
    todo = "write https://…, 'command:…' or mail:me@example.org"
    raise InputError("this says neither which webhook nor which command nor which mail address is meant", todo=todo)


def targets_of(texts: Sequence[str], where: str = "--notify") -> list[Target]:
    """Return the targets that texts mean, each once; an error if nothing can be sent there from here."""
    try:
        targets = [target_of(text) for text in dict.fromkeys(texts)]
        for target in targets:
            target.check()
    except HeadwayError as error:
        error.where = where
        raise
    return targets
