"""`Ledger`: what was found so far, a line of JSON a workflow, so that a long experiment can be gone on with."""

from __future__ import annotations

from pathlib import Path

import msgspec

from headway.experiments.feedback.units import Done
from headway.model.errors import InputError, SiteError


class Ledger:
    """Results by workflow; with a file, each is in it before the next is worked on. A line that was cut off is
    dropped."""

    def __init__(self, path: Path | None = None) -> None:
        self.found: dict[tuple[object, ...], Done] = {}
        self._path = path
        if path is None or not path.exists():
            return
        try:
            text = path.read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1]
            if whole != text:
                path.write_text(whole, encoding="utf-8")
        except OSError as error:
            raise SiteError(f"cannot read results here: {error.strerror}", where=str(path)) from error
        decoder = msgspec.json.Decoder(Done)
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                done = decoder.decode(line)
            except msgspec.MsgspecError as error:
                raise InputError(
                    f"this is no result: {error}", where=f"{path}:{number}", todo="delete the line: it is run again"
                ) from error
            self.found[done.unit.key] = done

    def add(self, done: Done) -> None:
        """Note a result."""
        self.found[done.unit.key] = done
        if self._path is not None:
            try:
                with self._path.open("ab") as file:
                    file.write(msgspec.json.encode(done) + b"\n")
            except OSError as error:
                raise SiteError(f"cannot keep results here: {error.strerror}", where=str(self._path)) from error
