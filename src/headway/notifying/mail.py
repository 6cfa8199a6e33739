"""Mail through the program `sendmail`, which sites with mail have under this name whatever their mail server is."""

from __future__ import annotations

import os
import re
import shutil

from headway.model.errors import InputError, SiteError
from headway.notifying.base import Target
from headway.notifying.command import call
from headway.notifying.message import Message

_ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~][\w.!#$%&'*+/=?^`{|}~-]*(@[\w.-]+)?", re.ASCII)
# It is often not on the path of ordinary users.
_ALSO_IN = ("/usr/sbin", "/usr/lib", "/sbin")


class Mail(Target):
    """Sends mail to one address, or to a user of this site."""

    def __init__(self, address: str) -> None:
        if not _ADDRESS.fullmatch(address):
            raise InputError(f"{address!r} is not a mail address", todo="write for example mail:me@example.org")
        self._address = address

    @property
    def name(self) -> str:
        return f"mail to {self._address}"

    def check(self) -> None:
        _sendmail()

    def send(self, message: Message) -> None:
        from email.message import EmailMessage

        mail = EmailMessage()
        mail["To"] = self._address
        mail["Subject"] = f"headway: {message.title}"[:200]
        mail["Auto-Submitted"] = "auto-generated"  # no holiday notices in answer
        mail.set_content(f"{message.text}\n")
        call([_sendmail(), "-i", "-t"], mail.as_string(), {})


def _sendmail() -> str:
    """Return the path of the program; an error if there is none."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_ALSO_IN])
    found = shutil.which("sendmail", path=path)
    if found is None:
        raise SiteError(
            "this machine cannot send mail: there is no program `sendmail`",
            todo="ask its administrators, or use a webhook or a command",
        )
    return found
