"""`receive`: learn from any Nextflow run that is told to send its events here, as to Seqera Platform (once Tower)."""

from __future__ import annotations

import ipaddress
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from headway.api.answers import Answer
from headway.api.service import NAME
from headway.api.settings import settings_for
from headway.drivers.origins import origin_of
from headway.drivers.run_history import Warn, history_key, warn_program
from headway.history.location import open_history
from headway.model.errors import InputError, SiteError
from headway.model.observation import Observation
from headway.model.records import HistoryKey
from headway.model.workflow import Workflow
from headway.serving.receiver import Receiver

HOST, PORT = "127.0.0.1", 8787
_FILE = "receive-token"  # in the folder .headway
_SHORTEST_TOKEN = 8


class Listening(Answer, frozen=True):
    """Where Nextflow has to send its events, and with which token: `-with-tower ENDPOINT` and TOWER_ACCESS_TOKEN."""

    endpoint: str
    token: str
    token_file: str
    history: str


class Received(Answer, frozen=True):
    """How many runs of Nextflow taught something, and by how many attempts at tasks."""

    runs: int
    attempts: int
    history: str


def receive(
    directory: str | os.PathLike[str] = ".",
    *,
    host: str = HOST,
    port: int = PORT,
    token_file: str | os.PathLike[str] | None = None,
    listening: Callable[[Listening], object] = lambda where: None,
    warn: Warn = warn_program,
) -> Received:
    """Receive the events of Nextflow runs until Ctrl-C, and keep what their tasks used in the history.

    It is kept as if the tasks had been run by `headway nextflow` in `directory`. `listening` is called when the first
    may come. The token is that in `token_file`, by default `.headway/receive-token`, which is made if it is not there.
    """
    where = Path(directory).resolve()
    if not where.is_dir():
        raise InputError("there is no such directory", where=str(where))
    key = _key(where)
    file = Path(token_file) if token_file else where / ".headway" / _FILE
    token = token_in(file)
    runs: set[str] = set()
    attempts = 0
    lock = threading.Lock()  # one writer at a time is quicker than several that wait for each other

    def learn(seen: Sequence[Observation]) -> None:
        nonlocal attempts
        if not seen:
            return
        with lock:
            history = open_history(key.place)
            try:
                history.add(key.site, key.workflow, seen, key.origin)
            finally:
                history.close()
            runs.update(each.run for each in seen)
            attempts += len(seen)

    with Receiver(host, port, token, learn, f"headway history show {key.workflow}") as receiver:
        endpoint = f"http://{f'[{host}]' if ':' in host else host}:{receiver.server_address[1]}"
        if not _is_loopback(host):
            warn(f"what is sent to {endpoint}, the token included, is not encrypted")
        with suppress(KeyboardInterrupt):
            listening(Listening(endpoint, token, str(file), key.place))
            receiver.serve_forever()
    return Received(len(runs), attempts, key.place)


def _key(directory: Path) -> HistoryKey:
    """Return where a service of this directory looks for what was learned."""
    settings = settings_for(directory)
    (directory / ".headway").mkdir(mode=0o700, exist_ok=True)
    stated = settings.project or settings.known_as
    origin, _ = origin_of(Workflow(NAME), directory, stated, growing=True, read_only=False)
    key = history_key(settings.history, settings.known_as or NAME, settings.site, origin)
    if key is None:
        raise InputError("the settings say that no history is kept (none)", todo="name a file in HEADWAY_HISTORY")
    return key


def token_in(file: Path) -> str:
    """Return the token in a file that only its owner may read; make one if there is no file."""
    try:
        with suppress(FileExistsError), open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
            new.write(secrets.token_hex(16) + "\n")
        token = file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise SiteError(f"the token cannot be read: {error.strerror}", where=str(file)) from error
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        todo = "delete the file, then a new one is made"
        raise InputError(f"a token is one word of at least {_SHORTEST_TOKEN} letters", where=str(file), todo=todo)
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
