"""`Ledger`: what was found so far, a line of JSON each, so that a long experiment can be gone on with."""

from __future__ import annotations

from pathlib import Path

import msgspec

from headway.experiments.asa.machines import Calibrated
from headway.experiments.asa.units import Done, Unit
from headway.model.errors import InputError, SiteError

Found = Calibrated | Done
Key = tuple[object, ...]


def key_of(found: Found | Unit) -> Key:
    """What a result is found by."""
    if isinstance(found, Calibrated):
        return found.key
    return found.unit.key if isinstance(found, Done) else found.key


class Ledger:
    """Results by key; with a file, each is in it before the next is worked on. A line that was cut off is dropped."""

    def __init__(self, path: Path | None = None) -> None:
        self.found: dict[Key, Found] = {}
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
        decoder = msgspec.json.Decoder(Found)
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                found = decoder.decode(line)
            except msgspec.MsgspecError as error:
                raise InputError(
                    f"this is no result: {error}", where=f"{path}:{number}", todo="delete the line: it is run again"
                ) from error
            self.found[key_of(found)] = found

    def add(self, found: Found) -> None:
        """Note a result."""
        self.found[key_of(found)] = found
        if self._path is not None:
            try:
                with self._path.open("ab") as file:
                    file.write(msgspec.json.encode(found) + b"\n")
            except OSError as error:
                raise SiteError(f"cannot keep results here: {error.strerror}", where=str(self._path)) from error
